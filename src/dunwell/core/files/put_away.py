"""Keeps a checked file that nothing uses yet, so that it never outlives its time.

Its row comes first and goes last, in transactions of their own: whatever crashes between, the row
is there, and `remove_unused_uploads` finds the content by it. What is used by then stays.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from dunwell.core.files.sealed_files import SealedFiles
from dunwell.core.files.storage import upload_key
from dunwell.core.files.store import remove_uploads, save_upload
from dunwell.core.files.upload_file import CheckedUpload
from dunwell.platform.database.database import Database


async def put_away(
    database: Database, storage: SealedFiles, checked: CheckedUpload, now: datetime,
    *, expires_at: datetime, limit_bytes: int,
) -> None:  # fmt: skip
    """expires_at: how long it may wait for its use. limit_bytes: the most that the merchant's
    uploads may take with it.

    Raises StorageFull, with nothing kept, and Unavailable; what was done until then is removed when
    its time is over, and counts until it is.
    """
    async with database.transaction() as tx:
        await save_upload(tx, checked.prepared, now, expires_at, limit_bytes=limit_bytes)
    await storage.save(checked.prepared.storage_key, checked.content)


async def throw_away(
    database: Database, storage: SealedFiles, merchant_id: int, ticket_ids: Collection[UUID]
) -> None:
    """Uploads that nothing uses. Raises Unavailable; what is left then runs out by itself."""
    if not ticket_ids:
        return
    for ticket_id in ticket_ids:
        await storage.remove(upload_key(merchant_id, ticket_id))
    async with database.transaction() as tx:
        await remove_uploads(tx, merchant_id, ticket_ids)
