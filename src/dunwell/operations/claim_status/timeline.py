"""The timeline of a claim: contacts, money, disputes, payment plans, steps, notes and changes with
who made them, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.access import check_claim_exists
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.operations.claim_status.store import (
    TimelineRow,
    list_timeline_rows,
    load_actors,
    load_claim_state,
    load_user_names,
)
from dunwell.operations.claim_status.views import ClaimState
from dunwell.platform.database.database import snapshot

MAX_EVENTS = 500


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """One entry. `kind` is CREATED, CONTACT, NOTICE, PAYMENT, REVERSAL, REQUEST, MANDATE,
    MANDATE_END, DEBIT, DEBIT_END, DISPUTE, DISPUTE_END, PLAN, PLAN_ANSWER, PLAN_END, PAUSE,
    RESUME, STEP, LOOK, NOTE, REPLY or CHANGE. The meaning of `word`, `more` and `text` depends
    on it (`timeline.sql`). `until` is the end of a pause or of a wait in progress, or the earliest
    time of sending a contact. `actor_kind` is the kind of the step for STEP, and the state of the
    notice for NOTICE."""

    kind: str
    at: datetime
    subject_id: UUID | None
    word: str | None
    more: str | None
    text: str | None
    cents: int | None
    until: datetime | None
    actor_kind: str | None
    # The user's name, or the actor id of the audit log if the actor is not a user.
    actor: str | None


async def list_timeline(work: Work, claim_id: int) -> list[TimelineEvent]:
    """List at most `MAX_EVENTS` entries. Raises NotFound if the claim does not exist."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        rows = await list_timeline_rows(work.tx, work.merchant_id, claim_id, MAX_EVENTS)
        actors = await load_actors(work.tx, work.merchant_id, claim_id)
        claim_state = await load_claim_state(work.tx, work.merchant_id, claim_id)
        rows_with_actors = [
            (row, actors.get(_get_recorded_action(row.kind, row.word, row.subject_id)))
            for row in rows
        ]
        ids = {
            recorded.actor_id
            for row, audited in rows_with_actors
            for recorded in (row.actor, audited)
            if recorded is not None and recorded.kind == "USER" and recorded.actor_id
        }
        names = await load_user_names(work.tx, ids)
    wait_in_progress = _find_wait(rows)
    wait_ends_at = _find_end_of_wait(claim_state) if claim_state is not None else None
    events = []
    for row, audited in rows_with_actors:
        recorded = row.actor or audited
        actor_id = recorded.actor_id if recorded else None
        actor = names.get(actor_id or "", actor_id)
        events.append(
            TimelineEvent(
                row.kind,
                row.at,
                subject_id=row.subject_id,
                word=row.word,
                more=row.more,
                text=row.text,
                cents=row.cents,
                until=wait_ends_at if row is wait_in_progress else row.until,
                actor_kind=recorded.kind if recorded else None,
                actor=actor,
            )
        )
    return events


def _find_wait(rows: Sequence[TimelineRow]) -> TimelineRow | None:
    """Return the wait in progress, if any. A wait is recorded when it starts, so it is in progress
    if no later step ran."""
    newest = next((row for row in rows if row.kind in ("STEP", "CONTACT")), None)
    return newest if newest is not None and _is_wait(newest) else None


def _is_wait(row: TimelineRow) -> bool:
    return (
        (row.kind, row.word) == ("STEP", "DONE")
        and row.actor is not None
        and row.actor.kind == "WAIT"
    )


def _find_end_of_wait(claim_state: ClaimState) -> datetime | None:
    """Find when the wait ends. Return None if the claim is on hold or has ended."""
    is_running = not claim_state.held and Status(claim_state.status) in ACTIVE
    return claim_state.due_at if is_running else None


def _get_recorded_action(kind: str, word: str | None, subject_id: UUID | None) -> tuple[str, str]:
    """Return the audit action and the subject id by which the actor of an entry is found, for
    entries that do not store their actor."""
    action = {
        "PAYMENT": "payment.record",
        "REVERSAL": "payment.reverse",
        "DISPUTE_END": "dispute.withdraw" if word == "WITHDRAWN" else "dispute.resolve",
        "PLAN_ANSWER": "modality.approve" if word == "APPROVED" else "modality.reject",
        "PLAN_END": "modality.withdraw",
    }.get(kind, "")
    return action, str(subject_id)
