"""The SQL of uploads."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.core.files.storage_use import StorageUse
from dunwell.core.files.store_use import lock_used_bytes, save_used_bytes
from dunwell.core.files.upload import PreparedUpload
from dunwell.platform.database.database import Connection

_INSERT = """
INSERT INTO uploads
    (merchant_id, ticket_id, friendly_name, file_name, content_type, size_bytes, sha256,
     storage_key, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""
_KEEP = """
UPDATE uploads SET expires_at = $3
WHERE merchant_id = $1 AND ticket_id = $2
RETURNING ticket_id
"""

# Hot: every claim with attachments. Rides on the primary key, then on attachments_ticket.
_LOAD_USABLE = """
SELECT u.ticket_id
FROM uploads u
WHERE u.merchant_id = $1
    AND u.ticket_id = ANY($2::uuid[])
    AND (u.expires_at > $3 OR EXISTS (
        SELECT FROM attachments a
        WHERE a.merchant_id = u.merchant_id AND a.ticket_id = u.ticket_id
    ))
"""

_REMOVE = """
DELETE FROM uploads
WHERE merchant_id = $1 AND ticket_id = ANY($2::uuid[])
RETURNING size_bytes
"""

# Goes over all merchants, as a sweep does. Rides on uploads_expiry, then on attachments_ticket and
# dispute_files_ticket.
# A sandbox merchant's standing clock keeps its tickets alive.
_FIND_UNUSED = """
SELECT upload.merchant_id, upload.ticket_id, upload.storage_key
FROM uploads AS upload
JOIN merchants AS merchant USING (merchant_id)
WHERE upload.expires_at >= $1
    AND upload.expires_at < $2
    AND (merchant.sandbox_now IS NULL OR upload.expires_at < merchant.sandbox_now)
    AND NOT EXISTS (
        SELECT FROM attachments AS attachment
        WHERE attachment.merchant_id = upload.merchant_id
            AND attachment.ticket_id = upload.ticket_id
    )
    AND NOT EXISTS (
        SELECT FROM dispute_files AS evidence
        WHERE evidence.merchant_id = upload.merchant_id
            AND evidence.ticket_id = upload.ticket_id
    )
ORDER BY upload.expires_at
LIMIT $3
"""


class UnusedUpload(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    ticket_id: UUID
    storage_key: str


async def save_upload(
    tx: Connection, prepared: PreparedUpload, created_at: datetime, expires_at: datetime,
    *, limit_bytes: int | None = None,
) -> None:  # fmt: skip
    """One that was put away before lives until another instant from now on; another one is counted.

    limit_bytes: the most that the merchant's uploads may take with it; none for one whose room was
    checked before. Raises StorageFull.
    """
    merchant_id = prepared.merchant_id
    if await tx.fetchval(_KEEP, merchant_id, prepared.ticket_id, expires_at) is not None:
        return
    used_bytes = await lock_used_bytes(tx, merchant_id)
    if limit_bytes is not None:
        StorageUse(used_bytes, limit_bytes).check_room(prepared.size_bytes)
    await save_used_bytes(tx, merchant_id, used_bytes + prepared.size_bytes)
    await tx.execute(
        _INSERT, prepared.merchant_id, prepared.ticket_id, prepared.friendly_name,
        prepared.file_name, prepared.content_type, prepared.size_bytes, prepared.sha256,
        prepared.storage_key, created_at, expires_at,
    )  # fmt: skip


async def remove_uploads(tx: Connection, merchant_id: int, ticket_ids: Collection[UUID]) -> None:
    """Their contents must be gone; they are no longer counted."""
    used_bytes = await lock_used_bytes(tx, merchant_id)
    rows = await tx.fetch(_REMOVE, merchant_id, list(ticket_ids))
    freed_bytes = sum(row["size_bytes"] for row in rows)
    await save_used_bytes(tx, merchant_id, used_bytes - freed_bytes)


async def load_usable_tickets(
    tx: Connection, merchant_id: int, ticket_ids: Collection[UUID], now: datetime
) -> set[UUID]:
    """This merchant's live ones: an unused one until it expires, a used one always."""
    rows = await tx.fetch(_LOAD_USABLE, merchant_id, list(ticket_ids), now)
    return {row["ticket_id"] for row in rows}


async def find_unused_uploads(
    tx: Connection, since: datetime, until: datetime, limit: int
) -> list[UnusedUpload]:
    """Whose ticket ran out from `since` on and before `until`, the first to run out first."""
    return [UnusedUpload(**row) for row in await tx.fetch(_FIND_UNUSED, since, until, limit)]
