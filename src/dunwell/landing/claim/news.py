"""What stands first on a claim's page for a month: how an objection was answered, that a payment
plan has ended."""

from datetime import date, datetime, timedelta
from uuid import UUID

import msgspec

from dunwell.claims.holds import HoldKind
from dunwell.landing.session.session import Level
from dunwell.landing.session.states import PageState, find_day, find_hold
from dunwell.landing.session.store_opened import OpenedClaim

_NEWS = timedelta(days=30)


class Answer(msgspec.Struct, frozen=True, gc=False):
    """To the latest objection. resolution: the creditor's words, if the session may see them."""

    dispute_id: UUID
    is_accepted: bool
    answered_on: date
    resolution: str | None


class EndedPlan(msgspec.Struct, frozen=True, gc=False):
    """A plan that ended because an instalment was not paid in its grace."""

    modality_id: UUID
    ended_on: date
    # Of the instalment.
    due_on: date
    left_cents: int
    # Until when nothing is done; none: not known yet, or it is over.
    rests_until: datetime | None


def find_answer(opened: OpenedClaim, now: datetime) -> Answer | None:
    """now: the merchant's, as below."""
    answer, timezone = opened.facts.answer, opened.merchant.configuration.timezone
    if answer is None or now >= answer.answered_at + _NEWS:
        return None
    shows_all = opened.session.level.reaches(Level.FACT)
    return Answer(
        answer.dispute_id,
        answer.is_accepted,
        find_day(answer.answered_at, timezone),
        answer.resolution if shows_all else None,
    )


def find_ended_plan(opened: OpenedClaim, state: PageState, now: datetime) -> EndedPlan | None:
    """Unless something else was agreed or asked for since, or nothing is left to pay."""
    plan, timezone = opened.broken, opened.merchant.configuration.timezone
    if plan is None or plan.ended_at is None:
        return None
    hold = find_hold(opened.facts, HoldKind.MODALITY_ACTIVE, now)
    if hold is None and now >= plan.ended_at + _NEWS:
        return None
    missed = next((each for each in plan.schedule if not each.is_paid), None)
    if missed is None or opened.modality or state in (PageState.PAID, PageState.CLOSED):
        return None
    return EndedPlan(
        modality_id=plan.modality_id,
        ended_on=find_day(plan.ended_at, timezone),
        due_on=missed.due_on,
        left_cents=missed.left_cents,
        rests_until=hold.until if hold else None,
    )
