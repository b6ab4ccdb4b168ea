"""Search merchants by id, key or name, for a user who chooses the merchant to work for."""

from collections.abc import Sequence
from dataclasses import dataclass

from dunwell.platform.database.database import Connection

# Uses the primary key. There are few merchants, so names are compared without an index.
_SEARCH = """
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
    """Return merchants with ids above `after`, in the order of their ids. `among`: only these ids;
    None: all merchants."""
    rows = await tx.fetch(_SEARCH, after, among, query.lower(), limit)
    return [FoundMerchant(**row) for row in rows]
