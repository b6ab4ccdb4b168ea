"""Paying later, all at once: choosing a day, checking it, asking for it."""

from dunwell.landing.arranging.asking import (
    OWN,
    Ground,
    Refused,
    is_to_be_had,
    read_carried_deferment,
    read_deferment,
)
from dunwell.landing.arranging.requesting import ask_for, lead_elsewhere, load_ground, read_fields
from dunwell.landing.arranging.views import LaterPage, describe_later_check
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.web.answer import Answer
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import from_level, in_session, takes_form, takes_form_from
from dunwell.landing.web.visit import Form, Visit
from dunwell.modalities.bounds import DefermentTerms, find_deferment_range
from dunwell.modalities.offers import list_offered_deferments

_PLACE = "later"
_MOST_TYPED = 10
_TYPED = ("until", "on_day", "on_month", "on_year")


@in_session
@from_level(Level.FACT, _PLACE)
async def show_days(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    return _answer_form(desk, visit, opened, await load_ground(desk, opened))


@in_session
@from_level(Level.FACT, _PLACE)
async def check_day(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    ground = await load_ground(desk, opened)
    chosen = read_deferment(read_fields(visit), ground)
    if isinstance(chosen, DefermentTerms):
        return _answer_check(desk, visit, opened, ground, chosen)
    return _answer_form(desk, visit, opened, ground, chosen)


@takes_form
@takes_form_from(Level.FACT, _PLACE)
async def ask_time(desk: Desk, visit: Visit, opened: OpenedClaim, form: Form) -> Answer:
    wanted = read_carried_deferment(form)
    answer = None if wanted is None else await ask_for(desk, visit, opened, wanted, form)
    if answer is not None:
        return answer
    opened = await desk.find_opened(visit) or opened
    ground = await load_ground(desk, opened)
    if wanted is not None and is_to_be_had(wanted, ground):
        return _answer_check(desk, visit, opened, ground, wanted, is_changed=True)
    return _answer_form(desk, visit, opened, ground, Refused.CHANGED)


def _answer_form(
    desk: Desk, visit: Visit, opened: OpenedClaim, ground: Ground, refused: Refused | None = None
) -> Answer:
    frame = desk.frame_opened(visit, opened)
    offers = list_offered_deferments(ground.modalities, ground.facts, ground.today)
    elsewhere = lead_elsewhere(desk, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    if not offers:
        return desk.redirect(frame, "options")
    assert ground.modalities.deferment is not None
    first, last = find_deferment_range(ground.modalities.deferment, ground.facts, ground.today)
    fields = read_fields(visit)
    page = LaterPage(
        currency=opened.facts.currency,
        outstanding_cents=ground.facts.outstanding_cents,
        days=[each.until for each in offers],
        first_day=first,
        last_day=last,
        own=OWN,
        typed={name: fields.get(name, "")[:_MOST_TYPED] for name in _TYPED},
        refused=refused,
    )
    return desk.answer(frame, page, 200 if refused in (None, Refused.CHANGED) else 422)


def _answer_check(
    desk: Desk,
    visit: Visit,
    opened: OpenedClaim,
    ground: Ground,
    terms: DefermentTerms,
    *,
    is_changed: bool = False,
) -> Answer:
    frame = desk.frame_opened(visit, opened)
    elsewhere = lead_elsewhere(desk, frame, opened, ground)
    if elsewhere is not None:
        return elsewhere
    return desk.answer(frame, describe_later_check(opened, ground, terms, is_changed=is_changed))
