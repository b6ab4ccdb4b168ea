"""The SQL of items that come and go after a claim was created: rows in, values out, no rules.

The claim must be locked. Each change touches its row: what was rendered for it is rendered anew.
"""

from collections.abc import Collection
from datetime import datetime

from dunwell.core.claims.balance import Item
from dunwell.core.claims.states import Status
from dunwell.platform.database.database import Connection

_ADD = """
WITH touched AS (
    UPDATE claims SET updated_at = $3 WHERE merchant_id = $1 AND claim_id = $2
)
INSERT INTO items (merchant_id, claim_id, position, reference, type, value_cents, item_date,
                   due_date, fee_of)
VALUES ($1, $2, $4, $5, $6, $7, $8, $9, $10)
RETURNING item_id
"""
# By primary key.
_DELETE = """
WITH touched AS (
    UPDATE claims SET updated_at = $3 WHERE merchant_id = $1 AND claim_id = $2
)
DELETE FROM items WHERE merchant_id = $1 AND claim_id = $2 AND item_id = ANY($4::bigint[])
"""
# As when a payment collects it: the next step's due time is kept for a reversal.
_COLLECT = """
UPDATE claims
SET status = 'COLLECTED', status_before_collected = $3, resume_at = coalesce(due_at, resume_at),
    due_at = NULL, updated_at = $4
WHERE merchant_id = $1 AND claim_id = $2
"""


async def save_item(
    tx: Connection, merchant_id: int, claim_id: int, item: Item, now: datetime
) -> int:
    """The new item's id; the one it has is not looked at."""
    item_id: int = await tx.fetchval(
        _ADD, merchant_id, claim_id, now, item.position, item.reference, item.type,
        item.value_cents, item.item_on, item.due_on, item.fee_of,
    )  # fmt: skip
    return item_id


async def delete_items(
    tx: Connection, merchant_id: int, claim_id: int, item_ids: Collection[int], now: datetime
) -> None:
    await tx.execute(_DELETE, merchant_id, claim_id, now, list(item_ids))


async def save_collected(
    tx: Connection, merchant_id: int, claim_id: int, left: Status, now: datetime
) -> None:
    """`left`: the state it returns to when a payment is reversed."""
    await tx.execute(_COLLECT, merchant_id, claim_id, left, now)
