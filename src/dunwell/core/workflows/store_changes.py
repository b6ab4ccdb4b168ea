"""The SQL that changes workflows themselves: their names, whether they are assigned, their end."""

from datetime import datetime
from uuid import UUID

import asyncpg

from dunwell.platform.database.database import Connection, savepoint

_RENAME = """
UPDATE workflows
SET name = $3
WHERE merchant_id = $1 AND workflow_id = $2
"""

_LOAD_NAME = "SELECT name FROM workflows WHERE merchant_id = $1 AND workflow_id = $2"

_SET_ASSIGNMENT = """
UPDATE workflows
SET assignment_enabled = $3
WHERE merchant_id = $1 AND workflow_id = $2 AND assignment_enabled <> $3
RETURNING workflow_id
"""

# Stronger than what lies on a workflow that is edited: claims that are just being put on it are
# waited for, as their foreign keys hold it too.
_LOCK_FOR_DELETION = """
SELECT workflow_id
FROM workflows
WHERE merchant_id = $1 AND workflow_id = $2 AND deleted_at IS NULL
FOR UPDATE
"""

_MARK_DELETED = """
UPDATE workflows
SET deleted_at = $3
WHERE merchant_id = $1 AND workflow_id = $2
"""

# The draft goes with it (ON DELETE CASCADE); a trigger keeps published versions.
_REMOVE = "DELETE FROM workflows WHERE merchant_id = $1 AND workflow_id = $2"


async def load_name(tx: Connection, merchant_id: int, workflow_id: UUID) -> str:
    """Of one that is there."""
    name: str = await tx.fetchval(_LOAD_NAME, merchant_id, workflow_id)
    return name


async def save_name(tx: Connection, merchant_id: int, workflow_id: UUID, name: str) -> bool:
    """False: another workflow has this name, and nothing was changed."""
    try:
        async with savepoint(tx):
            await tx.execute(_RENAME, merchant_id, workflow_id, name)
    except asyncpg.UniqueViolationError:
        return False
    return True


async def save_assignment_enabled(
    tx: Connection, merchant_id: int, workflow_id: UUID, *, is_enabled: bool
) -> bool:
    """False: it was so already."""
    changed = await tx.fetchval(_SET_ASSIGNMENT, merchant_id, workflow_id, is_enabled)
    return changed is not None


async def lock_for_deletion(tx: Connection, merchant_id: int, workflow_id: UUID) -> bool:
    """Keep claims and rules away from a workflow until the transaction ends; False: none there."""
    return await tx.fetchval(_LOCK_FOR_DELETION, merchant_id, workflow_id) is not None


async def mark_deleted(tx: Connection, merchant_id: int, workflow_id: UUID, now: datetime) -> None:
    """Its versions stay, which history names; its name is free again."""
    await tx.execute(_MARK_DELETED, merchant_id, workflow_id, now)


async def remove_workflow(tx: Connection, merchant_id: int, workflow_id: UUID) -> None:
    """Remove a workflow that was never published, with its draft."""
    await tx.execute(_REMOVE, merchant_id, workflow_id)
