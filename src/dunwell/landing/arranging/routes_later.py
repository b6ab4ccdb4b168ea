"""Paying later, all at once: choosing a day, checking it, asking for it."""

from dunwell.landing.arranging.asking import (
    OWN,
    Ground,
    Refused,
    is_to_be_had,
    read_carried_deferment,
    read_deferment,
    render_deferment,
)
from dunwell.landing.arranging.requesting import ask_for, find_elsewhere, load_ground, read_fields
from dunwell.landing.session.drafts import UNTYPED
from dunwell.landing.session.lookup import OpenedClaim
from dunwell.landing.session.session import Level
from dunwell.landing.web.answer import Answer, answer_page
from dunwell.landing.web.desk import Desk
from dunwell.landing.web.in_session import from_level, in_session, takes_form, takes_form_from
from dunwell.landing.web.visit import Form, Visit
from dunwell.modalities.bounds import DefermentTerms, find_deferment_range, is_approved_at_once
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
    elsewhere = find_elsewhere(desk, opened, ground) or (None if offers else "/claim/options")
    if elsewhere is not None:
        return desk.redirect(frame, elsewhere)
    assert ground.modalities.deferment is not None
    first, last = find_deferment_range(ground.modalities.deferment, ground.facts, ground.today)
    same = {
        "days": tuple(each.until for each in offers), "first_day": first, "last_day": last,
        "own": OWN, "refused": refused,
    }  # fmt: skip
    slots = {"amount": desk.show_amount(ground.facts.outstanding_cents, frame, opened)}
    if frame.carried:
        fields = read_fields(visit)
        typed = {name: fields.get(name, "")[:_MOST_TYPED] for name in _TYPED}
        body = desk.pages.render("later.html", frame, **same, **slots, typed=typed)
    else:
        same["typed"] = UNTYPED
        body = desk.pages.render_slotted("later.html", frame, same, slots)
    return answer_page(body, 200 if refused in (None, Refused.CHANGED) else 422)


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
    elsewhere = find_elsewhere(desk, opened, ground)
    if elsewhere is not None:
        return desk.redirect(frame, elsewhere)
    body = desk.show(
        "later_check.html", frame, opened,
        until=terms.until, is_changed=is_changed,
        is_at_once=is_approved_at_once(terms, ground.modalities, ground.earlier),
        address_end=f"?{render_deferment(terms)}{frame.query.replace('?', '&')}",
    )  # fmt: skip
    return answer_page(body)
