"""The SQL of objections that should have been answered by now."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection

# Over all merchants; an open objection is rare, and one is here until its merchant was told. Rides
# on disputes_overdue, as the next.
_FIND_MERCHANTS = """
SELECT DISTINCT merchant_id FROM disputes WHERE state = 'OPEN' AND overdue_told_at IS NULL
"""
_FIND = """
SELECT claim_id, dispute_id
FROM disputes
WHERE merchant_id = $1 AND state = 'OPEN' AND overdue_told_at IS NULL AND opened_at < $2
ORDER BY opened_at
LIMIT $3
"""
# By primary key.
_SAVE_TOLD = """
UPDATE disputes
SET overdue_told_at = $3
WHERE merchant_id = $1 AND dispute_id = $2 AND state = 'OPEN' AND overdue_told_at IS NULL
RETURNING true
"""


async def find_merchants(tx: Connection) -> Sequence[int]:
    """Those with open objections they were not told of."""
    return [row["merchant_id"] for row in await tx.fetch(_FIND_MERCHANTS)]


async def find_overdue(
    tx: Connection, merchant_id: int, opened_before: datetime, limit: int
) -> list[tuple[int, UUID]]:
    """The claims and the ids of the oldest."""
    rows = await tx.fetch(_FIND, merchant_id, opened_before, limit)
    return [(row["claim_id"], row["dispute_id"]) for row in rows]


async def save_overdue_told(
    tx: Connection, merchant_id: int, dispute_id: UUID, now: datetime
) -> bool:
    """False: somebody has told of it, or it was answered."""
    return bool(await tx.fetchval(_SAVE_TOLD, merchant_id, dispute_id, now))
