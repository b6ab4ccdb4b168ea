"""The SQL of who answers a dispute: rows in, values out, no rules."""

from uuid import UUID

from dunwell.kit.db import Connection

# By primary key.
_LOAD = "SELECT assignee_id FROM disputes WHERE merchant_id = $1 AND dispute_id = $2"
_SAVE = "UPDATE disputes SET assignee_id = $3 WHERE merchant_id = $1 AND dispute_id = $2"


async def load_assignee(tx: Connection, merchant_id: int, dispute_id: UUID) -> UUID | None:
    assignee_id: UUID | None = await tx.fetchval(_LOAD, merchant_id, dispute_id)
    return assignee_id


async def save_assignee(
    tx: Connection, merchant_id: int, dispute_id: UUID, assignee_id: UUID | None
) -> None:
    """Of a dispute whose claim is locked."""
    await tx.execute(_SAVE, merchant_id, dispute_id, assignee_id)
