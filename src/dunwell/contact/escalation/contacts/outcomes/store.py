"""The SQL of contact outcomes: lock contacts with their claims and write the outcomes."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.contact.escalation.contacts.outcomes.settlement import LateFallback
from dunwell.contact.escalation.contacts.store import build_leased_contact
from dunwell.contact.escalation.store import CONTACTS, transpose
from dunwell.contact.messages.contact import LeasedContact
from dunwell.core.claims.states import Status
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.epochs import WRITTEN_BY
from dunwell.platform.database.sql import compose, load_statement

_SAVE_OUTCOMES = load_statement(__file__, "record_outcomes.sql", written_by=WRITTEN_BY)

# Contacts that are still held under the lease, with their claims. The contact may have been refused
# before its hand-over. Uses primary keys.
_LOCK_ANSWERED = compose(
    """
SELECT m.communication_id, c.status, c.run, c.next_step_id, c.due_at, c.event_sequence,
       -- The version under which the contact was handed over.
       CASE WHEN m.handed_over_at IS NOT NULL THEN m.version_id END AS sent_version_id
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.merchant_id = $1 AND m.communication_id = ANY($2::uuid[])
  AND m.state IN ('HANDED_OVER', 'PLANNED', 'ATTACHMENT_MISSING') AND {is_held}
ORDER BY c.claim_id
FOR NO KEY UPDATE OF c, m
""",
    is_held=CONTACTS.is_held("$3", "m."),
)
# Uses primary keys. A transaction that waited for the claim's lock sees what was committed in the
# meantime.
_LOCK_ONE = """
SELECT m.communication_id, m.claim_id, m.run AS contact_run, m.step_id, m.place, m.channel,
       m.attempts, m.state, m.version_id AS sent_version_id, c.reference_number, c.status,
       -- The workflow of the contact's own run, if the claim was reassigned in the meantime.
       CASE WHEN c.run = m.run THEN c.workflow_id ELSE coalesce(v.workflow_id, c.workflow_id) END
           AS workflow_id,
       CASE WHEN c.run = m.run THEN c.workflow_major ELSE coalesce(v.major, c.workflow_major) END
           AS workflow_major,
       c.run, c.next_step_id, c.due_at, c.event_sequence,
       d.customer_number, d.email, d.mobile_number, d.address
FROM communications m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = m.claim_id
LEFT JOIN workflow_versions v ON v.merchant_id = $1 AND v.version_id = m.version_id
WHERE m.merchant_id = $1 AND m.communication_id = $2
FOR NO KEY UPDATE OF c, m
"""
_GET_STATE = "SELECT state FROM communications WHERE merchant_id = $1 AND communication_id = $2"
_MARK_FAILED = """
WITH failed AS (
    UPDATE communications SET state = 'FAILED', failure = $3, settled_at = $4
    WHERE merchant_id = $1 AND communication_id = $2
    RETURNING *
)
INSERT INTO contact_ledger
    (merchant_id, entry_id, communication_id, claim_id, run, step_id, place, channel, outcome,
     attempts, at, recipient_digest, content_digest)
SELECT $1, $5, communication_id, claim_id, run, step_id, place, channel, 'FAILED_LATER',
       attempts, $4, recipient_digest, content_digest
FROM failed
"""
_SAVE_FALLBACK = """
WITH moved AS (
    UPDATE claims SET next_step_id = $4, due_at = NULL, updated_at = $3
    WHERE merchant_id = $1 AND claim_id = $2
)
INSERT INTO communications
    (merchant_id, communication_id, claim_id, run, step_id, place, channel, not_before, planned_at)
VALUES ($1, $5, $2, $6, $7, $8, $9, $3, $3)
-- The place of a cancelled contact is free, as in record_outcomes.sql.
ON CONFLICT (merchant_id, claim_id, run, step_id, place) DO UPDATE
SET state = 'PLANNED', channel = excluded.channel, not_before = excluded.not_before,
    planned_at = excluded.planned_at, handed_over_at = NULL, settled_at = NULL, failure = NULL,
    attempts = 0, written_by = excluded.written_by
