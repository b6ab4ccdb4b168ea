"""The SQL of claims' contacts: what their steps have tried, cancelling what is planned, waking what
waits for an attachment.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from dunwell.contact.escalation.schedule import Tried
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import LeasedTable

CONTACTS = LeasedTable("communications", ("merchant_id", "communication_id"), ends_at="lease_until")
# By primary key, then by the unique key (merchant_id, claim_id, run, step_id, place). A cancelled
# contact never left the house, and its place is free.
_LOAD_TRIED = """
SELECT m.communication_id, array_agg(o.channel) AS channels, max(o.place) + 1 AS next_place
FROM communications m
JOIN communications o USING (merchant_id, claim_id, run, step_id)
WHERE m.merchant_id = $1 AND m.communication_id = ANY($2::uuid[]) AND o.state <> 'CANCELLED'
GROUP BY m.communication_id
"""
# By the same unique key, as the next.
_CANCEL = """
UPDATE communications
SET state = 'CANCELLED', settled_at = $3, lease_id = NULL, lease_until = NULL,
    held_by = NULL, failure = $4
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
  AND state IN ('PLANNED', 'ATTACHMENT_MISSING')
"""
# One whose seven days run out at this moment is taken from whoever is about to give it up.
_WAKE = """
UPDATE communications
SET state = 'PLANNED', not_before = $3, lease_id = NULL, lease_until = NULL
WHERE merchant_id = $1 AND claim_id = $2 AND state = 'ATTACHMENT_MISSING'
"""


async def load_tried(
    tx: Connection, merchant_id: int, communication_ids: Collection[UUID]
) -> dict[UUID, Tried]:
    """For each contact what its step has tried in its run, that contact included: the channels and
    places of the contacts that count."""
    rows = await tx.fetch(_LOAD_TRIED, merchant_id, list(communication_ids))
    return {
        row["communication_id"]: Tried(frozenset(row["channels"]), row["next_place"])
        for row in rows
    }


async def cancel_contacts(
    tx: Connection, merchant_id: int, claim_ids: Collection[int], now: datetime, *, reason: str
) -> None:
    """What was planned for claims and has not been handed over: nobody is contacted by it any more.
    In the transaction that collects, ends or re-assigns the claims, which must be locked. reason:
    why, for whoever reads the contact."""
    await tx.execute(_CANCEL, merchant_id, list(claim_ids), now, reason)


async def wake_contacts(tx: Connection, merchant_id: int, claim_id: int, now: datetime) -> None:
    """The contacts of a claim that wait for an attachment are tried again at once. In the
    transaction that attaches one; the claim must be locked. now: the merchant's time."""
    await tx.execute(_WAKE, merchant_id, claim_id, now)
