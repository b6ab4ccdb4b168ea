"""The SQL of the files attached to one claim: rows in, values out, no rules.

Every change touches the claim's row, so that what was rendered for it is rendered anew.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from dunwell.core.files.attached import AttachedFile
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_COLUMNS = (
    "a.attachment_id, a.ticket_id, u.friendly_name, u.file_name, u.content_type, u.size_bytes,"
    " a.created_at, u.storage_key"
)
_JOINED = "attachments a JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = a.ticket_id"
# By primary keys.
_LOAD = compose(
    """
SELECT {columns}
FROM {joined}
WHERE a.merchant_id = $1 AND a.claim_id = $2 AND a.attachment_id = ANY($3::uuid[])
""",
    columns=_COLUMNS,
    joined=_JOINED,
)
# Newest first; a debtor's page nests it. By primary key; a claim has few.
LOAD_ATTACHED = compose(
    """
SELECT {columns}
FROM {joined}
WHERE a.merchant_id = $1 AND a.claim_id = $2
ORDER BY a.created_at DESC, a.attachment_id DESC
LIMIT $3
""",
    columns=_COLUMNS,
    joined=_JOINED,
)
_SAVE = """
WITH touched AS (
    UPDATE claims SET updated_at = $5 WHERE merchant_id = $1 AND claim_id = $2
)
INSERT INTO attachments (merchant_id, claim_id, attachment_id, ticket_id, position, created_at)
SELECT $1, $2, $3, $4, coalesce(max(position) + 1, 0), $5
FROM attachments
WHERE merchant_id = $1 AND claim_id = $2
"""
# An upload's ticket runs out with its last use, and no earlier: sweeps pass over those in use.
# Written whether or not this use was the last, so that two that go at once need not see each other.
_RELEASED = """
UPDATE uploads SET expires_at = greatest(expires_at, $5)
WHERE merchant_id = $1
  AND ticket_id = (SELECT ticket_id FROM attachments
                   WHERE merchant_id = $1 AND claim_id = $2 AND attachment_id = $3)
"""
_REPLACE = compose(
    """
WITH touched AS (
    UPDATE claims SET updated_at = $4 WHERE merchant_id = $1 AND claim_id = $2
), released AS ({released})
UPDATE attachments SET ticket_id = $6
WHERE merchant_id = $1 AND claim_id = $2 AND attachment_id = $3
""",
    released=_RELEASED,
)
_DELETE = compose(
    """
WITH touched AS (
    UPDATE claims SET updated_at = $4 WHERE merchant_id = $1 AND claim_id = $2
), released AS ({released})
DELETE FROM attachments
WHERE merchant_id = $1 AND claim_id = $2 AND attachment_id = $3
""",
    released=_RELEASED,
)


async def load_attached(
    tx: Connection, merchant_id: int, claim_id: int, attachment_id: UUID
) -> AttachedFile | None:
    found = await load_attachments(tx, merchant_id, claim_id, [attachment_id])
    return found.get(attachment_id)


async def load_attachments(
    tx: Connection, merchant_id: int, claim_id: int, attachment_ids: Sequence[UUID]
) -> Mapping[UUID, AttachedFile]:
    """By id."""
    rows = await tx.fetch(_LOAD, merchant_id, claim_id, list(attachment_ids))
    return {row["attachment_id"]: _read(row) for row in rows}


async def load_all_attached(
    tx: Connection, merchant_id: int, claim_id: int, *, limit: int | None = None
) -> list[AttachedFile]:
    """The claim's, the newest first."""
    rows = await tx.fetch(LOAD_ATTACHED, merchant_id, claim_id, limit)
    return [_read(row) for row in rows]


async def save_attachment(
    tx: Connection, claim: tuple[int, int], attachment_id: UUID, ticket_id: UUID, now: datetime
) -> None:
    """Behind the others of a locked claim. claim: the merchant's id and the claim's."""
    await tx.execute(_SAVE, *claim, attachment_id, ticket_id, now)


async def save_replacement(
    tx: Connection, claim: tuple[int, int], attachment_id: UUID, ticket_id: UUID, *,
    now: datetime, real_now: datetime,
) -> None:  # fmt: skip
    """Put another file in an attachment's place; the former's ticket loses this use."""
    await tx.execute(_REPLACE, *claim, attachment_id, now, real_now, ticket_id)


async def delete_attachment(
    tx: Connection,
    claim: tuple[int, int],
    attachment_id: UUID,
    *,
    now: datetime,
    real_now: datetime,
) -> None:
    """From a locked claim; the file's ticket loses this use."""
    await tx.execute(_DELETE, *claim, attachment_id, now, real_now)


def _read(row: Row) -> AttachedFile:
    return AttachedFile(**dict(row))
