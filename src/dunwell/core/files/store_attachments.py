"""The SQL of the files attached to one claim: rows in, values out, no rules.

Every change touches the claim's row, so that what was rendered for it is rendered anew.
"""

from datetime import datetime
from uuid import UUID

from dunwell.core.claims.part_cursor import Place
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
WHERE a.merchant_id = $1 AND a.claim_id = $2 AND a.attachment_id = $3
""",
    columns=_COLUMNS,
    joined=_JOINED,
)
# Newest first; a debtor's page nests it. By primary key; a claim has few.
LOAD_PAGE = compose(
    """
SELECT {columns}
FROM {joined}
WHERE a.merchant_id = $1 AND a.claim_id = $2
  AND ($3::timestamptz IS NULL OR (a.created_at, a.attachment_id) < ($3, $4::uuid))
ORDER BY a.created_at DESC, a.attachment_id DESC
LIMIT $5
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
    row = await tx.fetchrow(_LOAD, merchant_id, claim_id, attachment_id)
    return None if row is None else _read(row)


async def load_all_attached(
    tx: Connection, merchant_id: int, claim_id: int, *, limit: int | None = None,
    place: Place | None = None,
) -> list[AttachedFile]:  # fmt: skip
    """The claim's, the newest first, behind a place."""
    at, attachment_id = (None, None) if place is None else (place.at, place.part_id)
    rows = await tx.fetch(LOAD_PAGE, merchant_id, claim_id, at, attachment_id, limit)
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
