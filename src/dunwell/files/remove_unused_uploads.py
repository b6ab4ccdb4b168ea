"""Remove uploads whose ticket ran out unused.

Content first: a row without content is found again after a crash, content without a row never.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.files.storage import Storage
from dunwell.files.store import remove_uploads
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.actor import SYSTEM
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store import load_merchant

UPLOADS_AT_ONCE = 200
# A claim that was being created as the ticket ran out is committed or given up by then.
GRACE = timedelta(hours=1)

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


async def remove_unused_uploads(resources: Resources, storage: Storage, since: datetime) -> int:
    """Remove at most UPLOADS_AT_ONCE that ran out between `since` and GRACE ago; how many it were.

    As many as UPLOADS_AT_ONCE: call again with the same `since`.
    """
    until = resources.clock.now() - GRACE
    async with resources.database.connection() as connection:
        rows = await connection.fetch(_FIND_UNUSED, since, until, UPLOADS_AT_ONCE)
    tickets: dict[int, list[UUID]] = {}
    for row in rows:
        await storage.remove(row["storage_key"])
        tickets.setdefault(row["merchant_id"], []).append(row["ticket_id"])
    for merchant_id, ticket_ids in tickets.items():
        await _remove_rows(resources, merchant_id, ticket_ids)
    return len(rows)


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
