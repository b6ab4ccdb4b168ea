"""Finds merchants by id, key or name, for who chooses one to work at."""

from collections.abc import Sequence
from dataclasses import dataclass

from dunwell.platform.database.database import Connection

# By primary key; merchants are few, and a screen of them is read.
_FIND = """
SELECT merchant_id, key, name, sandbox_now IS NOT NULL AS is_sandbox
FROM merchants
WHERE merchant_id > $1
    AND ($2::integer[] IS NULL OR merchant_id = ANY($2))
    AND ($3 = '' OR strpos(lower(name), $3) > 0 OR strpos(lower(key), $3) > 0
         OR merchant_id::text = $3)
ORDER BY merchant_id
LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class FoundMerchant:
    merchant_id: int
    key: str
    name: str
    is_sandbox: bool


async def search_merchants(
    tx: Connection, query: str, *, among: Sequence[int] | None, after: int, limit: int
) -> list[FoundMerchant]:
    """In the order of their ids, behind `after`. among: no others; None: all of them."""
    rows = await tx.fetch(_FIND, after, among, query.lower(), limit)
    return [FoundMerchant(**row) for row in rows]