WHERE communications.state = 'CANCELLED'
"""


class ContactClaim(msgspec.Struct, frozen=True, gc=False):
    """The current state of a contact's claim, which is locked."""

    status: Status
    run: int
    next_step_id: int | None
    due_at: datetime | None
    event_sequence: int
    # The version under which the contact was handed over; None before the hand-over.
    sent_version_id: UUID | None


class ContactWithClaim(msgspec.Struct, frozen=True, gc=False):
    """A contact in any state, with its claim. If the claim was reassigned in the meantime, the
    contact's workflow key is that of its own run."""

    state: str
    contact: LeasedContact
    claim: ContactClaim

    @property
    def is_of_current_run(self) -> bool:
        return self.contact.run == self.claim.run


class OutcomeRows(msgspec.Struct, frozen=True, gc=False):
    """The rows for record_outcomes.sql, in the order of its columns."""

    contacts: Sequence[tuple[Any, ...]]
    positions: Sequence[tuple[Any, ...]]
    history: Sequence[tuple[Any, ...]]
    fallbacks: Sequence[tuple[Any, ...]]


async def lock_claims_of_contacts(
    tx: Connection, merchant_id: int, communication_ids: Collection[UUID], lease_id: UUID
) -> dict[UUID, ContactClaim]:
    """Lock the contacts that are still held under the lease and return their claims by contact
    id."""
    rows = await tx.fetch(_LOCK_ANSWERED, merchant_id, communication_ids, lease_id)
    return {row["communication_id"]: _build_claim(row) for row in rows}


async def save_outcomes(tx: Connection, merchant_id: int, now: datetime, rows: OutcomeRows) -> None:
    """Write all outcomes in one statement. Claims and contacts must be locked."""
    *contacts, providers, answers, destinations, called = transpose(rows.contacts, 12)
    await tx.execute(
        _SAVE_OUTCOMES, merchant_id, now, *contacts, *transpose(rows.positions, 4),
        *transpose(rows.history, 6), *transpose(rows.fallbacks, 6), providers, answers,
        destinations, called,
    )  # fmt: skip


async def lock_contact(
    tx: Connection, merchant_id: int, communication_id: UUID
) -> ContactWithClaim | None:
    """Lock a contact in any state with its claim. Return None if it does not exist."""
    row = await tx.fetchrow(_LOCK_ONE, merchant_id, communication_id)
    if row is None:
        return None
    contact = build_leased_contact({**row, "run": row["contact_run"]})
    return ContactWithClaim(row["state"], contact, _build_claim(row))


async def get_contact_state(tx: Connection, merchant_id: int, communication_id: UUID) -> str:
    """Return the state of an existing contact."""
    state: str = await tx.fetchval(_GET_STATE, merchant_id, communication_id)
    return state


async def save_late_failure(
    tx: Connection, merchant_id: int, communication_id: UUID, reason: str,
    *, now: datetime, entry_id: UUID,
) -> None:  # fmt: skip
    """Mark an accepted contact as failed and add its ledger entry."""
    await tx.execute(_MARK_FAILED, merchant_id, communication_id, reason, now, entry_id)


async def save_fallback(
    tx: Connection, merchant_id: int, failed: LeasedContact, decision: LateFallback,
    *, now: datetime, communication_id: UUID,
) -> None:  # fmt: skip
    """Plan the fallback contact and move the claim to the position at which it waits."""
    following = decision.following
    await tx.execute(
        _SAVE_FALLBACK, merchant_id, failed.claim_id, now, decision.position.next_step_id,
        communication_id, failed.run, following.step.id, following.place, following.channel,
    )  # fmt: skip


def _build_claim(row: Row) -> ContactClaim:
    return ContactClaim(
        status=Status(row["status"]),
        run=row["run"],
        next_step_id=row["next_step_id"],
        due_at=row["due_at"],
        event_sequence=row["event_sequence"],
        sent_version_id=row["sent_version_id"],
    )
