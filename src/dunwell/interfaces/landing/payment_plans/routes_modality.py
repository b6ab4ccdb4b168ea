"""A requested payment plan or deferral: its state, its confirmation on paper, and withdrawing
it."""

from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.installation.installation_file import Operator
from dunwell.cases.direct_debit.mandates import can_collect_through_bank
from dunwell.cases.modalities.answer_modality import (
    build_answer_facts,
    is_active_or_fulfilled,
    withdraw_modality,
)
from dunwell.cases.modalities.modality import Modality, ModalityType
from dunwell.cases.modalities.progress import GRACE
from dunwell.cases.modalities.store import LOAD_ONE, ModalityRow, build_modality
from dunwell.cases.payments.mandate_provider import find_offered_mandate_provider
from dunwell.contact.messages.letters.sheet import (
    Paper,
    PaperBody,
    PaperTable,
    build_paper,
    encode_paper,
)
from dunwell.contact.messages.templates.creditors import build_creditor
from dunwell.contact.messages.templates.formatting import render_day, render_money
from dunwell.contact.notices.notice import Addressee
from dunwell.contact.notices.send_notice import find_repeated_notice, send_notice
from dunwell.interfaces.landing.payment.payment_choice import can_pay
from dunwell.interfaces.landing.payment_plans.views import ModalityWithdrawPage, describe_modality
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form_with,
    form_requires_level,
    in_session,
    in_session_with,
    requires_level,
    unless_closed,
)
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.formats import build_message_filters
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response
from dunwell.platform.database.sql import compose, nest_row
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.text.translation import Language

# A modality that has ended. The one that has not ended is loaded with every page.
ENDED_MODALITY: Detail[ModalityRow] = Detail(
    nest_row(compose("{one} AND p.ended_at IS NOT NULL", one=LOAD_ONE), *KEY, "$2"),
    ModalityRow, "modality_id", "There is no such request of this claim.",
)  # fmt: skip


def compose_confirmation(
    language: Language, opened: OpenedClaim, modality: Modality, operator: Operator | None = None
) -> Paper:
    """Compose the confirmation of an approved modality. Raises MerchantNotConfigured."""
    translate, creditor = language.translate, build_creditor(opened.merchant, operator)
    assert modality.answered_at is not None
    day_of = build_message_filters(language.code)["day_of"]
    agreed_on = day_of(modality.answered_at, opened.merchant.configuration.timezone)
    amount = render_money(modality.amount_cents, modality.currency, language.code)
    is_plan = modality.type is ModalityType.PAYMENT_PLAN
    body = PaperBody(
        title=translate("Confirmation of your payment plan") if is_plan
        else translate("Confirmation of your extra time to pay"),
        rows=[
            (translate("To"), creditor.legal_name),
            (translate("For"), opened.facts.reference_number),
            (translate("Agreed on"), agreed_on),
            (translate("Amount"), amount),
            (translate("Extra cost"), translate("none")),
            *([] if is_plan else [(translate("Please pay by"), _render_last_day(modality,
            language))]),
        ],
        table=_build_table(modality, language, amount) if is_plan else None,
        notes=_list_notes(language, is_plan=is_plan),
    )  # fmt: skip
    brand = opened.merchant.configuration.brand
    return build_paper(brand, creditor, language.code, body)


def _list_notes(language: Language, *, is_plan: bool) -> list[str]:
    translate = language.translate
    if not is_plan:
        return [
            translate("Until then, we will not send you any reminders about this or add any fees."),
            translate(
                "If the money has not arrived by then, we may send you reminders again and add "
                "fees."
            ),
        ]
    return [
        translate(
            "While you keep to the plan, we will not send you any reminders or add any fees."
        ),
        translate(
            "If an instalment is more than %(days)s days late, the payment plan ends.",
            days=GRACE.days,
        ),
    ]


def _build_table(modality: Modality, language: Language, amount: str) -> PaperTable:
    translate = language.translate
    rows = [
        (
            render_day(each.due_on, language.code),
            render_money(each.amount_cents, modality.currency, language.code),
        )
        for each in modality.schedule
    ]
    return PaperTable((translate("Day"), translate("Amount")), rows, (translate("Total"), amount))


def _render_last_day(modality: Modality, language: Language) -> str:
    return render_day(modality.schedule[-1].due_on, language.code)


# The page in RETURN_PAGES that the debtor returns to after verification.
_RETURN_PAGE = "options"
# The values of the parameter `note`, which says what happened before.
_NOTES = ("instead", "sent", "refused")


@in_session_with(ENDED_MODALITY)
@unless_closed
@requires_level(Level.FACT, _RETURN_PAGE)
async def get_modality_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    context, modality = (
        site.build_claim_context(request, opened),
        get_requested_modality(request, opened),
    )
    note = request.find_parameter("note")
    page = describe_modality(
        opened, modality, opened.merchant.now(site.resources.clock),
        can_pay=can_pay(site, opened), has_direct_debit=await _has_direct_debit(site, opened),
        note=note if note in _NOTES else None,
    )  # fmt: skip
    return site.render_page(context, page)


