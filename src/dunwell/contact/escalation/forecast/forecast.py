"""Forecast what a workflow does with a claim if nothing is paid and each contact is accepted at
once, and select what the debtor is shown: next contacts, fees, the end, and the pay-by date. Pure.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.calendars import Calendar
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.contact.escalation.schedule import (
    NOTHING_TRIED,
    Archived,
    ContactPlanned,
    FeeAdded,
    StepFacts,
    StepOutcome,
    WorkflowPosition,
    add_fee,
    compute_opening,
    decide_steps,
)
from dunwell.core.workflows.definition import Step
from dunwell.platform.banking_days import compute_last_transfer_day

# Called before each contact. Returns the first instant from the given one on at which the contact
# may be made. If that is the given instant, the contact is made and counted.
Guard = Callable[[datetime, Channel], datetime]


@dataclass(frozen=True, slots=True)
class ForecastStep:
    at: datetime
    # None for the archiving after the last step.
    step: Step | None
    # Set only for contacts.
    channel: Channel | None
    outcome: StepOutcome


@dataclass(frozen=True, slots=True)
class PendingContact:
    """The position of a claim that waits for a contact, which is made at `not_before` at the
    earliest."""

    planned: ContactPlanned
    not_before: datetime
    # The claim's position: the contact's step, or a later step if the claim stopped there.
    next_step_id: int | None


class ClaimForecast:
    """The forecast of one claim, advanced from instant to instant, so that several claims can be
    simulated side by side."""

    __slots__ = ("_facts", "_guard", "_has_conditions", "_now", "_position", "_workflow")

    def __init__(
        self, workflow: PreparedWorkflow, position: WorkflowPosition | PendingContact,
        facts: StepFacts,
        now: datetime,
        guard: Guard | None = None,
    ) -> None:  # fmt: skip
        self._workflow = workflow
        self._position = position
        self._facts = facts
        self._now = now
        self._guard = guard
        # Dates and amounts affect conditions only. Updating them takes longer than the rest of the
        # forecast, so they are updated only if a step has a condition.
        self._has_conditions = any(step.when is not None for step in workflow.steps)

    @property
    def next_at(self) -> datetime | None:
        """Return the time of the next event, or None at the end."""
        position = self._position
        at = position.not_before if isinstance(position, PendingContact) else position.due_at
        return None if at is None else max(at, self._now)

    def advance(self) -> list[ForecastStep]:
        """Run the steps at `next_at`. The result is empty if a contact was only planned or
        delayed."""
        at = self.next_at
        if at is None:
            return []
        self._now = at
        if isinstance(self._position, PendingContact):
            return self._make_contact(self._position, at)
        return self._decide(self._position, at)

    def _decide(self, position: WorkflowPosition, at: datetime) -> list[ForecastStep]:
        facts = self._facts
        if self._has_conditions:
            facts = _set_day(facts, self._workflow.calendar.local_date(at))
        decision = decide_steps(self._workflow, position, facts, at)
        self._position = decision.position
        if self._has_conditions:
            facts = _add_fees(facts, decision.outcomes)
        self._facts = _leave_step(facts) if decision.outcomes else facts
        foreseen = []
        for outcome in decision.outcomes:
            if isinstance(outcome, ContactPlanned):
                self._position = PendingContact(outcome, at, decision.position.next_step_id)
            else:
                step = None if isinstance(outcome, Archived) else outcome.step
                foreseen.append(ForecastStep(at, step, None, outcome))
        return foreseen

    def _make_contact(self, pending: PendingContact, at: datetime) -> list[ForecastStep]:
        planned = pending.planned
        allowed = compute_opening(self._workflow, planned.step, at)
        if allowed == at and self._guard is not None:
            allowed = self._guard(at, planned.channel)
        if allowed > at:
            self._position = PendingContact(planned, allowed, pending.next_step_id)
            return []
        self._position = WorkflowPosition(_find_following(self._workflow, pending), at)
        self._facts = _leave_step(self._facts, has_reached=True)
        if planned.channel == "LETTER":
            self._facts = replace(self._facts, letter_sent_at=at)
        return [ForecastStep(at, planned.step, planned.channel, planned)]


def forecast(
    workflow: PreparedWorkflow, position: WorkflowPosition | PendingContact, facts: StepFacts,
    now: datetime,
    *,
    until: datetime, guard: Guard | None = None,
) -> Iterator[ForecastStep]:  # fmt: skip
    """Yield the steps from `now` to `until`, both inclusive, in order.

    `position` is a `PendingContact` if the claim waits for a contact. A position without `due_at`
    yields nothing.
    """
    claim_forecast = ClaimForecast(workflow, position, facts=facts, now=now, guard=guard)
    while (at := claim_forecast.next_at) is not None and at <= until:
        yield from claim_forecast.advance()


def _find_following(workflow: PreparedWorkflow, pending: PendingContact) -> int | None:
    """Return the step after the contact's step, or the claim's own position if it was stopped at a
    later step."""
    if pending.next_step_id != pending.planned.step.id:
        return pending.next_step_id
    return workflow.id_at(workflow.index_of(pending.next_step_id) + 1)


def _set_day(facts: StepFacts, today: date) -> StepFacts:
    if facts.condition.today == today:
        return facts
    return replace(facts, condition=replace(facts.condition, today=today))


def _add_fees(facts: StepFacts, outcomes: tuple[StepOutcome, ...]) -> StepFacts:
    """Add the fees to the amounts of the claim."""
    for fee in (each.step for each in outcomes if isinstance(each, FeeAdded)):
        facts = add_fee(facts, fee)
    return facts


def _leave_step(facts: StepFacts, *, has_reached: bool = False) -> StepFacts:
    """Clear the tried channels, because they belong to the step that the claim leaves.

    `has_reached` is true if the step has contacted the debtor.
    """
    has_reached = has_reached or facts.has_reached
    if facts.tried is NOTHING_TRIED and facts.has_reached == has_reached:
        return facts
    return replace(facts, has_reached=has_reached, tried=NOTHING_TRIED)


_MAX_CONTACTS = 3
# With fewer days between a message and its pay-by date, no date is named, because the debtor could
# not act in time.
MIN_NOTICE = timedelta(days=5)


class AnnouncementKind(StrEnum):
    CONTACT = "CONTACT"
    FEE = "FEE"
    # The claim is archived.
    END = "END"


class Announcement(msgspec.Struct, frozen=True, gc=False):
    kind: AnnouncementKind
    on: date
    # Set only for fees.
    cents: int = 0


def list_announcements(foreseen: Iterable[ForecastStep], calendar: Calendar) -> list[Announcement]:
    """List what the debtor is shown, in order: every fee, the end, and the next few contacts, at
    most one per day."""
    announced: list[Announcement] = []
    contacts: set[date] = set()
    for each in foreseen:
        day = calendar.local_date(each.at)
        if isinstance(each.outcome, FeeAdded):
            announced.append(Announcement(AnnouncementKind.FEE, day, int(each.outcome.step.value)))
        elif isinstance(each.outcome, Archived):
            announced.append(Announcement(AnnouncementKind.END, day))
        elif _is_contact(each) and day not in contacts and len(contacts) < _MAX_CONTACTS:
            contacts.add(day)
            announced.append(Announcement(AnnouncementKind.CONTACT, day))
    return announced


def find_pay_by(
    foreseen: Iterable[ForecastStep], calendar: Calendar, arrives_on: date
) -> date | None:
    """Return the pay-by date of a message, or None if nothing is forecast or the date is too near.
    `foreseen` has the steps after the message. `arrives_on` is the day of the message, or the day
    on which a letter can have arrived."""
    for each in foreseen:
        if _is_contact(each) or isinstance(each.outcome, FeeAdded | Archived):
            pay_by = compute_last_transfer_day(before=calendar.local_date(each.at))
            return pay_by if pay_by >= arrives_on + MIN_NOTICE else None
    return None


def _is_contact(foreseen: ForecastStep) -> bool:
    return isinstance(foreseen.outcome, ContactPlanned)
