"""Decide what a claim's workflow does next, and when.

A claim is positioned before a step that is due at an instant. `decide_steps` runs all steps that
are due, one after the other, until it reaches a step in the future, a contact (which ends when a
channel has accepted it) or the end. All facts and the current time are arguments; outcomes are
returned as values.

    kind           runs                               ends
    COMMUNICATION  during the contact hours; with     when a channel has accepted the
                   `send: IMMEDIATE` at any hour      message, or all channels have failed
    WAIT           at any hour                        after the given number of days, at the
                                                      same local time; the days count from the
                                                      end of the previous step, or from the
                                                      day on which the run's last letter can
                                                      have arrived
    FEE            at any hour; skipped if no         at once
                   contact of the run has reached
                   the debtor, unless
                   `feesNeedContact` is false
    CHECKPOINT     at any hour                        at once
    (after last)   at any hour                        the claim is archived at once

Pure.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.calendars import build_calendar
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.core.claims.conditions import ConditionFacts, list_unmet
from dunwell.core.workflows.definition import (
    CheckpointStep,
    ContactStep,
    Definition,
    FeeStep,
    Step,
    WaitStep,
)


class SkipReason(StrEnum):
    # The step's own condition (`when`) is not met; this has nothing to do with contact guards.
    GUARD_UNMET = "GUARD_UNMET"
    # A fee, but no contact of the run has reached the debtor.
    NOBODY_REACHED = "NOBODY_REACHED"
    # A contact that is later than the workflow's late policy allows.
    TOO_LATE = "TOO_LATE"


@dataclass(frozen=True, slots=True)
class WorkflowPosition:
    """The claim's position. `due_at` is None while a contact is in progress and after the end."""

    next_step_id: int | None
    due_at: datetime | None


@dataclass(frozen=True, slots=True)
class TriedChannels:
    """The channels that a step has tried so far, and the next free place in its list of
    channels."""

    channels: frozenset[Channel] = frozenset()
    next_place: int = 0


NOTHING_TRIED = TriedChannels()


@dataclass(frozen=True, slots=True)
class StepFacts:
    """The facts of the claim that steps depend on."""

    condition: ConditionFacts
    # True if this run has already reached the debtor.
    has_reached: bool
    # The channels by which the debtor can be contacted now.
    usable_channels: Collection[Channel]
    # The channels that the claim's current step has tried in this run.
    tried: TriedChannels = NOTHING_TRIED
    # When this run's last letter that has not failed was handed over.
    letter_sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    step: Step
    reason: SkipReason
    # The properties of the condition that were not met.
    unmet: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WaitBegun:
    step: WaitStep
    until: datetime


@dataclass(frozen=True, slots=True)
class FeeAdded:
    step: FeeStep


@dataclass(frozen=True, slots=True)
class CheckpointReached:
    step: CheckpointStep


@dataclass(frozen=True, slots=True)
class ContactPlanned:
    step: ContactStep
    # The channel's index in the step's list, from 0, or a later free number; see
    # `find_next_contact`.
    place: int
    channel: Channel


@dataclass(frozen=True, slots=True)
class NobodyReachable:
    step: ContactStep


@dataclass(frozen=True, slots=True)
class Archived:
    """All steps have run and the claim is not collected."""


StepOutcome = (
    Skipped | WaitBegun | FeeAdded | CheckpointReached | ContactPlanned | NobodyReachable | Archived
)


@dataclass(frozen=True, slots=True)
class StepDecision:
    outcomes: tuple[StepOutcome, ...]
    position: WorkflowPosition


def compute_first_due(
    definition: Definition,
    merchant_timezone: str,
    first_primary_due_on: date | None,
    now: datetime,
) -> datetime:
    """Return when a claim that is assigned now starts: at once, or on the due date of its first
    PRIMARY item."""
    if definition.settings.processing_start == "CREATION" or first_primary_due_on is None:
        return now
    calendar = build_calendar(definition.settings, merchant_timezone)
    if first_primary_due_on <= calendar.local_date(now):
        return now
    return calendar.start_of(first_primary_due_on)


def list_channels(step: ContactStep) -> list[Channel]:
    return [step.channel, *step.fallbacks]


