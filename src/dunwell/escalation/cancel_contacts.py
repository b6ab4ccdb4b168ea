"""Cancels what was planned for claims and has not been handed over: nobody is contacted any more.

Written in the transaction that collects, ends or re-assigns the claims, which must be locked.
"""

from collections.abc import Collection
from datetime import datetime

from dunwell.kit.db import Connection

# By the unique key (merchant_id, claim_id, run, step_id, place).
_CANCEL = """
UPDATE communications
SET state = 'CANCELLED', settled_at = $3, lease_id = NULL, lease_until = NULL,
    held_by = NULL
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
  AND state IN ('PLANNED', 'ATTACHMENT_MISSING')
"""


async def cancel_contacts(
    tx: Connection, merchant_id: int, claim_ids: Collection[int], now: datetime
) -> None:
    await tx.execute(_CANCEL, merchant_id, list(claim_ids), now)
