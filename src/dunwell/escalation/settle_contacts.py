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
    ATTACHMENT_MISSING,
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

# The contacts still ours, and their claims as they are now: handed over, or refused before they
# were. By primary keys.
_LOCK = """
SELECT m.communication_id, c.status, c.run, c.next_step_id, c.due_at, c.event_sequence
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.merchant_id = $1 AND m.communication_id = ANY($2::uuid[])
  AND m.state IN ('HANDED_OVER', 'PLANNED', 'ATTACHMENT_MISSING') AND m.lease_id = $3
ORDER BY c.claim_id
FOR NO KEY UPDATE OF c, m
"""


@dataclass(frozen=True, slots=True)
class AnsweredContact:
    contact: Contact
    settlement: Settlement
    process: Process
    version_id: UUID


async def settle_contacts(
    work: Work, answered: Sequence[AnsweredContact], lease_id: UUID, real_now: datetime
) -> int:
    """How many were settled; those whose lease somebody else took over are left to them."""
    settled = 0
    for wave in _one_of_each_claim(answered):
        settled += await _settle(work, wave, lease_id, real_now)
    await save_audit(work, "contacts.settle", f"merchant:{work.merchant_id}", contacts=settled)
    return settled


def _one_of_each_claim(answered: Sequence[AnsweredContact]) -> list[list[AnsweredContact]]:
    """Two contacts of one claim (of two of its runs) are settled one after the other: each changes
    the claim. As a rule there is one wave."""
    waves: list[dict[int, AnsweredContact]] = []
    for each in answered:
        claim_id = each.contact.claim_id
        wave = next((wave for wave in waves if claim_id not in wave), None)
        if wave is None:
            waves.append(wave := {})
        wave[claim_id] = each
    return [list(wave.values()) for wave in waves]


async def _settle(
    work: Work, answered: Sequence[AnsweredContact], lease_id: UUID, real_now: datetime
) -> int:
    ids = [each.contact.communication_id for each in answered]
    rows = await work.tx.fetch(_LOCK, work.merchant_id, ids, lease_id)
    claims = {row["communication_id"]: row for row in rows}
    pairs = [
        (each, claims[each.contact.communication_id])
        for each in answered
        if each.contact.communication_id in claims
    ]
    if not pairs:
        return 0
    await work.tx.execute(
        _SETTLE, work.merchant_id, work.now,
        *columns([_contact_row(*pair, real_now) for pair in pairs], 6),
        *columns([row for pair in pairs for row in _place_rows(work, *pair)], 4),
        *columns([row for each, _ in pairs for row in _history_rows(each)], 6),
        *columns([row for pair in pairs for row in _following_rows(work, *pair)], 6),
    )  # fmt: skip
    events = [event for pair in pairs for event in _compose_events(work, *pair)]
    await save_events(work.tx, work.merchant_id, events, real_now)
    return len(pairs)


def _contact_row(each: AnsweredContact, claim: Row, real_now: datetime) -> tuple[Any, ...]:
    """State, failure, not before, lease's end, whether that is final."""
    contact_id = each.contact.communication_id
    match each.settlement:
        case Settled():
            return (contact_id, "ACCEPTED", None, None, None, True)
        case TryAgain(at) if _still_waits_for(each, claim):
            return (contact_id, "PLANNED", None, at, None, False)
        case TryAgain():
            # Paid, ended or assigned anew while the channel was away: nobody is contacted.
            return (contact_id, "CANCELLED", None, None, None, True)
        case FallBack(reason=reason) | GiveUp(reason=reason):
            return (contact_id, "FAILED", reason, None, None, True)
        case CallAgain(after) if _still_waits_for(each, claim):
            return (contact_id, "HANDED_OVER", None, None, real_now + after, False)
        case CallAgain() | Unknown():
            return (contact_id, "UNKNOWN", None, None, None, False)


def _place_rows(work: Work, each: AnsweredContact, claim: Row) -> list[tuple[Any, ...]]:
    """Where the claim goes on. One that was assigned anew meanwhile stays where it is; one that
    ended takes its place behind the step, should it ever go on, and is not due."""
    new_events = 1 if isinstance(each.settlement, Settled) else 0
    next_step_id, due_at = claim["next_step_id"], claim["due_at"]
    if isinstance(each.settlement, Settled | GiveUp) and _waits_for(each, claim):
        if next_step_id == each.contact.step_id:
            following = each.process.index_of(each.contact.step_id) + 1
            next_step_id = each.process.id_at(following)
        due_at = work.now if Status(claim["status"]) in ACTIVE else None
    elif not new_events:
        return []
    return [(each.contact.claim_id, next_step_id, due_at, claim["event_sequence"] + new_events)]


def _waits_for(each: AnsweredContact, claim: Row) -> bool:
    """Whether the claim stands still for this contact: at its step, or, for a fallback begun by a
    late failure, at a later one."""
    return bool(claim["run"] == each.contact.run and claim["due_at"] is None)


def _still_waits_for(each: AnsweredContact, claim: Row) -> bool:
    return Status(claim["status"]) in ACTIVE and _waits_for(each, claim)


def _history_rows(each: AnsweredContact) -> list[tuple[Any, ...]]:
    contact = each.contact
    key = (contact.claim_id, contact.run, contact.step_id, each.version_id)
    if isinstance(each.settlement, Settled):
        return [(*key, "DONE", contact.channel)]
    if isinstance(each.settlement, GiveUp):
        is_missing = each.settlement.reason == ATTACHMENT_MISSING
        return [(*key, "FAILED", ATTACHMENT_MISSING if is_missing else "NOBODY_REACHABLE")]
    return []


def _following_rows(work: Work, each: AnsweredContact, claim: Row) -> list[tuple[Any, ...]]:
    """The next channel's contact; none for a claim that is not there any more."""
    if not isinstance(each.settlement, FallBack) or not _still_waits_for(each, claim):
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
