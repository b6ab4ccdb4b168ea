"""The SQL of previews: the draft that a job previews, and the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.operations.jobs.store import LeasedJob
from dunwell.platform.database.database import Connection

_INSERT = """
INSERT INTO workflow_previews (merchant_id, job_id, draft_id)
VALUES ($1, $2, $3)
"""
# Uses workflow_previews_of_draft.
_FIND = """
SELECT job_id, result
FROM workflow_previews
WHERE merchant_id = $1 AND draft_id = $2
ORDER BY job_id DESC
LIMIT 1
"""
_SAVE = """
UPDATE workflow_previews
SET result = $3
WHERE merchant_id = $1 AND job_id = $2
"""
# Uses jobs_one_preview.
_FIND_LIVE = """
SELECT p.job_id, p.draft_id
FROM jobs j
JOIN workflow_previews p ON p.merchant_id = j.merchant_id AND p.job_id = j.job_id
WHERE j.merchant_id = $1 AND j.preview_slot IS NOT NULL AND j.due_at IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class StoredPreview:
    """`result` is None until it is computed."""

    job_id: UUID
    result: Mapping[str, Any] | None


async def insert_preview(tx: Connection, merchant_id: int, job_id: UUID, draft_id: UUID) -> None:
    await tx.execute(_INSERT, merchant_id, job_id, draft_id)


async def find_preview(tx: Connection, merchant_id: int, draft_id: UUID) -> StoredPreview | None:
    """Return the newest preview of the draft, if any."""
    row = await tx.fetchrow(_FIND, merchant_id, draft_id)
    return None if row is None else StoredPreview(row["job_id"], row["result"])


async def save_result(tx: Connection, leased: LeasedJob, result: Mapping[str, Any]) -> None:
    await tx.execute(_SAVE, leased.merchant_id, leased.job_id, result)


async def find_live_preview(tx: Connection, merchant_id: int) -> tuple[UUID, UUID] | None:
    """Return the job that waits or runs and its draft, if any."""
    row = await tx.fetchrow(_FIND_LIVE, merchant_id)
    return None if row is None else (row["job_id"], row["draft_id"])
