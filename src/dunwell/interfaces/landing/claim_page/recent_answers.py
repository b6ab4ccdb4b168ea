"""The merchant's answers to disputes and requests, which the claim's page shows for thirty days,
and the offer that it makes instead of a refused plan."""

from contextlib import nullcontext
from datetime import date, datetime, timedelta
from uuid import UUID

import msgspec

from dunwell.cases.modalities.limits import ModalityFacts
from dunwell.cases.modalities.modality import Modality, ModalityEndReason, ModalityType
from dunwell.cases.modalities.offers import ModalityOffer, build_terms, find_nearest_offer
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import list_recent_modalities
from dunwell.core.claims.states import HoldKind
from dunwell.interfaces.landing.payment_plans.modality_requests import can_request
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import (
    PageState,
    decide_state,
    find_hold,
)
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_NEWS_PERIOD = timedelta(days=30)


class DisputeNews(msgspec.Struct, frozen=True, gc=False):
    """The answer to the latest dispute. `resolution` is None if the merchant wrote nothing or the
    session may not see it."""

    dispute_id: UUID
    is_accepted: bool
    answered_on: date
    resolution: str | None


class EndedPlan(msgspec.Struct, frozen=True, gc=False):
    """A plan that ended because an instalment was not paid within its grace period."""

    modality_id: UUID
    ended_on: date
    # The due date of the unpaid instalment.
    due_on: date
    left_cents: int
    # The end of the hold that follows. None if it has no known end or is over.
    held_until: datetime | None


class ModalityRefusal(msgspec.Struct, frozen=True, gc=False):
    """A payment plan or a deferral that the debtor requested and the merchant refused."""

    modality_id: UUID
    is_plan: bool
    answered_on: date
    # The merchant's reason, or None if it gave none or the session may not see it.
    reason: str | None


def find_dispute_news(opened: OpenedClaim, now: datetime) -> DisputeNews | None:
    """Find the answer if it is at most thirty days old. `now` is the merchant's time."""
    answer, timezone = opened.facts.answer, opened.merchant.configuration.timezone
    if answer is None or now >= answer.answered_at + _NEWS_PERIOD:
        return None
    shows_details = opened.session.level.reaches(Level.FACT)
    return DisputeNews(
        answer.dispute_id,
        answer.is_accepted,
        local_date(answer.answered_at, timezone),
        answer.resolution if shows_details else None,
    )


def find_ended_plan(opened: OpenedClaim, state: PageState, now: datetime) -> EndedPlan | None:
    """Find the plan that ended unpaid, unless there is another agreement or request, or nothing is
    left to pay. `now` is the merchant's time."""
    plan, timezone = opened.unsuccessful_modality, opened.merchant.configuration.timezone
    if plan is None or plan.ended_at is None or plan.ended_reason is not ModalityEndReason.BROKEN:
        return None
    hold = find_hold(opened.facts, HoldKind.MODALITY_ACTIVE, now)
    if hold is None and now >= plan.ended_at + _NEWS_PERIOD:
        return None
    missed = next((each for each in plan.schedule if not each.is_paid), None)
    if missed is None or opened.modality or state in (PageState.PAID, PageState.CLOSED):
        return None
    return EndedPlan(
        modality_id=plan.modality_id,
        ended_on=local_date(plan.ended_at, timezone),
        due_on=missed.due_on,
        left_cents=missed.left_cents,
        held_until=hold.until if hold else None,
    )


def find_modality_refusal(
    opened: OpenedClaim, state: PageState, now: datetime
) -> ModalityRefusal | None:
    """Find the refused request, unless there is another agreement or request, or nothing is left to
    pay. `now` is the merchant's time."""
    refused, timezone = opened.unsuccessful_modality, opened.merchant.configuration.timezone
    if refused is None or refused.ended_reason is not ModalityEndReason.REJECTED or opened.modality:
        return None
    if not is_recent_refusal(refused, now) or state in (PageState.PAID, PageState.CLOSED):
        return None
    assert refused.answered_at is not None, "a refused request has an answer time"
    shows_details = opened.session.level.reaches(Level.FACT)
    return ModalityRefusal(
        modality_id=refused.modality_id,
        is_plan=refused.type is ModalityType.PAYMENT_PLAN,
        answered_on=local_date(refused.answered_at, timezone),
        reason=refused.reason if shows_details else None,
    )


def is_recent_refusal(modality: Modality, now: datetime) -> bool:
    answered_at = modality.answered_at
    if modality.ended_reason is not ModalityEndReason.REJECTED or answered_at is None:
        return False
    return now < answered_at + _NEWS_PERIOD


# How many recent modalities are loaded. A debtor can make three requests in thirty days; all others
# were recorded by the merchant and do not affect what the debtor can request.
_MAX_EARLIER_MODALITIES = 50


async def find_alternative(
    resources: Resources, opened: OpenedClaim, now: datetime, tx: Connection | None = None
) -> ModalityOffer | None:
    """Find the offer nearest to the refused requests, if the page shows a refusal and the debtor
    may request again.

    At most one SQL statement is executed, and none if the page shows no refusal. `now` is the
    merchant's time. `tx` is the caller's connection if it has one open, because a task must not
    hold one connection while it waits for another.
    """
    facts, merchant = opened.facts, opened.merchant
    is_shown = find_modality_refusal(opened, decide_state(facts, now), now) is not None
    if not is_shown or not opened.session.level.reaches(Level.FACT):
        return None
    async with resources.database.connection() if tx is None else nullcontext(tx) as connection:
        earlier = await list_recent_modalities(
            connection, merchant.merchant_id, facts.claim_id, limit=_MAX_EARLIER_MODALITIES
        )
    refused = [build_terms(each) for each in earlier if is_recent_refusal(each, now)]
    if not refused or not can_request(earlier, now):
        return None
    return find_nearest_offer(
        refused,
        merchant.configuration.modalities,
        ModalityFacts(facts.outstanding_cents, facts.max_deferral_on),
        local_date(now, merchant.configuration.timezone),
    )
