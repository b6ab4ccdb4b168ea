"""Paying in parts: choosing a plan, checking it, asking for it."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from dunwell.landing.amounts import render_plain
from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.asking import (
    OWN,
    Ground,
    Refused,
    is_to_be_had,
    read_carried_plan,
    read_plan,
    render_plan,
)
from dunwell.landing.desk import Desk
from dunwell.landing.in_session import from_level, in_session, takes_form, takes_form_from
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.routes.requesting import ask_for, find_elsewhere, load_ground, read_fields
from dunwell.landing.session import Level
from dunwell.landing.shown_plans import describe_plan
from dunwell.landing.visit import Form, Visit
from dunwell.modalities.bounds import PlanTerms, is_approved_at_once
from dunwell.modalities.offers import Offer, count_rate, list_plans, pick_offered
from dunwell.modalities.progress import GRACE

_PLACE = "plan"
_MOST_TYPED = 40
_TYPED = ("offer", "rate", "first_day", "first_month", "first_year")


@in_session
@from_level(Level.FACT, _PLACE)
async def show_plans(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    """With the schedule of what is chosen, when that is asked for."""
    ground = await load_ground(desk, opened)
    if "show" not in visit.query:
        return _answer_form(desk, visit, opened, ground)
    return _answer_form(desk, visit, opened, ground, _read(desk, visit, opened, ground))


@in_session
@from_level(Level.FACT, _PLACE)
async def check_plan(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    ground = await load_ground(desk, opened)
    chosen = _read(desk, visit, opened, ground)
    if isinstance(chosen, PlanTerms):
        return _answer_check(desk, visit, opened, ground, chosen)
    return _answer_form(desk, visit, opened, ground, chosen)


@takes_form
@takes_form_from(Level.FACT, _PLACE)
async def ask_plan(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    """The server counts again; what the form says was shown is only compared."""
    wanted = read_carried_plan(form)
    answer = None if wanted is None else await ask_for(desk, visit, opened, wanted, form)
    if answer is not None:
        return answer
    opened = await desk.find_opened(visit) or opened
    ground = await load_ground(desk, opened)
    if wanted is not None and is_to_be_had(wanted, ground):
        return _answer_check(desk, visit, opened, ground, wanted, is_changed=True)
    return _answer_form(desk, visit, opened, ground, [Refused.CHANGED])


def _read(
    desk: Desk, visit: Visit, opened: OpenedClaim, ground: Ground
) -> PlanTerms | list[Refused]:
    language = desk.frame_opened(visit, opened).language
    return read_plan(read_fields(visit), ground, opened.facts.currency, language)


def _answer_form(
    desk: Desk,
    visit: Visit,
    opened: OpenedClaim,
    ground: Ground,
    chosen: PlanTerms | list[Refused] | None = None,
) -> Answer:
    """chosen: to be shown whole, or why it is not to be had."""
    frame = desk.frame_opened(visit, opened)
    plans = list_plans(ground.modalities, ground.facts, ground.today)
    elsewhere = find_elsewhere(desk, opened, ground) or (None if plans else "/claim/options")
    if elsewhere is not None:
        return desk.redirect(frame, elsewhere)
    offers = [
        describe_plan(_make_offer(each, ground), opened.facts.currency, frame.language)
        for each in pick_offered(plans, ground.modalities)
    ]
    refused = chosen if isinstance(chosen, list) else []
    least_cents = min(count_rate(each, ground.facts) for each in plans)
    typed = _keep_typed(read_fields(visit))
    body = desk.show(
        "plan.html", frame, opened,
        offers=offers,
        has_more=len(plans) > len(offers) or typed["offer"] == OWN, own=OWN, refused=refused,
        preview=_make_offer(chosen, ground) if isinstance(chosen, PlanTerms) else None,
        typed=typed, chosen=frame.chosen,
        least_cents=least_cents,
        example=render_plain(least_cents, opened.facts.currency, frame.language),
        **_describe_days(ground),
    )  # fmt: skip
    return answer_page(body, 422 if set(refused) - {Refused.CHANGED} else 200)


def _answer_check(
    desk: Desk,
    visit: Visit,
    opened: OpenedClaim,
    ground: Ground,
    terms: PlanTerms,
    *,
    is_changed: bool = False,
) -> Answer:
    frame = desk.frame_opened(visit, opened)
    elsewhere = find_elsewhere(desk, opened, ground)
    if elsewhere is not None:
        return desk.redirect(frame, elsewhere)
    body = desk.show(
        "plan_check.html", frame, opened,
        offer=_make_offer(terms, ground), is_changed=is_changed, grace_days=GRACE.days,
        is_at_once=is_approved_at_once(terms, ground.modalities, ground.earlier),
        address_end=f"?{render_plan(terms)}{frame.query.replace('?', '&')}",
    )  # fmt: skip
    return answer_page(body)


def _make_offer(terms: PlanTerms, ground: Ground) -> Offer:
    return Offer(terms, terms.schedule(ground.facts.outstanding_cents))


def _describe_days(ground: Ground) -> dict[str, Any]:
    """Between which a plan can begin."""
    plan = ground.modalities.plan
    assert plan is not None
    return {
        "first_day": ground.today,
        "last_day": ground.today + timedelta(days=plan.first_date_within_days),
    }


def _keep_typed(fields: Mapping[str, str]) -> dict[str, str]:
    """To be shown again."""
    return {name: fields.get(name, "")[:_MOST_TYPED] for name in _TYPED}
