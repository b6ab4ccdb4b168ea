"""What a debtor can do who cannot pay everything now: pay in instalments, pay later, or ask for
help.
"""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

from starlette.responses import Response

from dunwell.cases.modalities.limits import DeferralTerms, PlanTerms, compute_deferral_range
from dunwell.cases.modalities.offers import list_offered_deferrals
from dunwell.cases.modalities.progress import start_of_day
from dunwell.contact.notices.occasions.facts import PauseFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.interfaces.landing.payment_plans.modality_requests import (
    OWN,
    Ground,
    RefusedRequest,
    ask_for,
    can_be_arranged,
    is_to_be_had,
    load_ground,
    read_carried_deferment,
    read_carried_plan,
    read_deferment,
    read_fields,
    read_plan,
    redirect_elsewhere,
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
from dunwell.interfaces.landing.session.states import find_day, list_standing
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import (
    RoutedPages,
    from_level,
    in_session,
    takes_form,
    takes_form_from,
)
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import InvalidState

_PLACE = "help"
# Nobody is written to under these anyway.
_STOPPING = (
    HoldKind.PAUSE, HoldKind.DISPUTE, HoldKind.MODALITY_REQUESTED, HoldKind.MODALITY_ACTIVE,
)  # fmt: skip


@in_session
async def show_options(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """A link alone may see them: they tell of nothing but the amount."""
    frame = site.frame_opened(visit, opened)
    if not can_be_arranged(site, opened):
        return site.redirect(frame, "claim")
    ground = await load_ground(site, opened)
    now = opened.merchant.now(site.resources.clock)
    return site.answer(frame, describe_options(opened, ground, now))


@in_session
async def show_help(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    """A link alone may see it; the break takes more."""
    if not can_be_arranged(site, opened):
        return site.redirect(site.frame_opened(visit, opened), "claim")
    return _answer_help(site, visit, opened)


@takes_form
@takes_form_from(Level.FACT, _PLACE)
async def pause(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, _form: FormFields
) -> Response:
    """Of many clicks one pauses; a second pause within 30 days is refused (CONTRACT 4)."""
    frame, until_on = site.frame_opened(visit, opened), _find_end(site, opened)
    if until_on is None:
        return site.redirect(frame, "help")
    claim_id = opened.facts.claim_id
    until = start_of_day(until_on, opened.merchant.configuration.timezone)
    try:
        async with site.resources.database.transaction() as tx:
            work = site.work(tx, opened.merchant, opened.session.session_id)
            hold_id = await open_hold(work, claim_id, HoldKind.PAUSE, until=until)
            facts = PauseFacts(opened.facts.reference_number, until_on)
            await notify_debtor(work, claim_id, str(hold_id), facts)
    except InvalidState:
        opened = await site.find_opened(visit) or opened
        if can_be_arranged(site, opened) and _find_paused_until(site, opened) is None:
            return _answer_help(site, visit, opened, is_refused=True)
    return site.redirect(frame, "help")


def _answer_help(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, *, is_refused: bool = False
) -> Response:
    page = HelpPage(
        reference=opened.facts.reference_number,
        timezone=opened.merchant.configuration.timezone,
        level=opened.session.level,
        paused_until=_find_paused_until(site, opened),
        pause_until=None if is_refused else _find_end(site, opened),
        is_refused=is_refused,
    )
    return site.answer(site.frame_opened(visit, opened), page, 409 if is_refused else 200)


def _find_end(site: DebtorSite, opened: OpenedClaim) -> date | None:
    """Until when a break would last; None: there is none to be had."""
    configuration = opened.merchant.configuration
    now = opened.merchant.now(site.resources.clock)
    is_stopped = any(hold.kind in _STOPPING for hold in list_standing(opened.facts, now))
    days = configuration.modalities.pause_days
    if is_stopped or days == 0 or not can_be_arranged(site, opened):
        return None
    return find_day(now, configuration.timezone) + timedelta(days=days)


def _find_paused_until(site: DebtorSite, opened: OpenedClaim) -> datetime | None:
    now = opened.merchant.now(site.resources.clock)
    ends = [
        hold.until
        for hold in list_standing(opened.facts, now)
        if hold.kind is HoldKind.PAUSE and hold.until is not None
    ]
    return max(ends, default=None)


_PLAN_PLACE = "plan"
_MAX_PLAN_TYPED = 40
_PLAN_TYPED = ("offer", "rate", "first_day", "first_month", "first_year")


@in_session
@from_level(Level.FACT, _PLAN_PLACE)
async def show_plans(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    return _answer_plan_form(site, visit, opened, await load_ground(site, opened))


@in_session
@from_level(Level.FACT, _PLAN_PLACE)
async def check_plan(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    ground = await load_ground(site, opened)
    chosen = _read(site, visit, opened, ground)
    if isinstance(chosen, PlanTerms):
        return _answer_plan_check(site, visit, opened, ground=ground, terms=chosen)
    return _answer_plan_form(site, visit, opened, ground=ground, refused=chosen)


@takes_form
@takes_form_from(Level.FACT, _PLAN_PLACE)
async def ask_plan(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    """The server counts again; what the form says was shown is only compared."""
    wanted = read_carried_plan(form)
    answer = None if wanted is None else await ask_for(site, visit, opened, terms=wanted, form=form)
    if answer is not None:
        return answer
    opened = await site.find_opened(visit) or opened
    ground = await load_ground(site, opened)
    if wanted is not None and is_to_be_had(wanted, ground):
        return _answer_plan_check(site, visit, opened, ground=ground, terms=wanted, is_changed=True)
    return _answer_plan_form(site, visit, opened, ground=ground, refused=[RefusedRequest.CHANGED])


def _read(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, ground: Ground
) -> PlanTerms | list[RefusedRequest]:
    language = site.frame_opened(visit, opened).language
    return read_plan(read_fields(visit), ground, opened.facts.currency, language)


def _answer_plan_form(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    refused: Sequence[RefusedRequest] = (),
) -> Response:
    """refused: why what was chosen is not to be had."""
    frame = site.frame_opened(visit, opened)
    elsewhere = redirect_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    if not ground.plans:
        return site.redirect(frame, "options")
    assert ground.modalities.plan is not None
    last_day = ground.today + timedelta(days=ground.modalities.plan.first_date_within_days)
    typed = _keep_typed(read_fields(visit))
    page = describe_plans(opened, ground, last_day=last_day, typed=typed, refused=refused)
    return site.answer(frame, page, 422 if set(refused) - {RefusedRequest.CHANGED} else 200)


def _answer_plan_check(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    terms: PlanTerms,
    *,
    is_changed: bool = False,
) -> Response:
    frame = site.frame_opened(visit, opened)
    elsewhere = redirect_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    return site.answer(frame, describe_plan_check(opened, ground, terms, is_changed=is_changed))


def _keep_typed(fields: Mapping[str, str]) -> dict[str, str]:
    """To be shown again."""
    return {name: fields.get(name, "")[:_MAX_PLAN_TYPED] for name in _PLAN_TYPED}


_LATER_PLACE = "later"
_MAX_LATER_TYPED = 10
_LATER_TYPED = ("until", "on_day", "on_month", "on_year")


@in_session
@from_level(Level.FACT, _LATER_PLACE)
async def show_days(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    return _answer_later_form(site, visit, opened, await load_ground(site, opened))


@in_session
@from_level(Level.FACT, _LATER_PLACE)
async def check_day(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    ground = await load_ground(site, opened)
    chosen = read_deferment(read_fields(visit), ground)
    if isinstance(chosen, DeferralTerms):
        return _answer_later_check(site, visit, opened, ground=ground, terms=chosen)
    return _answer_later_form(site, visit, opened, ground=ground, refused=chosen)


@takes_form
@takes_form_from(Level.FACT, _LATER_PLACE)
async def ask_time(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, form: FormFields
) -> Response:
    wanted = read_carried_deferment(form)
    answer = None if wanted is None else await ask_for(site, visit, opened, terms=wanted, form=form)
    if answer is not None:
        return answer
    opened = await site.find_opened(visit) or opened
    ground = await load_ground(site, opened)
    if wanted is not None and is_to_be_had(wanted, ground):
        return _answer_later_check(
            site, visit, opened, ground=ground, terms=wanted, is_changed=True
        )
    return _answer_later_form(site, visit, opened, ground=ground, refused=RefusedRequest.CHANGED)


def _answer_later_form(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    refused: RefusedRequest | None = None,
) -> Response:
    frame = site.frame_opened(visit, opened)
    offers = list_offered_deferrals(ground.modalities, ground.facts, ground.today)
    elsewhere = redirect_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    if not offers:
        return site.redirect(frame, "options")
    assert ground.modalities.deferment is not None
    first, last = compute_deferral_range(ground.modalities.deferment, ground.facts, ground.today)
    fields = read_fields(visit)
    page = LaterPage(
        currency=opened.facts.currency,
        outstanding_cents=ground.facts.outstanding_cents,
        days=[each.until for each in offers],
        first_day=first,
        last_day=last,
        own=OWN,
        typed={name: fields.get(name, "")[:_MAX_LATER_TYPED] for name in _LATER_TYPED},
        refused=refused,
    )
    return site.answer(frame, page, 200 if refused in (None, RefusedRequest.CHANGED) else 422)


def _answer_later_check(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    terms: DeferralTerms,
    *,
    is_changed: bool = False,
) -> Response:
    frame = site.frame_opened(visit, opened)
    elsewhere = redirect_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    return site.answer(frame, describe_later_check(opened, ground, terms, is_changed=is_changed))


PAGES: RoutedPages = {
    "options": {"GET": show_options},
    "help": {"GET": show_help, "POST": pause},
    "plan": {"GET": show_plans},
    "plan_check": {"GET": check_plan, "POST": ask_plan},
    "later": {"GET": show_days},
    "later_check": {"GET": check_day, "POST": ask_time},
}
