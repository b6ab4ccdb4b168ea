"""The claim page, and staying on or leaving."""

from typing import Any

from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.desk import Desk
from dunwell.landing.end_session import end_session
from dunwell.landing.extend_session import extend_session
from dunwell.landing.in_session import in_session, takes_form
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.methods import list_methods
from dunwell.landing.view import (
    PageState,
    decide_state,
    find_day,
    find_held_until,
    is_awaited,
    render_initials,
)
from dunwell.landing.visit import Form, Visit


@in_session
async def show_claim(desk: Desk, visit: Visit, opened: OpenedClaim) -> Answer:
    frame = desk.frame_opened(visit, opened)
    return answer_page(desk.pages.render("claim.html", frame, **_describe(desk, opened)))


def _describe(desk: Desk, opened: OpenedClaim) -> dict[str, Any]:
    facts, merchant = opened.facts, opened.merchant
    timezone = merchant.configuration.timezone
    now = merchant.now(desk.resources.clock)
    state = decide_state(facts, now)
    due_on = facts.due_on
    allocated_cents = sum(item.allocated_cents for item in facts.items)
    return {
        "facts": facts,
        "timezone": timezone,
        "state": state,
        "level": opened.session.level,
        "initials": render_initials(facts),
        "due_on": due_on,
        "is_due": due_on is not None and due_on < find_day(now, timezone),
        "held_until": find_held_until(facts, now) if state is PageState.HELD else None,
        "is_awaited": is_awaited(facts),
        "can_pay": bool(list_methods(desk.providers, merchant)),
        "currency": facts.currency,
        "outstanding_cents": facts.total_cents - allocated_cents,
        "overpaid_cents": facts.paid_cents - allocated_cents,
        "receipts": [payment for payment in facts.payments if payment.request_id],
    }


@takes_form
async def extend(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    now = desk.now()
    session_id = desk.resources.ids.new(now)
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        value = await extend_session(work, opened.session, session_id, desk.draw_randomness(), now)
    return desk.redirect(desk.frame_opened(visit, opened), "/claim", cookie=value)


@takes_form
async def end(desk: Desk, visit: Visit, opened: OpenedClaim, _form: Form) -> Answer:
    async with desk.resources.database.transaction() as tx:
        work = desk.work(tx, opened.merchant, opened.session.session_id)
        await end_session(work, opened.session, desk.now())
    return desk.redirect(desk.frame_opened(visit, opened), "/claim/ended", cookie="")


async def show_ended(desk: Desk, visit: Visit) -> Answer:
    return answer_page(desk.pages.render("ended.html", desk.frame(visit), reason="ENDED"))


async def go_back(desk: Desk, visit: Visit) -> Answer:
    """An address that only takes forms, opened by hand or by choosing a language there."""
    return desk.redirect(desk.frame(visit), "/claim")


async def show_notices(desk: Desk, visit: Visit) -> Answer:
    """Legal notice, privacy and accessibility, in a session or outside of one."""
    opened = await desk.find_opened(visit)
    is_live = opened is not None and desk.is_live(opened)
    frame = desk.frame_opened(visit, opened) if opened and is_live else desk.frame(visit)
    return answer_page(desk.pages.render("notices.html", frame))