def find_next_contact(
    step: ContactStep, usable: Collection[Channel], tried: TriedChannels = NOTHING_TRIED
) -> ContactPlanned | None:
    """Return the contact for the first usable channel of the step that was not tried yet.

    Its place is the channel's index in the list. If a new minor version has changed the list so
    that this place was used before, it is the next free place.
    """
    for place, channel in enumerate(list_channels(step)):
        if channel in usable and channel not in tried.channels:
            return ContactPlanned(step, max(place, tried.next_place), channel)
    return None


def decide_steps(
    workflow: PreparedWorkflow, position: WorkflowPosition, facts: StepFacts, now: datetime
) -> StepDecision:
    """Decide all steps that are due at `now`, in order. Return their outcomes and the claim's next
    position."""
    outcomes: list[StepOutcome] = []
    index, due_at = workflow.index_of(position.next_step_id), position.due_at
    while due_at is not None and due_at <= now:
        if index == len(workflow.steps):
            outcomes.append(Archived())
            due_at = None
            break
        step = workflow.steps[index]
        opening = compute_opening(workflow, step, now)
        if opening > now and not _is_too_late(workflow, step, due_at, now):
            due_at = opening
            break
        outcome = _run_step(workflow, step, due_at=due_at, facts=facts, now=now)
        outcomes.append(outcome)
        if isinstance(outcome, ContactPlanned):
            due_at = None
            break
        index += 1
        due_at = outcome.until if isinstance(outcome, WaitBegun) else now
        # The channels tried belong to the step that the claim has left.
        if facts.tried is not NOTHING_TRIED:
            facts = replace(facts, tried=NOTHING_TRIED)
        if isinstance(outcome, FeeAdded):
            facts = add_fee(facts, outcome.step)
    return StepDecision(tuple(outcomes), WorkflowPosition(workflow.id_at(index), due_at))


def add_fee(facts: StepFacts, fee: FeeStep) -> StepFacts:
    """Return the facts with the fee included, for the conditions of later steps."""
    before, cents = facts.condition, int(fee.value)
    after = replace(
        before,
        outstanding_cents=before.outstanding_cents + cents,
        total_cents=before.total_cents + cents,
        item_types=before.item_types | {fee.type},
    )
    return replace(facts, condition=after)


def compute_start_of_wait(
    workflow: PreparedWorkflow, facts: StepFacts, due_at: datetime
) -> datetime:
    """Return when a due WAIT starts to count: not before the letters of this run can have arrived.

    Steps between the letter and the WAIT (a checkpoint, a fee) make no difference.
    """
    if facts.letter_sent_at is None:
        return due_at
    return max(due_at, workflow.compute_letter_arrival(facts.letter_sent_at))


def compute_opening(workflow: PreparedWorkflow, step: Step, now: datetime) -> datetime:
    """Return when a due step may run: at the next opening of the contact hours for a contact that
    waits for them, otherwise now."""
    if isinstance(step, ContactStep) and step.send == "CONTACT_HOURS":
        return workflow.calendar.next_opening(now)
    return now


def _run_step(
    workflow: PreparedWorkflow, step: Step, due_at: datetime, facts: StepFacts, now: datetime
) -> StepOutcome:
    unmet = list_unmet(step.when, facts.condition)
    if unmet:
        return Skipped(step, SkipReason.GUARD_UNMET, tuple(unmet))
    if isinstance(step, WaitStep):
        since = compute_start_of_wait(workflow, facts, due_at)
        return WaitBegun(step, workflow.calendar.end_of_wait(step, since=since))
    if isinstance(step, FeeStep):
        if workflow.fees_need_contact and not facts.has_reached:
            return Skipped(step, SkipReason.NOBODY_REACHED)
        return FeeAdded(step)
    if isinstance(step, CheckpointStep):
        return CheckpointReached(step)
    return _plan_contact(workflow, step, due_at=due_at, facts=facts, now=now)


def _is_too_late(workflow: PreparedWorkflow, step: Step, due_at: datetime, now: datetime) -> bool:
    """Return whether a contact was delayed by an outage for longer than the late policy allows."""
    limit = workflow.skip_contacts_older_than
    return isinstance(step, ContactStep) and limit is not None and now - due_at > limit


def _plan_contact(
    workflow: PreparedWorkflow,
    step: ContactStep,
    due_at: datetime,
    facts: StepFacts,
    now: datetime,
) -> StepOutcome:
    if _is_too_late(workflow, step, due_at, now):
        return Skipped(step, SkipReason.TOO_LATE)
    return find_next_contact(step, facts.usable_channels, facts.tried) or NobodyReachable(step)
