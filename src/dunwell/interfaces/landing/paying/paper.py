"""A receipt on paper: what its page says, in the same words.

Of a closed claim it says what was paid and nothing of what is left.
"""

from collections.abc import Callable

from dunwell.accounts.installation.operator import Operator
from dunwell.cases.payments.requests.request_states import Paid
from dunwell.contact.messages.creditors import find_creditor
from dunwell.contact.messages.formatting import render_money
from dunwell.contact.messages.letters.paper import Body, Paper, compose_paper
from dunwell.interfaces.landing.session.facts import ClaimFacts
from dunwell.interfaces.landing.session.states import is_closed
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.web.formats import build_message_filters
from dunwell.platform.text.translation import Language


def compose_receipt(
    language: Language, opened: OpenedClaim, payment: Paid, method: str,
    operator: Operator | None = None,
) -> Paper:  # fmt: skip
    """Raises MerchantNotConfigured."""
    translate, facts = language.translate, opened.facts
    closed = is_closed(facts)
    creditor = find_creditor(opened.merchant, operator)

    def money(cents: int) -> str:
        return render_money(cents, facts.currency, language.code)

    moment = build_message_filters(language.code)["moment"]
    timezone = opened.merchant.configuration.timezone
    body = Body(
        title=translate("Receipt"),
        lead=[_tell_return(translate, facts)] if payment.reversed_at else [],
        rows=[
            (translate("Paid"), money(payment.amount_cents)),
            (translate("To"), creditor.legal_name),
            (translate("For"), facts.reference_number),
            (translate("On"), moment(payment.paid_at, timezone)),
            (translate("Paid with"), method),
            (translate("Payment number"), payment.transaction_id),
            *([] if closed else [(translate("Still to pay"), money(facts.outstanding_cents))]),
        ],
        notes=[] if closed else [_tell_rest(translate, facts.outstanding_cents)],
    )
    brand = opened.merchant.configuration.brand
    return compose_paper(brand, creditor, language.code, body)


def _tell_return(translate: Callable[[str], str], facts: ClaimFacts) -> str:
    if is_closed(facts):
        return translate("This payment was returned.")
    return translate("This payment was returned. The amount is open again.")


def _tell_rest(translate: Callable[[str], str], outstanding_cents: int) -> str:
    if outstanding_cents == 0:
        return translate("Nothing is left to pay. We will not write to you about it again.")
    return translate("We write to you about the rest only.")
