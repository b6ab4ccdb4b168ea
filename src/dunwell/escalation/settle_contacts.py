"""Records the channels' answers for a set of contacts: their states, the ESCALATED events, and
where each claim goes on. One transaction of its own, claims locked before anything else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any
from uuid import UUID

from dunwell.claims.states import ACTIVE, Status
from dunwell.escalation.columns import columns
from dunwell.escalation.schedule import Process
from dunwell.escalation.settlement import (
    CallAgain,
    FallBack,
    GiveUp,
    Settled,
    Settlement,
    TryAgain,
    Unknown,
)
from dunwell.events.payloads import ActionStep, Event, EventHead, escalated
from dunwell.events.record import save_events
from dunwell.kit.db import Row
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.messages.store import Contact

_SETTLE = files("dunwell.escalation").joinpath("settle_contacts.sql").read_text()

# The contacts still ours, and their claims as they are now. By primary keys.
_LOCK = """
SELECT m.communication_id, c.status, c.run, c.next_step_id, c.due_at, c.event_sequence
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.merchant_id = $1 AND m.communication_id = ANY($2::uuid[])
  AND m.state = 'HANDED_OVER' AND m.lease_id = $3
ORDER BY c.claim_id
FOR NO KEY UPDATE OF c, m
"""


@dataclass(frozen=True, slots=True)
class AnsweredContact:
    contact: Contact
    settlement: Settlement
    process: Process
    version_id: UUID


@dataclass(frozen=True, slots=True)
class Times:
    """Real time, and when a channel without an answer is called again."""

    real_now: datetime
    call_again_at: datetime


async def settle_contacts(
    work: Work, answered: Sequence[AnsweredContact], lease_id: UUID, times: Times
) -> int:
    """How many were settled; those whose lease somebody else took over are left to them."""
    ids = [each.contact.communication_id for each in answered]
    rows = await work.tx.fetch(_LOCK, work.merchant_id, ids, lease_id)
    claims = {row["communication_id"]: row for row in rows}
    ours = [each for each in answered if each.contact.communication_id in claims]
    if not ours:
        return 0
    pairs = [(each, claims[each.contact.communication_id]) for each in ours]
    await work.tx.execute(
        _SETTLE, work.merchant_id, work.now,
        *columns([_contact_row(each, times) for each in ours], 6),
        *columns([row for pair in pairs for row in _place_rows(work, *pair)], 4),
        *columns([row for each in ours for row in _history_rows(each)], 6),
        *columns([row for pair in pairs for row in _following_rows(work, *pair)], 6),
    )  # fmt: skip
    events = [event for pair in pairs for event in _compose_events(work, *pair)]
    await save_events(work.tx, work.merchant_id, events, times.real_now)
    await save_audit(work, "contacts.settle", f"merchant:{work.merchant_id}", contacts=len(ours))
    return len(ours)


def _contact_row(each: AnsweredContact, times: Times) -> tuple[Any, ...]:
    """State, failure, not before, lease's end, whether that is final."""
    contact_id = each.contact.communication_id
    match each.settlement:
        case Settled():
            return (contact_id, "ACCEPTED", None, None, None, True)
        case TryAgain(at):
            return (contact_id, "PLANNED", None, at, None, False)
        case FallBack(reason=reason) | GiveUp(reason=reason):
            return (contact_id, "FAILED", reason, None, None, True)
        case CallAgain():
            return (contact_id, "HANDED_OVER", None, None, times.call_again_at, False)
        case Unknown():
            return (contact_id, "UNKNOWN", None, None, None, False)


def _place_rows(work: Work, each: AnsweredContact, claim: Row) -> list[tuple[Any, ...]]:
    """Where the claim goes on. One that ended or was assigned anew meanwhile stays where it is."""
    new_events = 1 if isinstance(each.settlement, Settled) else 0
    next_step_id, due_at = claim["next_step_id"], claim["due_at"]
    if isinstance(each.settlement, Settled | GiveUp) and _still_stands_there(each, claim):
        following = each.process.index_of(each.contact.step_id) + 1
        next_step_id, due_at = each.process.id_at(following), work.now
    elif not new_events:
        return []
    return [(each.contact.claim_id, next_step_id, due_at, claim["event_sequence"] + new_events)]


def _still_stands_there(each: AnsweredContact, claim: Row) -> bool:
    return (
        Status(claim["status"]) in ACTIVE
        and claim["run"] == each.contact.run
        and claim["next_step_id"] == each.contact.step_id
        and claim["due_at"] is None
    )


def _history_rows(each: AnsweredContact) -> list[tuple[Any, ...]]:
    contact = each.contact
    key = (contact.claim_id, contact.run, contact.step_id, each.version_id)
    if isinstance(each.settlement, Settled):
        return [(*key, "DONE", contact.channel)]
    if isinstance(each.settlement, GiveUp):
        return [(*key, "FAILED", "NOBODY_REACHABLE")]
    return []


def _following_rows(work: Work, each: AnsweredContact, claim: Row) -> list[tuple[Any, ...]]:
    """The next channel's contact; none for a claim that is not there any more."""
    if not isinstance(each.settlement, FallBack) or not _still_stands_there(each, claim):
        return []
    contact, following = each.contact, each.settlement.following
    return [
        (
            work.ids.new(work.now), contact.claim_id, contact.run, contact.step_id,
            following.place, following.channel,
        )
    ]  # fmt: skip


def _compose_events(work: Work, each: AnsweredContact, claim: Row) -> list[Event]:
    if not isinstance(each.settlement, Settled):
        return []
    contact = each.contact
    step = each.process.steps[each.process.index_of(contact.step_id)]
    head = EventHead(
        work.ids.new(work.now), work.merchant_id, contact.claim_id, claim["event_sequence"] + 1,
        work.now, contact.reference_number, contact.customer_number,
    )  # fmt: skip
    return [
        escalated(head, ActionStep(step.id, step.name), contact.channel, contact.communication_id)
    ]
