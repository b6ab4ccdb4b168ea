"""The SQL that makes open transactions new, so that they are matched again."""

from datetime import date

from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# Open transactions that no person has decided about. One that resembles another entry is left to a
# person.
_UNDECIDED = """t.merchant_id = $1 AND t.state = 'OPEN' AND NOT t.is_decided
      AND t.resembles_on IS NULL"""
# Uses bank_entries_statement, then the primary key.
_RENEW_STATEMENT = compose(
    """
WITH renewed AS (
    UPDATE bank_transactions t
    SET state = 'NEW'
    FROM bank_entries e
    WHERE e.merchant_id = $1 AND e.account = $2 AND e.statement_hash = $3
      AND t.entry_id = e.entry_id AND {undecided}
    RETURNING t.entry_id
)
SELECT count(*) FROM renewed
""",
    undecided=_UNDECIDED,
)
# Uses bank_transactions_open. Transactions that made the matching fail before are left out, and
# those that a person decides about at this moment.
_RENEW_RECENT = compose(
    """
WITH recent AS (
    SELECT t.entry_id, t.number
    FROM bank_transactions t
    WHERE t.account = $2 AND t.booked_on >= $3 AND t.problem IS NULL
      AND {undecided}
    ORDER BY t.booked_on DESC, t.entry_id DESC
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
), renewed AS (
    UPDATE bank_transactions n
    SET state = 'NEW'
    FROM recent
    WHERE n.merchant_id = $1 AND n.entry_id = recent.entry_id AND n.number = recent.number
    RETURNING n.entry_id
)
SELECT count(*) FROM renewed
""",
    undecided=_UNDECIDED,
)


async def renew_statement(
    tx: Connection, merchant_id: int, account: str, statement_hash: bytes
) -> int:
    """Set the open transactions of a statement that no person has decided about to NEW. Return how
    many there are."""
    count: int = await tx.fetchval(_RENEW_STATEMENT, merchant_id, account, statement_hash)
    return count


async def renew_recent(
    tx: Connection, merchant_id: int, account: str, since: date, limit: int
) -> int:
    """Set the latest open transactions of an account that no person has decided about to NEW.
    Return how many there are."""
    count: int = await tx.fetchval(_RENEW_RECENT, merchant_id, account, since, limit)
    return count
