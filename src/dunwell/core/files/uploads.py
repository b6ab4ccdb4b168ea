"""Accept uploads. A child process checks and rewrites the file while no transaction is open; then
the upload is recorded. The upload is deleted if its ticket expires unused."""

import asyncio
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles, build_upload_key
from dunwell.core.files.store import (
    delete_uploads,
    list_unused_uploads,
    load_storage_use,
    save_upload,
)
from dunwell.core.files.upload import (
    MAX_FILE_BYTES,
    NewUpload,
    PreparedUpload,
    StorageUse,
    check_claimed_type,
    find_name_faults,
)
from dunwell.platform.crypto import sha256
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Fault, PayloadTooLarge, ValidationError
from dunwell.platform.resources import Resources


async def get_storage_use(work: Work, limit_bytes: int) -> StorageUse:
    work.require(Right.READ_CLAIMS)
    return await load_storage_use(work.tx, work.merchant_id, limit_bytes)


async def check_storage_room(
    database: Database, merchant_id: int, size_bytes: int, limit_bytes: int
) -> None:
    """Check early whether a file fits, before it is received. `store_unused_file` checks again.
    Raises StorageFull."""
    async with database.connection() as connection:
        use = await load_storage_use(connection, merchant_id, limit_bytes)
    use.check_room(size_bytes)


# How long an unused ticket is valid (CONTRACT 3), in the merchant's time.
_TICKET_LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class CheckedUpload:
    """A checked file and its rewritten content."""

    prepared: PreparedUpload
    content: bytes


async def check_upload(
    inspector: Inspector, merchant_id: int, ticket_id: UUID, upload: NewUpload,
    sender: Hashable = None,
) -> CheckedUpload:  # fmt: skip
    """Check an upload. Nothing is stored yet; `store_unused_file` does that.

    `ticket_id` is a new id, the ticket that `accept_upload` returns. Files of one `sender`, by
    default the merchant, are checked one after another. Raises ValidationError, PayloadTooLarge,
    UnsupportedMediaType, RateLimited, Unavailable.
    """
    _check_form(upload)
    cleaned = await inspector.clean(upload.content, sender or merchant_id)
    check_claimed_type(upload.file_name, cleaned.content_type)
    # Done in a thread, because hashing ten megabytes would delay other requests.
    digest = await asyncio.to_thread(sha256, cleaned.content)
    prepared = PreparedUpload(
        merchant_id=merchant_id,
        ticket_id=ticket_id,
        friendly_name=upload.friendly_name,
        file_name=upload.file_name,
        content_type=cleaned.content_type,
        size_bytes=len(cleaned.content),
        sha256=digest,
        storage_key=build_upload_key(merchant_id, ticket_id),
    )
    return CheckedUpload(prepared, cleaned.content)


async def accept_upload(work: Work, prepared: PreparedUpload) -> UUID:
    """Record the upload in the work's transaction and return its ticket id."""
    work.require(Right.CHANGE_CLAIMS)
    assert prepared.merchant_id == work.merchant_id
    await save_upload(work.tx, prepared, work.now, work.now + _TICKET_LIFETIME)
    await save_audit(
        work, "upload.accept", f"ticket:{prepared.ticket_id}",
        after={"contentType": prepared.content_type, "sizeBytes": prepared.size_bytes},
        contentType=prepared.content_type, sizeBytes=prepared.size_bytes,
    )  # fmt: skip
    return prepared.ticket_id


def _check_form(upload: NewUpload) -> None:
    faults = find_name_faults(upload.friendly_name, upload.file_name)
    if not upload.content:
        faults.append(Fault("/fileName", "The file is empty; send one with content.", "EMPTY_FILE"))
    if faults:
        raise ValidationError(faults)
    if len(upload.content) > MAX_FILE_BYTES:
        raise PayloadTooLarge(
            f"A file may have at most {MAX_FILE_BYTES:,} bytes; make it smaller.",
            limit=MAX_FILE_BYTES,
        )


async def store_unused_file(
    database: Database, storage: SealedFiles, checked: CheckedUpload, now: datetime,
    *, expires_at: datetime, limit_bytes: int,
) -> None:  # fmt: skip
    """Store a file that is not used yet, until `expires_at`. `limit_bytes` is the merchant's
    storage limit.

    Raises StorageFull, and then stores nothing. Raises Unavailable if the content cannot be stored;
    the upload's row then expires, and its bytes count until it does.
    """
    async with database.transaction() as tx:
        await save_upload(tx, checked.prepared, now, expires_at, limit_bytes=limit_bytes)
    await storage.save(checked.prepared.storage_key, checked.content)


async def discard_uploads(
    database: Database, storage: SealedFiles, merchant_id: int, ticket_ids: Collection[UUID]
) -> None:
    """Delete unused uploads, first their contents. Raises Unavailable if the storage is not
    available; all rows of the uploads then stay until they expire."""
    if not ticket_ids:
        return
    for ticket_id in ticket_ids:
        await storage.remove(build_upload_key(merchant_id, ticket_id))
    async with database.transaction() as tx:
        await delete_uploads(tx, merchant_id, ticket_ids)


UPLOADS_AT_ONCE = 200
# A claim that was being created when the ticket expired is committed or given up within this time.
GRACE = timedelta(hours=1)


async def remove_unused_uploads(resources: Resources, storage: SealedFiles, since: datetime) -> int:
    """Delete at most UPLOADS_AT_ONCE uploads that expired between `since` and GRACE ago, and return
    their number. If the result is UPLOADS_AT_ONCE, more may be left: repeat the call with the same
    `since`. Raises Unavailable if the storage is not available."""
    until = resources.clock.now() - GRACE
    async with resources.database.connection() as connection:
        unused = await list_unused_uploads(connection, since, until, UPLOADS_AT_ONCE)
    tickets: dict[int, list[UUID]] = {}
    for upload in unused:
        await storage.remove(upload.storage_key)
        tickets.setdefault(upload.merchant_id, []).append(upload.ticket_id)
    for merchant_id, ticket_ids in tickets.items():
        await _remove_rows(resources, merchant_id, ticket_ids)
    return len(unused)


async def _remove_rows(
    resources: Resources, merchant_id: int, ticket_ids: Collection[UUID]
) -> None:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        if merchant is None:
            return
        await delete_uploads(tx, merchant_id, ticket_ids)
        work = Work.open(resources, tx, merchant, SYSTEM)
        await save_audit(work, "upload.expire", f"merchant:{merchant_id}", uploads=len(ticket_ids))
