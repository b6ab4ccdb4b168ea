"""The SQL of a claim's timeline, and of its status and unfinished contact."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.core.workflows.versions.versions import render_version_name
from dunwell.operations.claim_status.views import ClaimState, PastStep, StoredOpenContact
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import load_statement

_LIST_TIMELINE = load_statement(__file__, "timeline.sql")
# The audit actions that the timeline shows, because no other row records them.
_SHOWN_ACTIONS = (
    "claim.change", "claim.assign", "claim.archive", "claim.withdraw", "item.add", "item.delete",
    "attachment.add", "attachment.delete", "attachment.replace", "contact.settle",
)  # fmt: skip
# Uses audit_log_list_of_subject.
_LOAD_ACTORS = """
SELECT action, actor_kind, actor_id,
       coalesce(details ->> 'paymentId', details ->> 'disputeId', details ->> 'modalityId') AS about
FROM audit_log
WHERE merchant_id = $1 AND subject = 'claim:' || $2::bigint AND action <> 'claims.create'
  AND action = ANY($3::text[])
ORDER BY audit_id
"""
# The audit actions whose actor is added to an entry of the timeline.
_ACTOR_ACTIONS = (
    "payment.record", "payment.reverse", "dispute.resolve", "dispute.withdraw", "modality.approve",
    "modality.reject", "modality.withdraw",
)  # fmt: skip
# Uses the primary key. Users belong to the installation, not to a merchant.
_LOAD_NAMES = "SELECT user_id::text AS user_id, name FROM users WHERE user_id = ANY($1::uuid[])"
# Uses primary keys, and the unique key scenarios (merchant_id, workflow_id).
_LOAD_CLAIM_STATE = """
SELECT c.claim_id, c.status, c.held, c.run, c.next_step_id, c.due_at, c.rules_version,
       c.workflow_id, c.workflow_major, w.name AS workflow_name, s.scenario_id
FROM claims c
LEFT JOIN workflows w ON w.merchant_id = c.merchant_id AND w.workflow_id = c.workflow_id
LEFT JOIN scenarios s ON s.merchant_id = c.merchant_id AND s.workflow_id = c.workflow_id
WHERE c.merchant_id = $1 AND c.claim_id = $2
"""
# The steps of one run. Uses primary keys.
_LOAD_HISTORY = """
SELECT h.step_id, h.outcome, h.reason, h.at, v.major, v.minor
FROM step_history h
LEFT JOIN workflow_versions v ON v.merchant_id = h.merchant_id AND v.version_id = h.version_id
WHERE h.merchant_id = $1 AND h.claim_id = $2 AND h.run = $3
-- Steps with the same time ran in the order of the definition, which the caller applies.
ORDER BY h.at
"""
# Uses the unique key (merchant_id, claim_id, run, step_id, place).
_LOAD_OPEN_CONTACT = """
SELECT communication_id, step_id, place, channel, state, not_before, held_by
FROM communications
WHERE merchant_id = $1 AND claim_id = $2 AND run = $3
  AND state IN ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'UNKNOWN')
ORDER BY planned_at DESC
LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class TimelineActor:
    kind: str
    actor_id: str | None


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A row of `timeline.sql`. See `TimelineEvent` for the fields."""

    kind: str
    at: datetime
    subject_id: UUID | None
    word: str | None
    more: str | None
    text: str | None
    cents: int | None
    until: datetime | None
    actor: TimelineActor | None


async def list_timeline_rows(
    tx: Connection, merchant_id: int, claim_id: int, limit: int
) -> list[TimelineRow]:
    rows = await tx.fetch(_LIST_TIMELINE, merchant_id, claim_id, list(_SHOWN_ACTIONS), limit)
    return [
        TimelineRow(
            kind=row["kind"],
            at=row["at"],
            subject_id=row["subject_id"],
            word=row["word"],
            more=row["more"],
            text=row["text"],
            cents=row["cents"],
            until=row["until"],
            actor=TimelineActor(row["actor_kind"], row["actor_id"]) if row["actor_kind"] else None,
        )
        for row in rows
    ]


async def load_actors(
    tx: Connection, merchant_id: int, claim_id: int
) -> Mapping[tuple[str, str], TimelineActor]:
    """Return the actors, by audit action and subject id."""
    rows = await tx.fetch(_LOAD_ACTORS, merchant_id, claim_id, list(_ACTOR_ACTIONS))
    return {
        (row["action"], row["about"] or ""): TimelineActor(row["actor_kind"], row["actor_id"])
        for row in rows
    }


async def load_user_names(tx: Connection, user_ids: Collection[str]) -> Mapping[str, str]:
    if not user_ids:
        return {}
    valid_ids = [each for each in user_ids if _is_uuid(each)]
    return {row["user_id"]: row["name"] for row in await tx.fetch(_LOAD_NAMES, valid_ids)}


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


async def load_claim_state(tx: Connection, merchant_id: int, claim_id: int) -> ClaimState | None:
    row = await tx.fetchrow(_LOAD_CLAIM_STATE, merchant_id, claim_id)
    return None if row is None else ClaimState(**row)


async def list_past_steps(
    tx: Connection, merchant_id: int, claim_id: int, run: int
) -> Sequence[PastStep]:
    """Return the recorded steps of a run, earliest first."""
    return [
        PastStep(
            step_id=row["step_id"],
            outcome=row["outcome"],
            reason=row["reason"],
            at=row["at"],
            version=None
            if row["major"] is None
            else render_version_name(row["major"], row["minor"]),
        )
        for row in await tx.fetch(_LOAD_HISTORY, merchant_id, claim_id, run)
    ]


async def find_open_contact(
    tx: Connection, merchant_id: int, claim_id: int, run: int
) -> StoredOpenContact | None:
    row = await tx.fetchrow(_LOAD_OPEN_CONTACT, merchant_id, claim_id, run)
    return None if row is None else StoredOpenContact(**row)
