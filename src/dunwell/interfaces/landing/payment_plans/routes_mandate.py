"""The direct debit mandate of a payment plan: giving, viewing, printing and revoking it."""

from collections.abc import Mapping

from starlette.responses import Response

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.configuration import DirectDebitSettings
from dunwell.cases.direct_debit.debit_values import Mandate, MandateState
from dunwell.cases.direct_debit.mandates import (
    MandateOffer,
    SignedMandate,
    list_mandates,
    load_plan_for_mandate,
    prepare_mandate,
    revoke_mandate,
    sign_mandate,
)
from dunwell.cases.direct_debit.provider_records.store import find_open_provider_mandate
from dunwell.cases.direct_debit.providers.settle_mandates import (
    MandatePageRequest,
    open_mandate_page,
    settle_open_mandate,
)
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.payments.mandate_provider import MandateProvider, find_offered_mandate_provider
from dunwell.cases.payments.provider import PaymentProviderRefused, PaymentProviderUnavailable
from dunwell.contact.messages.letters.sheet import Paper, PaperBody, build_paper, encode_paper
from dunwell.contact.messages.templates.creditors import build_creditor
from dunwell.contact.messages.templates.formatting import render_day
from dunwell.interfaces.landing.payment_plans.routes_modality import (
    ENDED_MODALITY,
    get_requested_modality,
)
from dunwell.interfaces.landing.payment_plans.views import MandatePage, ProviderMandatePage
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form_with,
    form_requires_level,
    in_session_with,
    requires_level,
    unless_closed,
)
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_file_response, build_redirect
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.text.translation import Language

# The page in RETURN_PAGES that the debtor returns to after verification.
_RETURN_PAGE = "options"
# The names of providers as debtors know them, by the provider's kind.
_PROVIDER_NAMES = {"GOCARDLESS": "GoCardless"}


def render_mandate_text(language: Language, settings: DirectDebitSettings) -> str:
    """Return the text that the debtor accepts: the mandate text of the SEPA core scheme, and the
    period of the pre-notification."""
    translate, name = language.translate, settings.account.holder
    return " ".join((
        translate(
            "I authorise %(name)s to collect payments from my account by direct debit. I also "
            "instruct my bank to honour the direct debits that %(name)s draws on my account.",
            name=name,
        ),
        translate(
            "Note: I can demand a refund of the amount debited within eight weeks of the date of "
            "the debit. The terms agreed with my bank apply."
        ),
        translate(
            "I am notified %(days)s days before each debit.",
            days=str(settings.pre_notification_days),
        ),
    ))  # fmt: skip


@in_session_with(ENDED_MODALITY)
@unless_closed
@requires_level(Level.FACT, _RETURN_PAGE)
async def get_mandate_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Show the mandate, or the form or provider with which it can be given. First update the stored
    mandate from its state at the provider, for debtors who return from the provider's page."""
    modality = get_requested_modality(request, opened)
    await _update_from_provider(site, opened, modality)
    mandate = await _find_mandate(site, opened, modality)
    if mandate is not None:
        page = MandatePage(modality=modality, text=mandate.text, mandate=mandate)
        return site.render_page(site.build_claim_context(request, opened), page)
    provider = _find_provider(site, opened)
    if provider is not None:
        return await _answer_provider(site, request, opened, provider)
    return await _answer_form(site, request, opened, {}, faults={})


