"""What a claim's page shows first for a month: answers to disputes and requests, and what can be
requested instead of a refused plan.
"""

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
    get_local_day,
)
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

_NEWS = timedelta(days=30)


class DisputeNews(msgspec.Struct, frozen=True, gc=False):
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


class ModalityRefusal(msgspec.Struct, frozen=True, gc=False):
    """A payment plan or a deferral that was asked for and refused."""

    modality_id: UUID
    is_plan: bool
    answered_on: date
    # The creditor's words, if it gave any and the session may see them.
    reason: str | None


def find_dispute_news(opened: OpenedClaim, now: datetime) -> DisputeNews | None:
    """now: the merchant's, as below."""
    answer, timezone = opened.facts.answer, opened.merchant.configuration.timezone
    if answer is None or now >= answer.answered_at + _NEWS:
        return None
    shows_all = opened.session.level.reaches(Level.FACT)
    return DisputeNews(
        answer.dispute_id,
        answer.is_accepted,
        get_local_day(answer.answered_at, timezone),
        answer.resolution if shows_all else None,
    )


def find_ended_plan(opened: OpenedClaim, state: PageState, now: datetime) -> EndedPlan | None:
    """Unless something else was agreed or asked for since, or nothing is left to pay."""
    plan, timezone = opened.unsuccessful, opened.merchant.configuration.timezone
    if plan is None or plan.ended_at is None or plan.ended_reason is not ModalityEndReason.BROKEN:
        return None
    hold = find_hold(opened.facts, HoldKind.MODALITY_ACTIVE, now)
    if hold is None and now >= plan.ended_at + _NEWS:
        return None
    missed = next((each for each in plan.schedule if not each.is_paid), None)
    if missed is None or opened.modality or state in (PageState.PAID, PageState.CLOSED):
        return None
    return EndedPlan(
        modality_id=plan.modality_id,
        ended_on=get_local_day(plan.ended_at, timezone),
        due_on=missed.due_on,
        left_cents=missed.left_cents,
        rests_until=hold.until if hold else None,
    )


def find_modality_refusal(
    opened: OpenedClaim, state: PageState, now: datetime
) -> ModalityRefusal | None:
    """Unless something else was asked for since, or nothing is left to pay."""
    refused, timezone = opened.unsuccessful, opened.merchant.configuration.timezone
    if refused is None or refused.ended_reason is not ModalityEndReason.REJECTED or opened.modality:
        return None
    if not is_recent_refusal(refused, now) or state in (PageState.PAID, PageState.CLOSED):
        return None
    assert refused.answered_at is not None, "a refusal has its time"
    shows_all = opened.session.level.reaches(Level.FACT)
    return ModalityRefusal(
        modality_id=refused.modality_id,
        is_plan=refused.type is ModalityType.PAYMENT_PLAN,
        answered_on=get_local_day(refused.answered_at, timezone),
        reason=refused.reason if shows_all else None,
    )


def is_recent_refusal(modality: Modality, now: datetime) -> bool:
    answered_at = modality.answered_at
    is_refused = modality.ended_reason is ModalityEndReason.REJECTED and answered_at is not None
    return is_refused and answered_at is not None and now < answered_at + _NEWS


# A debtor can ask three times in the thirty days that count; the others are what the merchant
# itself has recorded. More than one page of them says nothing about what can be asked for.
_EARLIER = 50


async def find_alternative(
    resources: Resources, opened: OpenedClaim, now: datetime, tx: Connection | None = None
) -> ModalityOffer | None:
    """Return the nearest offer where the page shows a refusal and the debtor may ask again.

    One statement, or none where the page shows no refusal. now: the merchant's. tx: the caller's
    connection, if it has one open: a caller never holds one while it waits for another.
    """
    facts, merchant = opened.facts, opened.merchant
    is_shown = find_modality_refusal(opened, decide_state(facts, now), now) is not None
    if not is_shown or not opened.session.level.reaches(Level.FACT):
        return None
    async with resources.database.connection() if tx is None else nullcontext(tx) as connection:
        earlier = await list_recent_modalities(
            connection, merchant.merchant_id, facts.claim_id, limit=_EARLIER
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
