"""The confirmation of a plan or a deferment on paper: what was agreed, in its page's words.

It says nothing of how it goes, so that it reads the same whenever it is printed.
"""

from dunwell.accounts.installation.operator import Operator
from dunwell.cases.modalities.modality import Modality, ModalityType
from dunwell.cases.modalities.progress import GRACE
from dunwell.contact.messages.creditors import find_creditor
from dunwell.contact.messages.formatting import render_day, render_money
from dunwell.contact.messages.letters.paper import Body, Paper, Table, compose_paper
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
from dunwell.interfaces.web.formats import build_message_filters
from dunwell.platform.text.translation import Language


def compose_confirmation(
    language: Language, opened: OpenedClaim, modality: Modality, operator: Operator | None = None
) -> Paper:
    """Of one that was approved. Raises MerchantNotConfigured."""
    translate, creditor = language.translate, find_creditor(opened.merchant, operator)
    assert modality.answered_at is not None
    day_of = build_message_filters(language.code)["day_of"]
    agreed_on = day_of(modality.answered_at, opened.merchant.configuration.timezone)
    amount = render_money(modality.amount_cents, modality.currency, language.code)
    is_plan = modality.type is ModalityType.PAYMENT_PLAN
    body = Body(
        title=translate("Confirmation of your payment plan") if is_plan
        else translate("Confirmation of more time to pay"),
        rows=[
            (translate("To"), creditor.legal_name),
            (translate("For"), opened.facts.reference_number),
            (translate("Agreed on"), agreed_on),
            (translate("Amount"), amount),
            (translate("Extra cost"), translate("none")),
            *([] if is_plan else [(translate("Please pay by"), _say_last_day(modality, language))]),
        ],
        table=_make_table(modality, language, amount) if is_plan else None,
        notes=_list_notes(language, is_plan=is_plan),
    )  # fmt: skip
    brand = opened.merchant.configuration.brand
    return compose_paper(brand, creditor, language.code, body)


def _list_notes(language: Language, *, is_plan: bool) -> list[str]:
    translate = language.translate
    if not is_plan:
        return [
            translate("Until then we send you no reminders about it and add no fees."),
            translate("If the money is not here by then, we go on where we stopped."),
        ]
    return [
        translate("While you keep to it, we send you no reminders and add no fees."),
        translate("If a payment is more than %(days)s days late, the plan ends.", days=GRACE.days),
    ]


def _make_table(modality: Modality, language: Language, amount: str) -> Table:
    translate = language.translate
    rows = [
        (
            render_day(each.due_on, language.code),
            render_money(each.amount_cents, modality.currency, language.code),
        )
        for each in modality.schedule
    ]
    return Table((translate("Day"), translate("Amount")), rows, (translate("Together"), amount))


def _say_last_day(modality: Modality, language: Language) -> str:
    return render_day(modality.schedule[-1].due_on, language.code)
