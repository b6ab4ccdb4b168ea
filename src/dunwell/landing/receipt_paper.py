"""A receipt on paper: what its page says, in the same words."""

from dunwell.landing.formats import build_filters
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.wording import Language
from dunwell.messages.creditors import find_creditor
from dunwell.messages.formatting import render_money
from dunwell.messages.letters.paper import Body, Paper, compose_paper
from dunwell.payments.find_request import Paid


def compose_receipt(language: Language, opened: OpenedClaim, payment: Paid, method: str) -> Paper:
    """Raises MerchantNotConfigured."""
    say, facts = language.words.gettext, opened.facts
    creditor = find_creditor(opened.merchant)

    def money(cents: int) -> str:
        return render_money(cents, facts.currency, language.code)

    moment = build_filters(language.code)["moment"]
    timezone = opened.merchant.configuration.timezone
    body = Body(
        title=say("Receipt"),
        lead=[say("This payment was returned. The amount is open again.")]
        if payment.reversed_at
        else [],
        rows=[
            (say("Paid"), money(payment.amount_cents)),
            (say("To"), creditor.legal_name),
            (say("For"), facts.reference_number),
            (say("On"), moment(payment.paid_at, timezone)),
            (say("Paid with"), method),
            (say("Payment number"), payment.transaction_id),
            (say("Still to pay"), money(facts.outstanding_cents)),
        ],
        notes=[
            say("Nothing is left to pay, and we write to you no more about it.")
            if facts.outstanding_cents == 0
            else say("We write to you about the rest only.")
        ],
    )
    brand = opened.merchant.configuration.brand
    return compose_paper(brand, creditor, language.code, body)
