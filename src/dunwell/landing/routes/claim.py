"""The claim page, and staying on or leaving."""

from datetime import datetime
from typing import Any

from dunwell.claims.holds import HoldKind
from dunwell.disputes.case_number import render_case_number
from dunwell.landing.answer import Answer, answer_page
from dunwell.landing.desk import Desk
from dunwell.landing.disputing import can_dispute, find_undisputed_cents
from dunwell.landing.end_session import end_session
from dunwell.landing.in_session import in_session, takes_form
from dunwell.landing.lookup import OpenedClaim
from dunwell.landing.methods import has_method
from dunwell.landing.session import Level
from dunwell.landing.staying import find_stayed, has_opened, is_its_form, is_repeated, stay
from dunwell.landing.view import (
    decide_state,
    find_announced,
    find_day,
    find_hold,
    find_next_rate,
    is_awaited,
    list_topics,
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
    due_on = facts.due_on
    allocated_cents = sum(item.allocated_cents for item in facts.items)
    topics = list_topics(facts, opened.modality, now)
    return {
        "facts": facts,
        "timezone": timezone,
        "state": decide_state(facts, now),
        "shows_all": opened.session.level.reaches(Level.FACT),
        "initials": render_initials(facts),
        "due_on": due_on,
        "is_due": due_on is not None and due_on < find_day(now, timezone),
        "topics": topics,
        **(_describe_topics(opened, now) if topics else {}),
        "rate_cents": _find_rate_cents(opened),
        "modality": opened.modality,
        "can_pay": has_method(desk.providers, merchant),
        "can_dispute": can_dispute(facts),
        "features": merchant.configuration.landing_page.features,
        "currency": facts.currency,
        "outstanding_cents": facts.total_cents - allocated_cents,
        "overpaid_cents": facts.paid_cents - allocated_cents,
        "receipts": [payment for payment in facts.payments if payment.request_id],
    }


def _describe_topics(opened: OpenedClaim, now: datetime) -> dict[str, Any]:
    """What the notices say of payments under way, plans, disputes and pauses."""
    facts, configuration = opened.facts, opened.merchant.configuration
    return {
        "is_awaited": is_awaited(facts),
        "sent_on": find_announced(facts, now),
        "next_rate": find_next_rate(opened.modality),
        "disputes": [
            (dispute, render_case_number(dispute.dispute_id),
             find_undisputed_cents(dispute, facts, configuration))
            for dispute in facts.disputes
        ],
        "dispute_hold": find_hold(facts, HoldKind.DISPUTE, now),
        "pause": find_hold(facts, HoldKind.PAUSE, now),
    }  # fmt: skip


def _find_rate_cents(opened: OpenedClaim) -> int | None:
    """What is left of a plan's next rate, unless it is all that is owed."""
    rate = find_next_rate(opened.modality)
    if rate is None or not opened.session.level.reaches(Level.FACT):
        return None
    return rate.left_cents if rate.left_cents < opened.facts.outstanding_cents else None


async def extend(desk: Desk, visit: Visit) -> Answer:
    """Another hour; a second click lands on the same page."""
    form, opened = await visit.read_form(), await desk.find_opened(visit)
    if opened is None:
        return desk.answer_ended(visit, None)
    frame = desk.frame_opened(visit, opened)
    if desk.is_live(opened):
        if is_repeated(desk, opened, form):
            return desk.redirect(frame, "/claim")
        if not has_opened(desk, opened, form):
            desk.check_token(opened.session, form)
        return desk.redirect(frame, "/claim", cookie=await stay(desk, opened))
    value = await find_stayed(desk, opened) if is_its_form(desk, opened, form) else None
    if value is None:
        return desk.answer_ended(visit, opened)
    return desk.redirect(frame, "/claim", cookie=value)


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