async def _has_direct_debit(site: DebtorSite, opened: OpenedClaim) -> bool:
    payment = opened.merchant.configuration.payment
    provider = find_offered_mandate_provider(site.providers, payment.direct_debit_provider)
    if provider is not None or payment.direct_debit is None:
        return provider is not None
    async with site.resources.database.connection() as connection:
        work = site.build_work(connection, opened.merchant, opened.session.session_id)
        return await can_collect_through_bank(work)


@in_session_with(ENDED_MODALITY)
@unless_closed
@requires_level(Level.FACT, _RETURN_PAGE)
async def download_pdf(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> Response:
    modality = _get_agreed_modality(request, opened)
    language = site.pages.languages[site.build_claim_context(request, opened).language]
    paper = compose_confirmation(language, opened, modality, site.pages.find_operator())
    pdf = await site.printer.for_caller(opened.debtor_key).print_paper(encode_paper(paper))
    return build_file_response(pdf, "application/pdf", "confirmation.pdf")


@accepts_form_with(ENDED_MODALITY)
@unless_closed
@form_requires_level(Level.FACT, _RETURN_PAGE)
async def send_copy(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Send the confirmation to the e-mail address on file, which the page shows masked."""
    modality = _get_agreed_modality(request, opened)
    context, facts = site.build_claim_context(request, opened), opened.facts
    email = facts.on_file.email
    if email is None:
        raise NotFound("No e-mail address is on file for a copy.")
    addressee = Addressee(facts.claim_id, "EMAIL", email, context.language)
    answer_facts = build_answer_facts(modality, facts.reference_number)
    notice = site.notices.write(opened.merchant, addressee, answer_facts)
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        sent = await find_repeated_notice(work, notice) or await send_notice(
            work, site.resources.keys, notice
        )
    note = "sent" if isinstance(sent, UUID) else "refused"
    return site.redirect(context, "modality", modality_id=modality.modality_id, note=note)


@in_session_with(ENDED_MODALITY)
@unless_closed
@requires_level(Level.FACT, _RETURN_PAGE)
async def confirm_withdrawal(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    modality = get_requested_modality(request, opened)
    if modality.ended_at is not None:
        return _redirect_to_modality(site, request, opened, modality)
    context = site.build_claim_context(request, opened)
    page = ModalityWithdrawPage(
        modality=modality,
        is_plan=modality.type is ModalityType.PAYMENT_PLAN,
        currency=opened.facts.currency,
        outstanding_cents=opened.facts.outstanding_cents,
    )
    return site.render_page(context, page)


@accepts_form_with(ENDED_MODALITY)
@unless_closed
@form_requires_level(Level.FACT, _RETURN_PAGE)
async def submit_withdrawal(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Withdraw the request. If it has ended for another reason meanwhile, nothing changes, and the
    page gives that reason."""
    modality = get_requested_modality(request, opened)
    try:
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            await withdraw_modality(work, opened.facts.claim_id, modality.modality_id)
    except InvalidState:
        pass
    return _redirect_to_modality(site, request, opened, modality)


@in_session
async def redirect_to_modality(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Redirect a GET request for an address that accepts only forms, for example after a change of
    language."""
    return site.redirect(
        site.build_claim_context(request, opened), "modality", modality_id=_parse_id(request)
    )


def _get_agreed_modality(request: DebtorRequest, opened: OpenedClaim) -> Modality:
    """Return the approved modality. Raises NotFound if it was not approved."""
    modality = get_requested_modality(request, opened)
    if not is_active_or_fulfilled(modality):
        raise NotFound("This request has no confirmation.")
    return modality


def get_requested_modality(request: DebtorRequest, opened: OpenedClaim) -> Modality:
    """Return the modality in the path. Raises NotFound if the claim has no such modality."""
    if opened.modality is not None and opened.modality.modality_id == _parse_id(request):
        return opened.modality
    return build_modality(ENDED_MODALITY.decode(opened.detail))


def _parse_id(request: DebtorRequest) -> UUID:
    try:
        return UUID(request.path_params["modality_id"])
    except ValueError:
        raise NotFound("There is no such request of this claim.") from None


def _redirect_to_modality(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, modality: Modality
) -> Response:
    context = site.build_claim_context(request, opened)
    return site.redirect(context, "modality", modality_id=modality.modality_id)


PAGES: RoutedPages = {
    "modality": {"GET": get_modality_page},
    "modality_pdf": {"GET": download_pdf},
    "modality_email": {"GET": redirect_to_modality, "POST": send_copy},
    "modality_withdraw": {"GET": confirm_withdrawal, "POST": submit_withdrawal},
}
