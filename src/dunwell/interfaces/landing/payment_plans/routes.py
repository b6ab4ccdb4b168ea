"""The options of debtors who cannot pay everything now: paying in instalments, paying later, or
help."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

from starlette.responses import Response

from dunwell.cases.modalities.limits import DeferralTerms, PlanTerms, compute_deferral_range
from dunwell.cases.modalities.offers import list_offered_deferrals
from dunwell.cases.modalities.progress import local_date, start_of_day
from dunwell.contact.notices.occasions.facts import PauseFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.interfaces.landing.payment_plans.modality_requests import (
    OWN,
    ModalityRequestFacts,
    RefusedRequest,
    can_pay_later,
    get_query_fields,
    is_available,
    load_request_facts,
    parse_deferral,
    parse_deferral_address,
    parse_plan,
    parse_plan_address,
    redirect_unless_requestable,
    submit_request,
)
from dunwell.interfaces.landing.payment_plans.views import (
    HelpPage,
    LaterPage,
    describe_later_check,
    describe_options,
    describe_plan_check,
    describe_plans,
)
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import list_active_holds
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    accepts_form,
    form_requires_level,
    in_session,
    requires_level,
)
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.platform.errors import InvalidState

_HELP_RETURN_PAGE = "help"
# A claim with one of these holds cannot be paused, because no messages are sent anyway.
_HOLDS_WITHOUT_PAUSE = (
    HoldKind.PAUSE, HoldKind.DISPUTE, HoldKind.MODALITY_REQUESTED, HoldKind.MODALITY_ACTIVE,
)  # fmt: skip


@in_session
async def get_payment_options_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Show the options. A link alone suffices, because the page shows only the amount."""
    context = site.build_claim_context(request, opened)
    if not can_pay_later(site, opened):
        return site.redirect(context, "claim")
    request_facts = await load_request_facts(site, opened)
    now = opened.merchant.now(site.resources.clock)
    return site.render_page(context, describe_options(opened, request_facts, now))


@in_session
async def get_payment_help_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    """Show debt advice and the pause. A link alone suffices for the page, but a pause needs a known
    fact."""
    if not can_pay_later(site, opened):
        return site.redirect(site.build_claim_context(request, opened), "claim")
    return _answer_help(site, request, opened)


