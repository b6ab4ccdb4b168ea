"""The SQL of who answers a request for a plan or deferment: rows in, values out, no rules."""

from collections.abc import Collection, Mapping
from uuid import UUID

from dunwell.platform.database.database import Connection

# By primary key.
_LOAD = "SELECT assignee_id FROM payment_modalities WHERE merchant_id = $1 AND modality_id = $2"
_LOAD_SOME = """
SELECT modality_id, assignee_id
FROM payment_modalities
WHERE merchant_id = $1 AND modality_id = ANY($2::uuid[]) AND assignee_id IS NOT NULL
"""
_SAVE = "UPDATE payment_modalities SET assignee_id = $3 WHERE merchant_id = $1 AND modality_id = $2"


async def load_assignee(tx: Connection, merchant_id: int, modality_id: UUID) -> UUID | None:
    assignee_id: UUID | None = await tx.fetchval(_LOAD, merchant_id, modality_id)
    return assignee_id


async def load_assignees(
    tx: Connection, merchant_id: int, modality_ids: Collection[UUID]
) -> Mapping[UUID, UUID]:
    """Modality id -> user's id, of those that are somebody's."""
    rows = await tx.fetch(_LOAD_SOME, merchant_id, list(modality_ids))
    return {row["modality_id"]: row["assignee_id"] for row in rows}


async def save_assignee(
    tx: Connection, merchant_id: int, modality_id: UUID, assignee_id: UUID | None
) -> None:
    """Of one whose claim is locked."""
    await tx.execute(_SAVE, merchant_id, modality_id, assignee_id)
