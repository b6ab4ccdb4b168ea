"""Paying in parts: choosing a plan, checking it, asking for it."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from dunwell.landing.arranging.asking import (
    OWN,
    Ground,
    Refused,
    is_to_be_had,
    read_carried_plan,
    read_plan,
)
from dunwell.landing.arranging.requesting import ask_for, find_elsewhere, load_ground, read_fields
from dunwell.landing.arranging.shown_plans import ShownPlan, describe_plan, list_amounts, list_days
from dunwell.landing.render.amounts import render_plain
from dunwell.landing.render.pages import Frame
from dunwell.landing.render.slots import Slot
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.web.answer import Answer, answer_page
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import from_level, in_session, takes_form, takes_form_from
from dunwell.landing.web.visit import Form, Visit
from dunwell.modalities.bounds import PlanTerms, is_approved_at_once
from dunwell.modalities.offers import count_rate, pick_offered
from dunwell.modalities.progress import GRACE

_PLACE = "plan"
_MOST_TYPED = 40
_TYPED = ("offer", "rate", "first_day", "first_month", "first_year")


@in_session
@from_level(Level.FACT, _PLACE)
async def show_plans(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    return _answer_form(desk, visit, opened, await load_ground(desk, opened))


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
    refused: Sequence[Refused] = (),
) -> Answer:
    """refused: why what was chosen is not to be had."""
    frame = desk.frame_opened(visit, opened)
    plans = ground.plans
    elsewhere = find_elsewhere(desk, opened, ground) or (None if plans else "/claim/options")
    if elsewhere is not None:
        return desk.redirect(frame, elsewhere)
    offered = pick_offered(plans, ground.modalities)
    typed = _keep_typed(read_fields(visit)) if frame.carried else {}
    offer = typed.pop("offer", "")
    is_known = offer == OWN or any(str(each.count) == offer for each in offered)
    same = {
        "counts": tuple([each.count for each in offered]), "offer": offer if is_known else "",
        "days": tuple([list_days(each, frame.language) for each in offered]),
        "uneven": tuple([ground.facts.outstanding_cents % each.count > 0 for each in offered]),
        "has_more": len(plans) > len(offered) or offer == OWN, "own": OWN,
        "refused": tuple(refused), **_describe_days(ground),
    }  # fmt: skip
    least_cents = count_rate(plans[-1], ground.facts)
    slots: dict[str, Slot] = {
        **_show_offers(offered, ground, opened, frame),
        "least": desk.show_amount(least_cents, frame, opened),
        "example": render_plain(least_cents, opened.facts.currency, frame.language),
        "total": desk.show_amount(ground.facts.outstanding_cents, frame, opened),
        "typed": {name: text for name, text in typed.items() if text},
    }  # fmt: skip
    body = desk.pages.render_slotted("plan.html", frame, same, slots)
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
    total_cents = ground.facts.outstanding_cents
    same = {
        "count": terms.count, "first_on": terms.first_on, "is_changed": is_changed,
        "is_at_once": is_approved_at_once(terms, ground.modalities, ground.earlier),
        "grace_days": GRACE.days, "due_days": list_days(terms, frame.language),
    }  # fmt: skip
    slots: dict[str, Slot] = {
        "first": desk.show_amount(count_rate(terms, ground.facts), frame, opened),
        "total": desk.show_amount(total_cents, frame, opened), "shown_cents": str(total_cents),
        "due_amounts": _list_amounts(terms, ground, opened, frame),
    }  # fmt: skip
    return answer_page(desk.pages.render_slotted("plan_check.html", frame, same, slots))


def _show_offers(
    offered: Sequence[PlanTerms], ground: Ground, opened: OpenedClaim, frame: Frame
) -> dict[str, Sequence[str]]:
    """For the page's slots, each offer in its place."""
    given = (ground.facts.outstanding_cents, opened.facts.currency, frame.language)
    shown = zip(*[describe_plan(each.count, *given) for each in offered], strict=True)
    return dict(zip(ShownPlan._fields, shown, strict=False))


def _list_amounts(
    terms: PlanTerms, ground: Ground, opened: OpenedClaim, frame: Frame
) -> Sequence[str]:
    total_cents = ground.facts.outstanding_cents
    return list_amounts(terms.count, total_cents, opened.facts.currency, frame.language)


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
