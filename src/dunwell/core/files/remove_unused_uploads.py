"""Remove uploads whose ticket ran out unused.

Content first: a row without content is found again after a crash, content without a row never.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.files.sealed_files import SealedFiles
from dunwell.core.files.store import find_unused_uploads, remove_uploads
from dunwell.platform.resources import Resources

UPLOADS_AT_ONCE = 200
# A claim that was being created as the ticket ran out is committed or given up by then.
GRACE = timedelta(hours=1)


async def remove_unused_uploads(resources: Resources, storage: SealedFiles, since: datetime) -> int:
    """Remove at most UPLOADS_AT_ONCE that ran out between `since` and GRACE ago; how many it were.

    As many as UPLOADS_AT_ONCE: call again with the same `since`.
    """
    until = resources.clock.now() - GRACE
    async with resources.database.connection() as connection:
        unused = await find_unused_uploads(connection, since, until, UPLOADS_AT_ONCE)
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
        await remove_uploads(tx, merchant_id, ticket_ids)
        work = Work.open(resources, tx, merchant, SYSTEM)
        await save_audit(work, "upload.expire", f"merchant:{merchant_id}", uploads=len(ticket_ids))