@accepts_form_with(ENDED_MODALITY)
@unless_closed
@form_requires_level(Level.FACT, _RETURN_PAGE)
async def give_mandate(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    """Store the mandate, or redirect to the provider's page on which the debtor gives it. An
    invalid account is shown again with its faults. If no mandate can be given any more, the
    mandate's page shows the current state."""
    modality = get_requested_modality(request, opened)
    context = site.build_claim_context(request, opened)
    provider = _find_provider(site, opened)
    if provider is not None:
        return await _redirect_to_provider(site, request, opened, provider)
    settings = opened.merchant.configuration.payment.direct_debit
    if settings is None:
        return site.redirect(context, "modality", modality_id=modality.modality_id)
    language = site.pages.languages[context.language]
    signed = SignedMandate(
        modality_id=modality.modality_id,
        holder=form.text("holder"),
        iban=form.text("iban"),
        reference=form["reference"],
        text=render_mandate_text(language, settings),
        language=context.language,
    )
    try:
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            await sign_mandate(work, site.resources.keys, opened.facts.claim_id, signed)
    except ValidationError as refusal:
        faults = {each.path.removeprefix("/"): each.code for each in refusal.faults}
        typed = {"holder": signed.holder, "iban": signed.iban}
        return await _answer_form(site, request, opened, typed, faults=faults)
    except InvalidState:
        pass
    return site.redirect(context, "mandate", modality_id=modality.modality_id)


@in_session_with(ENDED_MODALITY)
@unless_closed
@requires_level(Level.FACT, _RETURN_PAGE)
async def download_mandate(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    modality = get_requested_modality(request, opened)
    context = site.build_claim_context(request, opened)
    mandate = await _find_mandate(site, opened, modality)
    if mandate is None:
        return site.redirect(context, "mandate", modality_id=modality.modality_id)
    language = site.pages.languages[context.language]
    paper = compose_mandate(language, opened, mandate)
    pdf = await site.printer.for_caller(opened.debtor_key).print_paper(encode_paper(paper))
    return build_file_response(pdf, "application/pdf", "mandate.pdf")


@accepts_form_with(ENDED_MODALITY)
@unless_closed
@form_requires_level(Level.FACT, _RETURN_PAGE)
async def submit_revocation(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Revoke the mandate. If it has already ended, nothing changes."""
    modality = get_requested_modality(request, opened)
    mandate = await _find_mandate(site, opened, modality)
    if mandate is not None:
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            await revoke_mandate(work, opened.facts.claim_id, mandate.mandate_id)
    context = site.build_claim_context(request, opened)
    return site.redirect(context, "modality", modality_id=modality.modality_id)


@in_session_with(ENDED_MODALITY)
async def redirect_to_mandate(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Redirect a GET request for an address that accepts only forms."""
    modality = get_requested_modality(request, opened)
    context = site.build_claim_context(request, opened)
    return site.redirect(context, "mandate", modality_id=modality.modality_id)


def compose_mandate(language: Language, opened: OpenedClaim, mandate: Mandate) -> Paper:
    """Compose the mandate on paper. Raises MerchantNotConfigured."""
    translate, creditor = language.translate, build_creditor(opened.merchant)
    body = PaperBody(
        title=translate("Direct debit mandate"),
        rows=[
            (translate("To"), creditor.legal_name),
            (translate("For"), opened.facts.reference_number),
            *(
                [(translate("Creditor identifier"), mandate.creditor_id)]
                if mandate.provider is None
                else []
            ),
            (translate("Mandate reference"), mandate.reference),
            (translate("Account"), mandate.account_shown),
            (translate("Given on"), render_day(mandate.signed_on, language.code)),
        ],
        table=None,
        notes=[mandate.text] if mandate.text else [],
    )
    return build_paper(opened.merchant.configuration.brand, creditor, language.code, body)


async def _answer_form(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, typed: Mapping[str, str],
    faults: Mapping[str, str],
) -> Response:  # fmt: skip
    modality = get_requested_modality(request, opened)
    context = site.build_claim_context(request, opened)
    offer = await _find_offer(site, opened, modality)
    if offer is None:
        return site.redirect(context, "modality", modality_id=modality.modality_id)
    language = site.pages.languages[context.language]
    page = MandatePage(
        modality=modality,
        text=render_mandate_text(language, offer.settings),
        offer=offer,
        typed=typed,
        faults=faults,
    )
    return site.render_page(context, page, 422 if faults else 200)


def _find_provider(site: DebtorSite, opened: OpenedClaim) -> MandateProvider | None:
    """Return the provider at which the merchant's debtors give mandates, or None."""
    name = opened.merchant.configuration.payment.direct_debit_provider
    return find_offered_mandate_provider(site.providers, name)


async def _update_from_provider(site: DebtorSite, opened: OpenedClaim, modality: Modality) -> None:
    """Update the requested mandate from its state at the provider. If the provider cannot be
    reached, the worker does this later."""
    try:
        await settle_open_mandate(
            site.resources, site.providers, opened.merchant.merchant_id, modality.modality_id
        )
    except PaymentProviderUnavailable:
        return


async def _redirect_to_provider(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, provider: MandateProvider
) -> Response:
    """Open the provider's page for the mandate, and redirect to it."""
    modality = get_requested_modality(request, opened)
    context = site.build_claim_context(request, opened)
    public_url = site.resources.settings.public_url
    page_url = context.address("mandate", modality_id=modality.modality_id)
    page = MandatePageRequest(modality.modality_id, f"{public_url}{page_url}", context.language)
    actor = build_debtor_actor(str(opened.session.session_id))
    try:
        url = await open_mandate_page(
            site.resources, site.providers, opened.merchant, actor,
            claim_id=opened.facts.claim_id, page=page,
        )  # fmt: skip
    except (PaymentProviderUnavailable, PaymentProviderRefused):
        return await _answer_provider(site, request, opened, provider, is_unavailable=True)
    except InvalidState:
        return site.redirect(context, "mandate", modality_id=modality.modality_id)
    return build_redirect(url)


async def _answer_provider(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, provider: MandateProvider,
    *, is_unavailable: bool = False,
) -> Response:  # fmt: skip
    modality = get_requested_modality(request, opened)
    context = site.build_claim_context(request, opened)
    async with site.resources.database.connection() as connection:
        work = site.build_work(connection, opened.merchant, opened.session.session_id)
        try:
            await load_plan_for_mandate(work, opened.facts.claim_id, modality.modality_id)
        except InvalidState:
            return site.redirect(context, "modality", modality_id=modality.modality_id)
        asked = await find_open_provider_mandate(
            connection, opened.merchant.merchant_id, modality.modality_id
        )
    page = ProviderMandatePage(
        modality=modality,
        provider=_PROVIDER_NAMES.get(provider.kind, provider.kind.title()),
        is_waiting=asked is not None and asked.checkout_id is not None,
        is_unavailable=is_unavailable,
    )
    origin = site.hand_off_origins.get(provider.name)
    return site.render_page(
        context, page, 503 if is_unavailable else 200, form_origins=[origin] if origin else []
    )


async def _find_offer(
    site: DebtorSite, opened: OpenedClaim, modality: Modality
) -> MandateOffer | None:
    """Return the mandate that can be given, or None."""
    try:
        async with site.resources.database.connection() as connection:
            work = site.build_work(connection, opened.merchant, opened.session.session_id)
            return await prepare_mandate(work, opened.facts.claim_id, modality.modality_id)
    except InvalidState:
        return None


async def _find_mandate(
    site: DebtorSite, opened: OpenedClaim, modality: Modality
) -> Mandate | None:
    """Return the plan's active mandate, or None."""
    async with site.resources.database.connection() as connection:
        work = site.build_work(connection, opened.merchant, opened.session.session_id)
        mandates = await list_mandates(work, opened.facts.claim_id)
    return next(
        (
            each for each in mandates
            if each.modality_id == modality.modality_id and each.state is MandateState.ACTIVE
        ),
        None,
    )  # fmt: skip


PAGES: RoutedPages = {
    "mandate": {"GET": get_mandate_page, "POST": give_mandate},
    "mandate_pdf": {"GET": download_mandate},
    "mandate_revoke": {"GET": redirect_to_mandate, "POST": submit_revocation},
}
