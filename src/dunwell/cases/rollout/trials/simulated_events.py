"""Simulate one claim through a workflow with the engine's own rules, with the reasons for each
date. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Literal

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.contact.escalation.calendars import Calendar
from dunwell.contact.escalation.forecast.forecast import ClaimForecast, ForecastStep
from dunwell.contact.escalation.forecast.person_guard import PersonGuard, build_quiet_hours
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.contact.escalation.schedule import (
    FeeAdded,
    StepFacts,
    WaitBegun,
    WorkflowPosition,
    compute_start_of_wait,
)
from dunwell.contact.messages.guards.guards import ContactDays, HoldReason
from dunwell.contact.messages.templates.facts import MessageClaim, MessageItem
from dunwell.core.workflows.definition import ContactStep, WaitStep

# HOLIDAY, NO_WEEKDAY: the day is skipped. BEFORE_HOURS, AFTER_HOURS: the day's contact hours have
# not started or are over. LETTER_ON_ITS_WAY: a wait starts on the day when a letter can have
# arrived. The others are delays by guards.
DayReasonCode = Literal[
    "HOLIDAY", "NO_WEEKDAY", "BEFORE_HOURS", "AFTER_HOURS",
    "QUIET_HOURS", "GUARD_DAY", "GUARD_WEEK", "CONTACT_HOURS", "LETTER_ON_ITS_WAY",
    # Never forecast: it is known only just before a contact is sent.
    "PERSON_DIED",
]  # fmt: skip
_ONE_DAY = timedelta(days=1)
# How many days a list of skipped days covers. A weekly guard skips fewer, and a longer list would
# explain nothing.
_MAX_DAYS = 31


@dataclass(frozen=True, slots=True)
class DayReason:
    """Why an event was moved. `day` is the day that the reason is about."""

    code: DayReasonCode
    day: date


def explain_delay(calendar: Calendar, due_at: datetime, at: datetime) -> Iterator[DayReason]:
    """Yield the calendar's reasons why a contact that was due at `due_at` is made at `at`. The
    reasons of guards are added separately."""
    if calendar.next_opening(due_at) == due_at:
        return
    day, last = calendar.local_date(due_at), calendar.local_date(at)
    if calendar.is_business_day(day):
        yield DayReason("BEFORE_HOURS" if day == last else "AFTER_HOURS", day)
        day += _ONE_DAY
    yield from _list_skipped_days(calendar, day, last)


def explain_wait(calendar: Calendar, step: WaitStep, since: datetime) -> Iterator[DayReason]:
    """Yield the holidays that a wait of business days does not count. Regular days off are not
    listed."""
    if step.business_days is None:
        return
    end = calendar.local_date(calendar.end_of_wait(step, since))
    day = calendar.local_date(since) + _ONE_DAY
    for reason in _list_skipped_days(calendar, day, end):
        if reason.code == "HOLIDAY":
            yield reason


def explain_guard(held_by: HoldReason, day: date) -> DayReason:
    return DayReason(held_by.value, day)


def _list_skipped_days(calendar: Calendar, day: date, last: date) -> Iterator[DayReason]:
    """Yield the days before `last` on which the debtor is not contacted, each with its reason."""
    for _ in range(_MAX_DAYS):
        if day >= last:
            return
        if day.weekday() not in calendar.weekdays:
            yield DayReason("NO_WEEKDAY", day)
        elif day in calendar.holidays:
            yield DayReason("HOLIDAY", day)
        day += _ONE_DAY


# A workflow that has not ended by then is shown up to this point.
_MAX_DURATION = timedelta(days=3_650)
# The identity of a sample claim's person, which matches no debtor.
_SAMPLE_IDENTITIES = (b"nobody",)


@dataclass(frozen=True, slots=True)
class SimulatedClaim:
    """The claim as it starts, and its person. `contacted_on` has the days on which the identities
    were contacted before."""

    claim: MessageClaim
    facts: StepFacts
    identities: tuple[bytes, ...] = _SAMPLE_IDENTITIES
    contacted_on: Mapping[bytes, ContactDays] | None = None


@dataclass(frozen=True, slots=True)
class SimulatedEvent:
    """An event of the simulation. `claim` is the claim after the event, including a fee that it
    adds. `letter_sent_at` is when the last letter before the event was handed over."""

    foreseen: ForecastStep
    reasons: Sequence[DayReason]
    claim: MessageClaim
    letter_sent_at: datetime | None

    @property
    def at(self) -> datetime:
        return self.foreseen.at


def simulate_events(
    workflow: PreparedWorkflow,
    configuration: Configuration,
    simulated: SimulatedClaim,
    start: datetime,
) -> Iterator[SimulatedEvent]:
    """Yield the events from `start` until the claim is archived, if nothing is paid and each
    contact is accepted at once."""
    guard_reasons: list[DayReason] = []

    def record_hold(day: date, held_by: HoldReason) -> None:
        guard_reasons.append(explain_guard(held_by, day))

    contacted_on = simulated.contacted_on or {}
    guard = PersonGuard(
        guards=configuration.guards, quiet=build_quiet_hours(configuration),
        identities=simulated.identities,
        days={each: list(contacted_on.get(each, ())) for each in simulated.identities},
        on_hold=record_hold,
    )  # fmt: skip
    facts = replace(simulated.facts, has_reached=False, letter_sent_at=None)
    claim_forecast = ClaimForecast(
        workflow, WorkflowPosition(workflow.id_at(0), start), facts=facts, now=start, guard=guard
    )
    claim, due_at = simulated.claim, start
    while (at := claim_forecast.next_at) is not None and at <= start + _MAX_DURATION:
        for foreseen in claim_forecast.advance():
            claim = _add_fee(claim, foreseen, workflow.calendar.local_date(at))
            calendar_reasons = _explain(workflow, foreseen, facts=facts, due_at=due_at)
            reasons = [*calendar_reasons, *guard_reasons]
            yield SimulatedEvent(foreseen, reasons, claim, facts.letter_sent_at)
            guard_reasons.clear()
            if foreseen.channel == "LETTER":
                facts = replace(facts, letter_sent_at=at)
            outcome = foreseen.outcome
            due_at = outcome.until if isinstance(outcome, WaitBegun) else at


def _explain(
    workflow: PreparedWorkflow, foreseen: ForecastStep, facts: StepFacts, due_at: datetime
) -> Iterator[DayReason]:
    step, outcome = foreseen.step, foreseen.outcome
    if isinstance(outcome, WaitBegun):
        since = compute_start_of_wait(workflow, facts, due_at)
        if since > due_at:
            yield DayReason("LETTER_ON_ITS_WAY", workflow.calendar.local_date(since))
        yield from explain_wait(workflow.calendar, outcome.step, since)
    elif isinstance(step, ContactStep) and step.send == "CONTACT_HOURS":
        yield from explain_delay(workflow.calendar, due_at, foreseen.at)


def _add_fee(claim: MessageClaim, foreseen: ForecastStep, day: date) -> MessageClaim:
    if not isinstance(foreseen.outcome, FeeAdded):
        return claim
    fee = foreseen.outcome.step
    cents = int(fee.value)
    return replace(
        claim,
        items=(*claim.items, MessageItem(fee.type, cents, item_date=day)),
        total_cents=claim.total_cents + cents,
        outstanding_cents=claim.outstanding_cents + cents,
        fees_cents=claim.fees_cents + cents,
    )
