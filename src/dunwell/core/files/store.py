"""The SQL of uploads, of the storage they use, and of the files attached to claims."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.core.files.upload import AttachedFile, PreparedUpload, StorageUse, render_download_name
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_LOAD_USE = "SELECT coalesce((SELECT used_bytes FROM storage_use WHERE merchant_id = $1), 0)"
_LOCK = "SELECT used_bytes FROM storage_use WHERE merchant_id = $1 FOR UPDATE"
_SAVE_USE = "UPDATE storage_use SET used_bytes = $2 WHERE merchant_id = $1"
# A merchant's row is inserted with the first upload.
_INSERT_USE = """
INSERT INTO storage_use (merchant_id, used_bytes)
VALUES ($1, 0)
ON CONFLICT (merchant_id) DO NOTHING
"""
# Merchants near their limit, fullest first.
_LIST_NEAR = """
SELECT merchant.key, use.used_bytes
FROM storage_use AS use
JOIN merchants AS merchant USING (merchant_id)
WHERE use.used_bytes >= $1
ORDER BY use.used_bytes DESC, merchant.key
LIMIT $2
"""


async def load_storage_use(tx: Connection, merchant_id: int, limit_bytes: int) -> StorageUse:
    return StorageUse(await tx.fetchval(_LOAD_USE, merchant_id), limit_bytes)


async def lock_used_bytes(tx: Connection, merchant_id: int) -> int:
    """Return the used bytes, locked until the transaction ends."""
    used_bytes: int | None = await tx.fetchval(_LOCK, merchant_id)
    if used_bytes is None:
        await tx.execute(_INSERT_USE, merchant_id)
        used_bytes = await tx.fetchval(_LOCK, merchant_id)
    assert used_bytes is not None
    return used_bytes


async def save_used_bytes(tx: Connection, merchant_id: int, used_bytes: int) -> None:
    await tx.execute(_SAVE_USE, merchant_id, used_bytes)


async def list_merchants_near_limit(
    tx: Connection, min_bytes: int, limit: int
) -> list[tuple[str, int]]:
    """Return key and used bytes of the merchants whose files take at least `min_bytes`, the fullest
    first."""
    rows = await tx.fetch(_LIST_NEAR, min_bytes, limit)
    return [(row["key"], row["used_bytes"]) for row in rows]


_INSERT = """
INSERT INTO uploads
    (merchant_id, ticket_id, friendly_name, file_name, content_type, size_bytes, sha256,
     storage_key, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""
_SAVE_EXPIRY = """
UPDATE uploads SET expires_at = $3
WHERE merchant_id = $1 AND ticket_id = $2
RETURNING ticket_id
"""

# Runs for every claim with attachments. Uses the primary key, then attachments_ticket.
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

# Finds uploads of all merchants. Uses uploads_expiry, then attachments_ticket and
# dispute_files_ticket. Tickets of a sandbox merchant expire by its own clock, which does not move
# by itself.
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
    """Insert the upload and count its bytes. For an upload that is stored already, only the expiry
    is set.

    `limit_bytes` is the storage limit to check, or None if it was checked before. Raises
    StorageFull.
    """
    merchant_id = prepared.merchant_id
    if await tx.fetchval(_SAVE_EXPIRY, merchant_id, prepared.ticket_id, expires_at) is not None:
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


async def delete_uploads(tx: Connection, merchant_id: int, ticket_ids: Collection[UUID]) -> None:
    """Delete the uploads, whose contents must be deleted already, and subtract their bytes."""
    used_bytes = await lock_used_bytes(tx, merchant_id)
    rows = await tx.fetch(_REMOVE, merchant_id, list(ticket_ids))
    freed_bytes = sum(row["size_bytes"] for row in rows)
    await save_used_bytes(tx, merchant_id, used_bytes - freed_bytes)


async def load_usable_tickets(
    tx: Connection, merchant_id: int, ticket_ids: Collection[UUID], now: datetime
) -> set[UUID]:
    """Return which of the merchant's tickets are valid. A ticket is valid until it expires, and as
    long as its upload belongs to an attachment."""
    rows = await tx.fetch(_LOAD_USABLE, merchant_id, list(ticket_ids), now)
    return {row["ticket_id"] for row in rows}


async def list_unused_uploads(
    tx: Connection, since: datetime, until: datetime, limit: int
) -> list[UnusedUpload]:
    """Return unused uploads whose tickets expired from `since` (inclusive) until `until`
    (exclusive), earliest expiry first."""
    return [UnusedUpload(**row) for row in await tx.fetch(_FIND_UNUSED, since, until, limit)]


_COLUMNS = (
    "a.attachment_id, a.ticket_id, u.friendly_name, u.file_name, u.content_type, u.size_bytes,"
    " a.created_at, u.storage_key"
)
_JOINED = "attachments a JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = a.ticket_id"
# Uses primary keys.
_LOAD_ATTACHED_BY_ID = compose(
    """
SELECT {columns}
FROM {joined}
WHERE a.merchant_id = $1 AND a.claim_id = $2 AND a.attachment_id = ANY($3::uuid[])
""",
    columns=_COLUMNS,
    joined=_JOINED,
)
# Newest first. The statement of the debtor's page nests this one. Uses the primary key; a claim has
# few attachments.
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
_SAVE_ATTACHMENT = """
WITH touched AS (
    UPDATE claims SET updated_at = $5 WHERE merchant_id = $1 AND claim_id = $2
)
INSERT INTO attachments (merchant_id, claim_id, attachment_id, ticket_id, position, created_at)
SELECT $1, $2, $3, $4, coalesce(max(position) + 1, 0), $5
FROM attachments
WHERE merchant_id = $1 AND claim_id = $2
"""
# Extends the expiry of the ticket to the present, as if it expired with its last use. This is done
# even if other attachments use the upload, so that two concurrent deletions do not depend on each
# other; sweeps skip uploads in use.
_POSTPONE_EXPIRY = """
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
    released=_POSTPONE_EXPIRY,
)
_DELETE = compose(
    """
WITH touched AS (
    UPDATE claims SET updated_at = $4 WHERE merchant_id = $1 AND claim_id = $2
), released AS ({released})
DELETE FROM attachments
WHERE merchant_id = $1 AND claim_id = $2 AND attachment_id = $3
""",
    released=_POSTPONE_EXPIRY,
)


async def find_attached_file(
    tx: Connection, merchant_id: int, claim_id: int, attachment_id: UUID
) -> AttachedFile | None:
    attachments = await load_listed_attachments(tx, merchant_id, claim_id, [attachment_id])
    return attachments.get(attachment_id)


async def load_listed_attachments(
    tx: Connection, merchant_id: int, claim_id: int, attachment_ids: Sequence[UUID]
) -> Mapping[UUID, AttachedFile]:
    """Return the attachments by id."""
    rows = await tx.fetch(_LOAD_ATTACHED_BY_ID, merchant_id, claim_id, list(attachment_ids))
    return {row["attachment_id"]: _build_attached_file(row) for row in rows}


async def list_attached_files(
    tx: Connection, merchant_id: int, claim_id: int, *, limit: int | None = None
) -> list[AttachedFile]:
    """Return the claim's attachments, newest first."""
    rows = await tx.fetch(LOAD_ATTACHED, merchant_id, claim_id, limit)
    return [_build_attached_file(row) for row in rows]


async def save_attachment(
    tx: Connection, claim: tuple[int, int], attachment_id: UUID, ticket_id: UUID, now: datetime
) -> None:
    """Add an attachment to a locked claim. `claim` has the ids of merchant and claim."""
    await tx.execute(_SAVE_ATTACHMENT, *claim, attachment_id, ticket_id, now)


async def save_replacement(
    tx: Connection, claim: tuple[int, int], attachment_id: UUID, ticket_id: UUID, *,
    now: datetime, real_now: datetime,
) -> None:  # fmt: skip
    """Replace the file of an attachment. The upload of the previous file can expire from `real_now`
    on."""
    await tx.execute(_REPLACE, *claim, attachment_id, now, real_now, ticket_id)


async def delete_attachment(
    tx: Connection,
    claim: tuple[int, int],
    attachment_id: UUID,
    *,
    now: datetime,
    real_now: datetime,
) -> None:
    """Delete an attachment of a locked claim. Its upload can expire from `real_now` on."""
    await tx.execute(_DELETE, *claim, attachment_id, now, real_now)


def _build_attached_file(row: Row) -> AttachedFile:
    return AttachedFile(**dict(row))


# Uses primary keys.
_LOAD_OF_CLAIMS = """
SELECT a.claim_id, a.attachment_id, u.friendly_name, u.content_type, u.storage_key, u.size_bytes
FROM attachments a
JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = a.ticket_id
WHERE a.merchant_id = $1 AND a.claim_id = ANY($2::bigint[])
ORDER BY a.claim_id, a.position
"""
_LOAD_OF_CLAIMS_BY_ID = """
SELECT a.claim_id, a.attachment_id, u.friendly_name, u.content_type, u.storage_key, u.size_bytes
FROM attachments a
JOIN uploads u ON u.merchant_id = $1 AND u.ticket_id = a.ticket_id
WHERE a.merchant_id = $1 AND a.claim_id = ANY($2::bigint[])
  AND a.attachment_id = ANY($3::uuid[])
"""


@dataclass(frozen=True, slots=True)
class MessageAttachment:
    attachment_id: UUID
    friendly_name: str
    content_type: str
    storage_key: str
    size_bytes: int

    @property
    def file_name(self) -> str:
        return render_download_name(self.friendly_name, self.content_type)


async def load_attachments(
    tx: Connection, merchant_id: int, claim_ids: Collection[int]
) -> dict[int, list[MessageAttachment]]:
    """Return the attachments by claim id, in the order of their positions. Claims without
    attachments are left out."""
    attachments_by_claim: dict[int, list[MessageAttachment]] = {}
    for row in await tx.fetch(_LOAD_OF_CLAIMS, merchant_id, list(claim_ids)):
        attachments_by_claim.setdefault(row["claim_id"], []).append(_build_message_attachment(row))
    return attachments_by_claim


async def load_attachments_by_id(
    tx: Connection, merchant_id: int, wanted: Mapping[int, Collection[UUID]]
) -> dict[UUID, MessageAttachment]:
    """Return the attachments by id. `wanted` has the ids by claim id. Attachments that were deleted
    in the meantime are left out."""
    ids = [attachment_id for ids_of_claim in wanted.values() for attachment_id in ids_of_claim]
    rows = await tx.fetch(_LOAD_OF_CLAIMS_BY_ID, merchant_id, list(wanted), ids)
    return {row["attachment_id"]: _build_message_attachment(row) for row in rows}


def _build_message_attachment(row: Row) -> MessageAttachment:
    return MessageAttachment(
        attachment_id=row["attachment_id"],
        friendly_name=row["friendly_name"],
        content_type=row["content_type"],
        storage_key=row["storage_key"],
        size_bytes=row["size_bytes"],
    )
