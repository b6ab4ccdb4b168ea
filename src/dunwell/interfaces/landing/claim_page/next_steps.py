"""What the page of a claim says will happen next, and when."""

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from datetime import date, datetime, timedelta
from enum import StrEnum

import msgspec

from dunwell.accounts.merchants.answer_days import compute_answer_day
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.progress import GRACE, compute_response_day, local_date
from dunwell.contact.escalation.forecast.debtor_forecast import ForecastRequest, forecast_for_debtor
from dunwell.contact.escalation.forecast.forecast import Announcement
from dunwell.contact.escalation.usable_channels import DebtorAddresses
from dunwell.contact.messages.identities import DebtorPerson
from dunwell.core.claims.states import ACTIVE, HoldKind
from dunwell.interfaces.landing.session.facts import PageClaim
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.states import (
    PageState,
    Topic,
    decide_state,
    find_next_instalment,
    is_provider_awaited,
    list_active_holds,
    list_topics,
)
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources

# Subtracted from the end of a hold, so that the last day of a hold until midnight is the day
# before.
_INSTANT = timedelta(microseconds=1)


class NextKind(StrEnum):
    """Which sentence on the next step the page shows."""

    PAID = "PAID"
    CLOSED = "CLOSED"
    # The merchant answers a dispute.
    ANSWER = "ANSWER"
    # The merchant answers the request of a plan or a deferral.
    REQUEST = "REQUEST"
    # There is a plan or a deferral whose terms the session may not see.
    AGREED = "AGREED"
    PLAN = "PLAN"
    PLAN_ENDED = "PLAN_ENDED"
    # Nothing happens for now, and no end is known.
    STILL = "STILL"
    # The collection takes its course: the page shows the forecast of contacts.
    COURSE = "COURSE"


_REQUESTED = {Topic.PLAN_REQUESTED, Topic.DEFERMENT_REQUESTED}
_AGREED = {Topic.PLAN_ACTIVE, Topic.DEFERRED}


class NextSteps(msgspec.Struct, frozen=True, gc=False):
    kind: NextKind
    # Set for COURSE: the last day on which nothing happens, if the claim is on hold, and the
    # contacts that follow.
    last_day_on_hold: date | None = None
    announced: Sequence[Announcement] = ()
    # Set for ANSWER and REQUEST: the last day on which the merchant answers, and whether that day
    # has passed.
    answer_on: date | None = None
    is_late: bool = False
    # Set for PLAN: the first instalment that is not fully paid, whether its due date has passed,
    # and the last day of its grace period.
    instalment: Instalment | None = None
    is_missed: bool = False
    grace_ends_on: date | None = None
    # Set for COURSE: the present day in the merchant's time zone.
    today: date | None = None


def decide_next_kind(opened: OpenedClaim, now: datetime) -> NextKind:
    """Decide what the page says. `now` is the merchant's time. Only COURSE has a forecast."""
    facts, modality = opened.facts, opened.modality
    state = decide_state(facts, now)
    if state in (PageState.PAID, PageState.CLOSED):
        return NextKind(state)
    topics = set(list_topics(facts, state, modality, now))
    if Topic.DISPUTED in topics:
        return NextKind.ANSWER
    if topics & _REQUESTED:
        return NextKind.REQUEST
    if topics & _AGREED and not opened.session.level.reaches(Level.FACT):
        return NextKind.AGREED
    if Topic.PLAN_ACTIVE in topics and find_next_instalment(modality) is not None:
        return NextKind.PLAN
    return _decide_course(facts, topics, now)


def _decide_course(facts: PageClaim, topics: Collection[Topic], now: datetime) -> NextKind:
    """Decide the kind for a claim without an agreement and without an open dispute or request."""
    endless = {hold.kind for hold in list_active_holds(facts, now) if hold.until is None}
    if Topic.PLAN_ENDED in topics and endless == {HoldKind.MODALITY_ACTIVE}:
        return NextKind.PLAN_ENDED
    return NextKind.STILL if endless or is_provider_awaited(facts) else NextKind.COURSE


def is_foreseeable(opened: OpenedClaim, now: datetime) -> bool:
    is_running = opened.facts.status in ACTIVE and opened.facts.workflow_key is not None
    return is_running and decide_next_kind(opened, now) is NextKind.COURSE


def find_held_until(opened: OpenedClaim, now: datetime) -> datetime | None:
    """Return when the last hold ends, or None if no hold has a known end."""
    ends = [hold.until for hold in list_active_holds(opened.facts, now) if hold.until]
    return max(ends, default=None)


def describe_next(
    opened: OpenedClaim, now: datetime, announced: Sequence[Announcement]
) -> NextSteps:
    """Describe what happens next. `announced` is the forecast of `load_forecast`."""
    kind, configuration = decide_next_kind(opened, now), opened.merchant.configuration
    zone = configuration.timezone
    today = local_date(now, zone)
    if kind is NextKind.ANSWER:
        days = configuration.disputes.answer_within_days
        opened_at = [each.opened_at for each in opened.facts.disputes]
        answer_on = max((compute_answer_day(at, days, zone) for at in opened_at), default=None)
        is_late = answer_on is not None and answer_on < today
        return NextSteps(kind, answer_on=answer_on, is_late=is_late)
    if kind is NextKind.REQUEST:
        assert opened.modality is not None, "REQUEST has a modality"
        answer_on = compute_response_day(
            opened.modality, configuration.modalities.answer_within_days, zone
        )
        return NextSteps(kind, answer_on=answer_on, is_late=answer_on < today)
    if kind is NextKind.PLAN:
        instalment = find_next_instalment(opened.modality)
        assert instalment is not None
        return NextSteps(
            kind,
            instalment=instalment,
            is_missed=instalment.due_on < today,
            grace_ends_on=instalment.due_on + GRACE,
        )
    if kind is NextKind.COURSE:
        held_until = find_held_until(opened, now)
        last_day = local_date(held_until - _INSTANT, zone) if held_until else None
        return NextSteps(kind, last_day, announced, today=today)
    return NextSteps(kind)


async def load_forecast(
    resources: Resources, opened: OpenedClaim, now: datetime, tx: Connection | None = None
) -> Sequence[Announcement]:
    """Forecast the claim's contacts with one SQL statement, or return () if nothing can be
    forecast. `now` is the merchant's time. `tx` is the caller's connection if it has one open,
    because a task must not hold one connection while it waits for another."""
    facts = opened.facts
    if facts.workflow_key is None or not is_foreseeable(opened, now):
        return ()
    known = facts.on_file
    address = None if known.postal_address is None else dict(known.postal_address)
    claim = ForecastRequest(
        person=DebtorPerson(
            facts.claim_id, known.email, known.mobile_number, known.customer_number
        ),
        addresses=DebtorAddresses(known.email, known.mobile_number, address),
        workflow_key=facts.workflow_key,
        is_held=bool(list_active_holds(facts, now)),
        held_until=find_held_until(opened, now),
    )
    async with resources.database.connection() if tx is None else nullcontext(tx) as connection:
        return await forecast_for_debtor(
            connection, resources.keys, merchant=opened.merchant, claim=claim, now=now
        )
