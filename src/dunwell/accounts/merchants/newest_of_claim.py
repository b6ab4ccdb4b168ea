"""Lists of what one claim has of a kind, the newest first, page by page: in the order of the list
over all claims, with its rows held back in the same way."""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import BEHIND, HELD_BACK, FoundKeys, Key, ListedTable
from dunwell.platform.database.sql import Conditions

# A claim has few of a kind, which are sorted: OFFSET keeps the planner from walking the list of all
# claims for them. Each list names its index that begins with the claim.
_FIND = """
SELECT l.written_by::text AS written_by, l.{key} AS key
FROM (
    SELECT l.*
    FROM {table} l
    WHERE l.merchant_id = $1 AND l.claim_id = $2
    OFFSET 0
) l
WHERE true
{filters}
ORDER BY l.written_by DESC, l.{key} DESC
LIMIT $3
"""


async def find_newest_of_claim(
    work: Work, listed: ListedTable[Key], claim_id: int, *, limit: int, cursor: str | None
) -> FoundKeys[Key]:
    """The keys of a page. The list's cursors are owned by the merchant and the claim. Raises
    ValidationError for a bad cursor."""
    owner = (work.merchant_id, claim_id)
    conditions = Conditions(work.merchant_id, claim_id, limit + 1)
    if cursor is None:
        conditions.add(HELD_BACK)
    else:
        # Nothing behind a place is held back.
        conditions.add(listed.compose(BEHIND), *listed.read(owner, cursor))
    statement = listed.compose(_FIND, filters=conditions.render())
    rows = await work.tx.fetch(statement, *conditions.values)
    keys = [row["key"] for row in rows[:limit]]
    if len(rows) <= limit:
        return FoundKeys(keys, None)
    last = rows[limit - 1]
    return FoundKeys(keys, listed.write(owner, last["written_by"], last["key"]))
