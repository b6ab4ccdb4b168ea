"""Paying in parts: choosing a plan, checking it, asking for it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from starlette.responses import Response

from dunwell.cases.modalities.bounds import PlanTerms
from dunwell.interfaces.landing.arranging.asking import (
    Ground,
    Refused,
    is_to_be_had,
    read_carried_plan,
    read_plan,
)
from dunwell.interfaces.landing.arranging.requesting import (
    ask_for,
    lead_elsewhere,
    load_ground,
    read_fields,
)
from dunwell.interfaces.landing.arranging.views import describe_plan_check, describe_plans
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store_opened import OpenedClaim
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

_PLACE = "plan"
_MOST_TYPED = 40
_TYPED = ("offer", "rate", "first_day", "first_month", "first_year")


@in_session
@from_level(Level.FACT, _PLACE)
async def show_plans(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    return _answer_form(site, visit, opened, await load_ground(site, opened))


@in_session
@from_level(Level.FACT, _PLACE)
async def check_plan(site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim) -> Response:
    ground = await load_ground(site, opened)
    chosen = _read(site, visit, opened, ground)
    if isinstance(chosen, PlanTerms):
        return _answer_check(site, visit, opened, ground=ground, terms=chosen)
    return _answer_form(site, visit, opened, ground=ground, refused=chosen)


@takes_form
@takes_form_from(Level.FACT, _PLACE)
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
        return _answer_check(site, visit, opened, ground=ground, terms=wanted, is_changed=True)
    return _answer_form(site, visit, opened, ground=ground, refused=[Refused.CHANGED])


def _read(
    site: DebtorSite, visit: DebtorRequest, opened: OpenedClaim, ground: Ground
) -> PlanTerms | list[Refused]:
    language = site.frame_opened(visit, opened).language
    return read_plan(read_fields(visit), ground, opened.facts.currency, language)


def _answer_form(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    refused: Sequence[Refused] = (),
) -> Response:
    """refused: why what was chosen is not to be had."""
    frame = site.frame_opened(visit, opened)
    elsewhere = lead_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    if not ground.plans:
        return site.redirect(frame, "options")
    assert ground.modalities.plan is not None
    last_day = ground.today + timedelta(days=ground.modalities.plan.first_date_within_days)
    typed = _keep_typed(read_fields(visit))
    page = describe_plans(opened, ground, last_day=last_day, typed=typed, refused=refused)
    return site.answer(frame, page, 422 if set(refused) - {Refused.CHANGED} else 200)


def _answer_check(
    site: DebtorSite,
    visit: DebtorRequest,
    opened: OpenedClaim,
    ground: Ground,
    terms: PlanTerms,
    *,
    is_changed: bool = False,
) -> Response:
    frame = site.frame_opened(visit, opened)
    elsewhere = lead_elsewhere(site, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    return site.answer(frame, describe_plan_check(opened, ground, terms, is_changed=is_changed))


def _keep_typed(fields: Mapping[str, str]) -> dict[str, str]:
    """To be shown again."""
    return {name: fields.get(name, "")[:_MOST_TYPED] for name in _TYPED}


PAGES: RoutedPages = {
    "plan": {"GET": show_plans},
    "plan_check": {"GET": check_plan, "POST": ask_plan},
}