@accepts_form
@form_requires_level(Level.FACT, _HELP_RETURN_PAGE)
async def pause_claim(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Pause the claim. Repeated clicks create one pause, and a second pause within 30 days is
    refused (CONTRACT 4)."""
    context, until_on = site.build_claim_context(request, opened), _find_pause_end(site, opened)
    if until_on is None:
        return site.redirect(context, "help")
    claim_id = opened.facts.claim_id
    until = start_of_day(until_on, opened.merchant.configuration.timezone)
    try:
        async with site.resources.database.transaction() as tx:
            work = site.build_work(tx, opened.merchant, opened.session.session_id)
            hold_id = await open_hold(work, claim_id, HoldKind.PAUSE, until=until)
            facts = PauseFacts(opened.facts.reference_number, until_on)
            await notify_debtor(work, claim_id, str(hold_id), facts)
    except InvalidState:
        opened = await site.find_opened(request) or opened
        if can_pay_later(site, opened) and _find_paused_until(site, opened) is None:
            return _answer_help(site, request, opened, is_refused=True)
    return site.redirect(context, "help")


def _answer_help(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, *, is_refused: bool = False
) -> Response:
    page = HelpPage(
        reference=opened.facts.reference_number,
        timezone=opened.merchant.configuration.timezone,
        level=opened.session.level,
        paused_until=_find_paused_until(site, opened),
        pause_until=None if is_refused else _find_pause_end(site, opened),
        is_refused=is_refused,
    )
    return site.render_page(
        site.build_claim_context(request, opened), page, 409 if is_refused else 200
    )


def _find_pause_end(site: DebtorSite, opened: OpenedClaim) -> date | None:
    """Return the day on which a pause that begins now would end, or None if none is available."""
    configuration = opened.merchant.configuration
    now = opened.merchant.now(site.resources.clock)
    is_stopped = any(
        hold.kind in _HOLDS_WITHOUT_PAUSE for hold in list_active_holds(opened.facts, now)
    )
    days = configuration.modalities.pause_days
    if is_stopped or days == 0 or not can_pay_later(site, opened):
        return None
    return local_date(now, configuration.timezone) + timedelta(days=days)


def _find_paused_until(site: DebtorSite, opened: OpenedClaim) -> datetime | None:
    now = opened.merchant.now(site.resources.clock)
    ends = [
        hold.until
        for hold in list_active_holds(opened.facts, now)
        if hold.kind is HoldKind.PAUSE and hold.until is not None
    ]
    return max(ends, default=None)


_PLAN_RETURN_PAGE = "plan"
_MAX_PLAN_FIELD_LENGTH = 40
_PLAN_FIELDS = ("offer", "monthly_amount", "first_day", "first_month", "first_year")


@in_session
@requires_level(Level.FACT, _PLAN_RETURN_PAGE)
async def get_payment_plans_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    return _answer_plan_form(site, request, opened, await load_request_facts(site, opened))


@in_session
@requires_level(Level.FACT, _PLAN_RETURN_PAGE)
async def get_plan_check_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    request_facts = await load_request_facts(site, opened)
    chosen = _parse_plan(site, request, opened, request_facts)
    if isinstance(chosen, PlanTerms):
        return _answer_plan_check(site, request, opened, request_facts=request_facts, terms=chosen)
    return _answer_plan_form(site, request, opened, request_facts=request_facts, refused=chosen)


@accepts_form
@form_requires_level(Level.FACT, _PLAN_RETURN_PAGE)
async def request_plan(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    """Request the plan. The server computes its amounts again and compares them with what the page
    showed."""
    terms = parse_plan_address(form)
    answer = (
        None
        if terms is None
        else await submit_request(site, request, opened, terms=terms, form=form)
    )
    if answer is not None:
        return answer
    opened = await site.find_opened(request) or opened
    request_facts = await load_request_facts(site, opened)
    if terms is not None and is_available(terms, request_facts):
        return _answer_plan_check(
            site, request, opened, request_facts=request_facts, terms=terms, is_changed=True
        )
    return _answer_plan_form(
        site, request, opened, request_facts=request_facts, refused=[RefusedRequest.CHANGED]
    )


def _parse_plan(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    request_facts: ModalityRequestFacts,
) -> PlanTerms | list[RefusedRequest]:
    language = site.build_claim_context(request, opened).language
    return parse_plan(get_query_fields(request), request_facts, opened.facts.currency, language)


def _answer_plan_form(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    request_facts: ModalityRequestFacts,
    refused: Sequence[RefusedRequest] = (),
) -> Response:
    """Show the form. `refused` are the reasons why the choice is not available."""
    context = site.build_claim_context(request, opened)
    redirect = redirect_unless_requestable(site, context, opened, request_facts)
    if redirect is not None:
        return redirect
    if not request_facts.plans:
        return site.redirect(context, "options")
    assert request_facts.modalities.plan is not None
    last_day = request_facts.today + timedelta(
        days=request_facts.modalities.plan.first_date_within_days
    )
    typed = _keep_typed_fields(get_query_fields(request))
    page = describe_plans(opened, request_facts, last_day=last_day, typed=typed, refused=refused)
    return site.render_page(context, page, 422 if set(refused) - {RefusedRequest.CHANGED} else 200)


def _answer_plan_check(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    request_facts: ModalityRequestFacts,
    terms: PlanTerms,
    *,
    is_changed: bool = False,
) -> Response:
    context = site.build_claim_context(request, opened)
    redirect = redirect_unless_requestable(site, context, opened, request_facts)
    if redirect is not None:
        return redirect
    return site.render_page(
        context, describe_plan_check(opened, request_facts, terms, is_changed=is_changed)
    )


def _keep_typed_fields(fields: Mapping[str, str]) -> dict[str, str]:
    """Return what was typed, to show it again."""
    return {name: fields.get(name, "")[:_MAX_PLAN_FIELD_LENGTH] for name in _PLAN_FIELDS}


_LATER_RETURN_PAGE = "later"
_MAX_LATER_FIELD_LENGTH = 10
_LATER_FIELDS = ("until", "on_day", "on_month", "on_year")


@in_session
@requires_level(Level.FACT, _LATER_RETURN_PAGE)
async def get_deferral_dates_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    return _answer_later_form(site, request, opened, await load_request_facts(site, opened))


@in_session
@requires_level(Level.FACT, _LATER_RETURN_PAGE)
async def get_deferral_check_page(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
) -> Response:
    request_facts = await load_request_facts(site, opened)
    chosen = parse_deferral(get_query_fields(request), request_facts)
    if isinstance(chosen, DeferralTerms):
        return _answer_later_check(site, request, opened, request_facts=request_facts, terms=chosen)
    return _answer_later_form(site, request, opened, request_facts=request_facts, refused=chosen)


@accepts_form
@form_requires_level(Level.FACT, _LATER_RETURN_PAGE)
async def request_deferral(
    site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    terms = parse_deferral_address(form)
    answer = (
        None
        if terms is None
        else await submit_request(site, request, opened, terms=terms, form=form)
    )
    if answer is not None:
        return answer
    opened = await site.find_opened(request) or opened
    request_facts = await load_request_facts(site, opened)
    if terms is not None and is_available(terms, request_facts):
        return _answer_later_check(
            site, request, opened, request_facts=request_facts, terms=terms, is_changed=True
        )
    return _answer_later_form(
        site, request, opened, request_facts=request_facts, refused=RefusedRequest.CHANGED
    )


def _answer_later_form(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    request_facts: ModalityRequestFacts,
    refused: RefusedRequest | None = None,
) -> Response:
    context = site.build_claim_context(request, opened)
    offers = list_offered_deferrals(
        request_facts.modalities, request_facts.facts, request_facts.today
    )
    redirect = redirect_unless_requestable(site, context, opened, request_facts)
    if redirect is not None:
        return redirect
    if not offers:
        return site.redirect(context, "options")
    assert request_facts.modalities.deferment is not None
    first, last = compute_deferral_range(
        request_facts.modalities.deferment, request_facts.facts, request_facts.today
    )
    fields = get_query_fields(request)
    page = LaterPage(
        currency=opened.facts.currency,
        outstanding_cents=request_facts.facts.outstanding_cents,
        days=[each.until for each in offers],
        first_day=first,
        last_day=last,
        own=OWN,
        typed={name: fields.get(name, "")[:_MAX_LATER_FIELD_LENGTH] for name in _LATER_FIELDS},
        refused=refused,
    )
    return site.render_page(
        context, page, 200 if refused in (None, RefusedRequest.CHANGED) else 422
    )


def _answer_later_check(
    site: DebtorSite,
    request: DebtorRequest,
    opened: OpenedClaim,
    request_facts: ModalityRequestFacts,
    terms: DeferralTerms,
    *,
    is_changed: bool = False,
) -> Response:
    context = site.build_claim_context(request, opened)
    redirect = redirect_unless_requestable(site, context, opened, request_facts)
    if redirect is not None:
        return redirect
    return site.render_page(
        context, describe_later_check(opened, request_facts, terms, is_changed=is_changed)
    )


PAGES: RoutedPages = {
    "options": {"GET": get_payment_options_page},
    "help": {"GET": get_payment_help_page, "POST": pause_claim},
    "plan": {"GET": get_payment_plans_page},
    "plan_check": {"GET": get_plan_check_page, "POST": request_plan},
    "later": {"GET": get_deferral_dates_page},
    "later_check": {"GET": get_deferral_check_page, "POST": request_deferral},
}
