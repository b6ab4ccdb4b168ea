"""Writes what a set of decisions changes: fees, places, history, planned contacts, events.

Four statements whatever the size of the set, all in the transaction that locked the claims.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.contact.escalation.due_claim import DueClaim
from dunwell.contact.escalation.due_claim_store import FeeIds, add_fees, save_decided
from dunwell.contact.escalation.schedule import (
    Archived,
    CheckpointReached,
    ContactPlanned,
    Decision,
    FeeAdded,
    NobodyReachable,
    Outcome,
    Skipped,
    WaitBegun,
)
from dunwell.core.claims.states import Happening, Status, decide_status
from dunwell.core.events.body import EventActionStep
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import (
    Event,
    EventHead,
    Fee,
    archived,
    checkpoint_reached,
    fee_added,
)
from dunwell.platform.ids import Ids

# The step id under which history keeps the archiving after the last step.
ARCHIVING = 0


@dataclass(frozen=True, slots=True)
class DecidedClaim:
    claim: DueClaim
    version_id: UUID
    decision: Decision
    # In the process's zone.
    today: date


async def record_decisions(work: Work, decided: Sequence[DecidedClaim]) -> None:
    """`work.real_now` is when deliveries of the events may begin; `work.now` rules all else."""
    fee_ids = await _add_fees(work, decided)
    events = {
        each.claim.claim_id: list(
            _compose_events(work.now, work.merchant_id, each=each, fee_ids=fee_ids, ids=work.ids)
        )
        for each in decided
    }
    await _write(work, decided, events)
    raised = [event for some in events.values() for event in some]
    await save_events(work.tx, work.merchant_id, raised, work.real_now)


async def _add_fees(work: Work, decided: Sequence[DecidedClaim]) -> FeeIds:
    rows = [row for each in decided for row in _fee_rows(each)]
    if not rows:
        return {}
    return await add_fees(work.tx, work.merchant_id, rows)


def _fee_rows(each: DecidedClaim) -> Iterator[tuple[object, ...]]:
    fees = [o.step for o in each.decision.outcomes if isinstance(o, FeeAdded)]
    for offset, step in enumerate(fees):
        position = each.claim.next_item_position + offset
        yield (
            each.claim.claim_id, position, step.name, step.type, int(step.value), each.today,
            each.claim.run, step.id,
        )  # fmt: skip


async def _write(
    work: Work, decided: Sequence[DecidedClaim], events: dict[int, list[Event]]
) -> None:
    places = [_place_row(each, len(events[each.claim.claim_id])) for each in decided]
    history = [row for each in decided for row in _history_rows(each)]
    contacts = [row for each in decided for row in _contact_rows(each, work)]
    await save_decided(
        work.tx, work.merchant_id, work.now, places=places, history=history, contacts=contacts
    )


def _place_row(each: DecidedClaim, new_events: int) -> tuple[object, ...]:
    claim, position = each.claim, each.decision.position
    return (
        claim.claim_id, _following_status(each), position.next_step_id, position.due_at,
        claim.event_sequence + new_events,
    )  # fmt: skip


def _following_status(each: DecidedClaim) -> Status:
    status, outcomes = each.claim.status, each.decision.outcomes
    if any(not isinstance(outcome, Archived) for outcome in outcomes):
        status = decide_status(status, Happening.STEP_RAN)
    if any(isinstance(outcome, Archived) for outcome in outcomes):
        status = decide_status(status, Happening.STEPS_ENDED)
    return status


def _history_rows(each: DecidedClaim) -> Iterator[tuple[object, ...]]:
    """A planned contact has no history yet: its step ends when a channel answered."""
    for outcome in each.decision.outcomes:
        if isinstance(outcome, ContactPlanned):
            continue
        step_id = ARCHIVING if isinstance(outcome, Archived) else outcome.step.id
        result, reason = _describe(outcome)
        yield (each.claim.claim_id, each.claim.run, step_id, each.version_id, result, reason)


def _describe(outcome: Outcome) -> tuple[str, str | None]:
    if isinstance(outcome, Skipped):
        return "SKIPPED", " ".join([outcome.reason, *outcome.unmet])
    if isinstance(outcome, NobodyReachable):
        return "FAILED", "NOBODY_REACHABLE"
    if isinstance(outcome, WaitBegun):
        return "DONE", f"UNTIL {outcome.until.isoformat()}"
    return "DONE", None


def _contact_rows(each: DecidedClaim, work: Work) -> Iterator[tuple[object, ...]]:
    for outcome in each.decision.outcomes:
        if isinstance(outcome, ContactPlanned):
            yield (
                work.ids.new(work.now), each.claim.claim_id, each.claim.run, outcome.step.id,
                outcome.place, outcome.channel,
            )  # fmt: skip


def _compose_events(
    now: datetime, merchant_id: int, each: DecidedClaim, fee_ids: FeeIds, ids: Ids
) -> Iterator[Event]:
    claim, sequence = each.claim, each.claim.event_sequence
    for outcome in each.decision.outcomes:
        if not isinstance(outcome, FeeAdded | CheckpointReached | Archived):
            continue
        sequence += 1
        head = EventHead(
            event_id=ids.new(now),
            merchant_id=merchant_id,
            claim_id=claim.claim_id,
            sequence=sequence,
            occurred_at=now,
            reference_number=claim.reference_number,
            customer_number=claim.customer_number,
        )
        yield _compose(head, outcome, claim, fee_ids)


def _compose(
    head: EventHead, outcome: FeeAdded | CheckpointReached | Archived, claim: DueClaim, fees: FeeIds
) -> Event:
    if isinstance(outcome, Archived):
        return archived(head)
    step = EventActionStep(outcome.step.id, outcome.step.name)
    if isinstance(outcome, CheckpointReached):
        return checkpoint_reached(head, step, outcome.step.offset, outcome.step.message)
    item_id = fees[claim.claim_id, step.id]
    fee = Fee(item_id, outcome.step.type, int(outcome.step.value), claim.currency)
    return fee_added(head, step, fee)
