"""Run due steps in sets of claims: load the facts, decide each claim with a pure function, and
write all outcomes in one statement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.contact.escalation.due_claim import DueClaim, compute_position
from dunwell.contact.escalation.prepared_workflow import get_prepared_workflow
from dunwell.contact.escalation.schedule import (
    Archived,
    CheckpointReached,
    ContactPlanned,
    FeeAdded,
    NobodyReachable,
    Skipped,
    StepDecision,
    StepOutcome,
    WaitBegun,
    decide_steps,
)
from dunwell.contact.escalation.store import (
    FeeIds,
    add_fees,
    list_due_claim_ids,
    list_merchants_with_due_claims,
    load_due_claims,
    postpone_claims,
    save_decisions,
)
from dunwell.core.claims.states import ClaimTransition, Status, decide_status
from dunwell.core.events.body import EventActionStep
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import (
    Event,
    EventFeeData,
    EventHead,
    archived,
    checkpoint_reached,
    fee_added,
)
from dunwell.core.workflows.store import load_newest
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.errors import Unavailable
from dunwell.platform.ids import Ids
from dunwell.platform.resources import Resources

# The step id that the history stores for the archiving after the last step.
ARCHIVING = 0


@dataclass(frozen=True, slots=True)
class DecidedClaim:
    claim: DueClaim
    version_id: UUID
    decision: StepDecision
    # The date in the workflow's time zone.
    today: date


async def record_decisions(work: Work, decided: Sequence[DecidedClaim]) -> None:
    """Write the decisions. Events are delivered from `work.real_now` on; everything else uses
    `work.now`."""
    fee_ids = await _add_fees(work, decided)
    events = {
        each.claim.claim_id: list(
            _compose_events(work.now, work.merchant_id, decided=each, fee_ids=fee_ids, ids=work.ids)
        )
        for each in decided
    }
    await _save(work, decided, events)
    new_events = [event for events_of_claim in events.values() for event in events_of_claim]
    await save_events(work.tx, work.merchant_id, new_events, work.real_now)


async def _add_fees(work: Work, decided: Sequence[DecidedClaim]) -> FeeIds:
    rows = [row for each in decided for row in _build_fee_rows(each)]
    if not rows:
        return {}
    return await add_fees(work.tx, work.merchant_id, rows)


def _build_fee_rows(decided: DecidedClaim) -> Iterator[tuple[object, ...]]:
    fees = [outcome.step for outcome in decided.decision.outcomes if isinstance(outcome, FeeAdded)]
    for offset, step in enumerate(fees):
        position = decided.claim.next_item_position + offset
        yield (
            decided.claim.claim_id, position, step.name, step.type, int(step.value), decided.today,
            decided.claim.run, step.id,
        )  # fmt: skip


async def _save(
    work: Work, decided: Sequence[DecidedClaim], events: dict[int, list[Event]]
) -> None:
    positions = [_build_position_row(each, len(events[each.claim.claim_id])) for each in decided]
    history = [row for each in decided for row in _build_history_rows(each)]
    contacts = [row for each in decided for row in _build_contact_rows(each, work)]
    await save_decisions(
        work.tx, work.merchant_id, work.now, positions=positions, history=history, contacts=contacts
    )


def _build_position_row(decided: DecidedClaim, new_events: int) -> tuple[object, ...]:
    claim, position = decided.claim, decided.decision.position
    return (
        claim.claim_id, _compute_status(decided), position.next_step_id, position.due_at,
        claim.event_sequence + new_events,
    )  # fmt: skip


def _compute_status(decided: DecidedClaim) -> Status:
    status, outcomes = decided.claim.status, decided.decision.outcomes
    if any(not isinstance(outcome, Archived) for outcome in outcomes):
        status = decide_status(status, ClaimTransition.STEP_RAN)
    if any(isinstance(outcome, Archived) for outcome in outcomes):
        status = decide_status(status, ClaimTransition.STEPS_ENDED)
    return status


def _build_history_rows(decided: DecidedClaim) -> Iterator[tuple[object, ...]]:
    """Return the history rows of the decided steps. A planned contact adds no row yet, because its
    step ends when a channel has answered."""
    for outcome in decided.decision.outcomes:
        if isinstance(outcome, ContactPlanned):
            continue
        step_id = ARCHIVING if isinstance(outcome, Archived) else outcome.step.id
        result, reason = _describe_outcome(outcome)
        yield (
            decided.claim.claim_id,
            decided.claim.run,
            step_id,
            decided.version_id,
            result,
            reason,
        )


def _describe_outcome(outcome: StepOutcome) -> tuple[str, str | None]:
    if isinstance(outcome, Skipped):
        return "SKIPPED", " ".join([outcome.reason, *outcome.unmet])
    if isinstance(outcome, NobodyReachable):
        return "FAILED", "NOBODY_REACHABLE"
    if isinstance(outcome, WaitBegun):
        return "DONE", f"UNTIL {outcome.until.isoformat()}"
    return "DONE", None


def _build_contact_rows(decided: DecidedClaim, work: Work) -> Iterator[tuple[object, ...]]:
    for outcome in decided.decision.outcomes:
        if isinstance(outcome, ContactPlanned):
            yield (
                work.ids.new(work.now), decided.claim.claim_id, decided.claim.run, outcome.step.id,
                outcome.place, outcome.channel,
            )  # fmt: skip


def _compose_events(
    now: datetime, merchant_id: int, decided: DecidedClaim, fee_ids: FeeIds, ids: Ids
) -> Iterator[Event]:
    claim, sequence = decided.claim, decided.claim.event_sequence
    for outcome in decided.decision.outcomes:
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
        yield _compose_event(head, outcome, claim, fee_ids)


def _compose_event(
    head: EventHead, outcome: FeeAdded | CheckpointReached | Archived, claim: DueClaim, fees: FeeIds
) -> Event:
    if isinstance(outcome, Archived):
        return archived(head)
    step = EventActionStep(outcome.step.id, outcome.step.name)
    if isinstance(outcome, CheckpointReached):
        return checkpoint_reached(head, step, outcome.step.offset, outcome.step.message)
    item_id = fees[claim.claim_id, step.id]
    fee = EventFeeData(item_id, outcome.step.type, int(outcome.step.value), claim.currency)
    return fee_added(head, step, fee)


SET_SIZE = 500
_MERCHANTS_PER_TURN = 50

log = structlog.get_logger(__name__)


class Engine:
    """Runs the due claims of all merchants in rotation."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._last_merchant_id = 0

    async def run_once(self) -> int:
        """Run one set for each of the next merchants with due claims, in rotation, and return the
        number of decided steps."""
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            merchant_ids = await list_merchants_with_due_claims(
                connection, now, self._last_merchant_id, _MERCHANTS_PER_TURN
            )
        steps = 0
        for merchant_id in merchant_ids:
            self._last_merchant_id = merchant_id
            steps += await self.run_set(merchant_id)
        return steps

    async def run_set(self, merchant_id: int) -> int:
        """Run at most SET_SIZE due claims of one merchant in one transaction and return the number
        of decided steps. If the transaction fails, run each claim in its own transaction, so that
        one faulty claim blocks no other."""
        try:
            return await self._run(merchant_id, None)
        except Unavailable:
            raise
        except Exception as error:
            log.exception(
                "set of claims failed", merchant_id=merchant_id, error=type(error).__name__
            )
        async with self._resources.database.connection() as connection:
            now = self._resources.clock.now()
            claim_ids = await list_due_claim_ids(connection, merchant_id, now, SET_SIZE)
        return sum([await self._run_alone(merchant_id, claim_id) for claim_id in claim_ids])

    async def _run_alone(self, merchant_id: int, claim_id: int) -> int:
        try:
            return await self._run(merchant_id, claim_id)
        except Unavailable:
            raise
        except Exception as error:
            log.exception("claim failed", claim_id=claim_id, error=type(error).__name__)
        async with self._resources.database.transaction() as tx:
            await postpone_claims(tx, merchant_id, [claim_id], self._resources.clock.now())
        return 0

    async def _run(self, merchant_id: int, claim_id: int | None) -> int:
        """Run one set of due claims, or only the claim `claim_id`, in one transaction."""
        resources = self._resources
        async with resources.database.transaction() as tx:
            merchant = await load_merchant(tx, merchant_id)
            if merchant is None:
                return 0
            work = Work.open(resources, tx, merchant, SYSTEM)
            claims = await load_due_claims(
                tx,
                resources.keys,
                merchant=merchant,
                now=work.now,
                limit=SET_SIZE,
                claim_id=claim_id,
            )
            if not claims:
                return 0
            versions = await load_newest(tx, merchant_id, {claim.workflow_key for claim in claims})
            decided, undecidable = _decide_all(merchant, claims, versions, work.now)
            await record_decisions(work, decided)
            if undecidable:
                await postpone_claims(tx, merchant_id, undecidable, work.real_now)
            steps = sum(len(each.decision.outcomes) for each in decided)
            await save_audit(
                work, "escalation.run", f"merchant:{merchant_id}", claims=len(claims), steps=steps
            )
        return steps


def _decide_all(
    merchant: Merchant,
    claims: Sequence[DueClaim],
    versions: dict[tuple[UUID, int], Version],
    now: datetime,
) -> tuple[list[DecidedClaim], list[int]]:
    """Return the decisions, and the ids of the claims for which the decision failed. A failure does
    not stop the other claims."""
    decided, undecidable = [], []
    for claim in claims:
        try:
            decided.append(_decide_one(merchant, claim, versions[claim.workflow_key], now))
        except Exception as error:
            log.exception("claim not decided", claim_id=claim.claim_id, error=type(error).__name__)
            undecidable.append(claim.claim_id)
    return decided, undecidable


def _decide_one(
    merchant: Merchant, claim: DueClaim, version: Version, now: datetime
) -> DecidedClaim:
    workflow = get_prepared_workflow(version, merchant.configuration)
    today = workflow.calendar.local_date(now)
    facts = claim.step_facts(today)
    decision = decide_steps(workflow, compute_position(workflow, claim), facts, now)
    return DecidedClaim(claim, version.version_id, decision, today)
