"""The SQL of draft changes: who changed which part, before and after."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.core.workflows.drafts.draft_changes import DraftChange, MergedChanges
from dunwell.platform.database.database import Connection

_CHANGES = """change.change_id, change.actor_kind, change.actor_id, person.name, change.changed_at,
    change.part, change.before, change.after
FROM workflow_draft_changes AS change
LEFT JOIN users AS person
    ON change.actor_kind = 'USER' AND person.user_id::text = change.actor_id"""

# Uses workflow_draft_changes_open.
_LOAD_OPEN = f"""
SELECT {_CHANGES}
WHERE change.merchant_id = $1 AND change.workflow_id = $2 AND change.version_id IS NULL
ORDER BY change.changed_at, change.change_id
"""

# Uses workflow_draft_changes_published.
_LOAD_PUBLISHED = f"""
SELECT {_CHANGES}
WHERE change.merchant_id = $1 AND change.version_id = $2
ORDER BY change.changed_at, change.change_id
"""

_COUNT_OPEN = """
SELECT workflow_id, count(*) AS changes
FROM workflow_draft_changes
WHERE merchant_id = $1 AND version_id IS NULL
GROUP BY workflow_id
"""

_REMOVE = """
DELETE FROM workflow_draft_changes
WHERE merchant_id = $1 AND change_id = ANY($2::uuid[]) AND version_id IS NULL
"""

_INSERT = """
INSERT INTO workflow_draft_changes
    (merchant_id, change_id, workflow_id, actor_kind, actor_id, changed_at, part, before, after)
SELECT $1, new.change_id, $2, $3, $4, $5, new.part, new.before, new.after
FROM jsonb_to_recordset($6) AS new (change_id uuid, part text, before jsonb, after jsonb)
"""

_PUBLISH = """
UPDATE workflow_draft_changes
SET version_id = $3
WHERE merchant_id = $1 AND workflow_id = $2 AND version_id IS NULL
"""

_REMOVE_OPEN = """
DELETE FROM workflow_draft_changes
WHERE merchant_id = $1 AND workflow_id = $2 AND version_id IS NULL
"""


async def load_open_changes(
    tx: Connection, merchant_id: int, workflow_id: UUID
) -> list[DraftChange]:
    """Return the draft's changes, oldest first."""
    return [DraftChange(**row) for row in await tx.fetch(_LOAD_OPEN, merchant_id, workflow_id)]


async def load_published_changes(
    tx: Connection, merchant_id: int, version_id: UUID
) -> list[DraftChange]:
    """Return the changes that were published with a version, oldest first."""
    return [DraftChange(**row) for row in await tx.fetch(_LOAD_PUBLISHED, merchant_id, version_id)]


async def count_open_changes(tx: Connection, merchant_id: int) -> dict[UUID, int]:
    """Return the number of open changes by workflow, for those that have any."""
    rows = await tx.fetch(_COUNT_OPEN, merchant_id)
    return {row["workflow_id"]: row["changes"] for row in rows}


async def save_merged_changes(
    tx: Connection, merchant_id: int, workflow_id: UUID, *,
    merged: MergedChanges, ids: Sequence[UUID], now: datetime,
) -> None:  # fmt: skip
    """Save merged changes. `ids` has one id for each new change."""
    if merged.deleted:
        await tx.execute(_REMOVE, merchant_id, merged.deleted)
    if merged.new:
        await tx.execute(
            _INSERT, merchant_id, workflow_id, merged.actor_kind, merged.actor_id, now,
            [
                {"change_id": str(new_id), **msgspec.to_builtins(each)}
                for new_id, each in zip(ids, merged.new, strict=True)
            ],
        )  # fmt: skip


async def mark_published(
    tx: Connection, merchant_id: int, workflow_id: UUID, version_id: UUID
) -> None:
    """Mark the draft's changes as published with this version."""
    await tx.execute(_PUBLISH, merchant_id, workflow_id, version_id)


async def delete_open_changes(tx: Connection, merchant_id: int, workflow_id: UUID) -> None:
    """Delete the changes of a discarded draft."""
    await tx.execute(_REMOVE_OPEN, merchant_id, workflow_id)
