"""The SQL of what exports have written: rows in, values out, no rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.platform.database.database import Connection

# By primary key, as all of these.
_LOAD = """
SELECT part, file_key, size_bytes, next_cursor
FROM job_files
WHERE merchant_id = $1 AND job_id = $2
ORDER BY part
"""
_INSERT = """
INSERT INTO job_files (merchant_id, job_id, part, file_key)
VALUES ($1, $2, $3, $4)
"""
_SAVE_WRITTEN = """
UPDATE job_files
SET size_bytes = $4, next_cursor = $5
WHERE merchant_id = $1 AND job_id = $2 AND part = $3
"""
_REMOVE = """
DELETE FROM job_files
WHERE merchant_id = $1 AND job_id = $2 AND part = $3
"""


@dataclass(frozen=True, slots=True)
class FilePart:
    part: int
    file_key: str
    # None as long as it is being written.
    size_bytes: int | None = None
    # Where the next part begins; of a written one none: it is the last.
    next_cursor: str | None = None


async def load_files(tx: Connection, merchant_id: int, job_id: UUID) -> Sequence[FilePart]:
    """In their order."""
    return [FilePart(*row) for row in await tx.fetch(_LOAD, merchant_id, job_id)]


async def insert_file(tx: Connection, merchant_id: int, job_id: UUID, part: FilePart) -> None:
    await tx.execute(_INSERT, merchant_id, job_id, part.part, part.file_key)


async def save_written(tx: Connection, merchant_id: int, job_id: UUID, part: FilePart) -> None:
    await tx.execute(
        _SAVE_WRITTEN, merchant_id, job_id, part.part, part.size_bytes, part.next_cursor
    )


async def remove_file(tx: Connection, merchant_id: int, job_id: UUID, part: int) -> None:
    await tx.execute(_REMOVE, merchant_id, job_id, part)
