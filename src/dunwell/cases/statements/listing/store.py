"""The SQL that lists the lines of statements and counts open transactions."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date

from dunwell.cases.statements.matches.store import BankTransaction, build_transaction
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

_TRANSACTION_COLUMNS = tuple(each.name for each in fields(BankTransaction))
# Uses bank_entries_statement, and the primary key of transactions.
_LIST_LINES = compose(
    """
SELECT e.position, e.status AS entry_status, e.amount_cents AS entry_cents,
       e.currency AS entry_currency, e.booked_on AS entry_booked_on, {columns}
FROM bank_entries e
LEFT JOIN bank_transactions t ON t.merchant_id = $1 AND t.entry_id = e.entry_id
WHERE e.merchant_id = $1 AND e.account = $2 AND e.statement_hash = $3
  AND (e.position, coalesce(t.number, 0)) > ($4, $5)
ORDER BY e.position, t.number
LIMIT $6
""",
    columns=", ".join(f"t.{name}" for name in _TRANSACTION_COLUMNS),
)
# Uses bank_transactions_open. Returns the number up to the limit.
_COUNT_OPEN = """
SELECT count(*)
FROM (
    SELECT
    FROM bank_transactions
    WHERE merchant_id = $1 AND account = $2 AND state = 'OPEN'
    LIMIT $3) o
"""


@dataclass(frozen=True, slots=True)
class StatementLine:
    """A transaction of a booked entry, or an entry that is not booked."""

    position: int
    entry_status: str
    entry_cents: int
    currency: str
    booked_on: date | None
    # None for an entry that is not booked.
    transaction: BankTransaction | None

    @property
    def place(self) -> tuple[int, int]:
        """The position and number after which the next lines begin."""
        return self.position, self.transaction.number if self.transaction else 0


async def list_lines(
    tx: Connection, merchant_id: int, statement: tuple[str, bytes], after: tuple[int, int],
    limit: int,
) -> list[StatementLine]:  # fmt: skip
    """Return the lines of a statement (account, hash) after this place, in the bank's order."""
    rows = await tx.fetch(_LIST_LINES, merchant_id, *statement, *after, limit)
    return [_build_line(row) for row in rows]


def _build_line(row: Mapping[str, object]) -> StatementLine:
    values = {name: row[name] for name in _TRANSACTION_COLUMNS}
    return StatementLine(
        position=row["position"],  # type: ignore[arg-type]
        entry_status=row["entry_status"],  # type: ignore[arg-type]
        entry_cents=row["entry_cents"],  # type: ignore[arg-type]
        currency=row["entry_currency"],  # type: ignore[arg-type]
        booked_on=row["entry_booked_on"],  # type: ignore[arg-type]
        transaction=None if row["entry_id"] is None else build_transaction(values),
    )


async def count_open_rows(tx: Connection, merchant_id: int, account: str, limit: int) -> int:
    """Return how many transactions need a person, counted up to the limit."""
    count: int = await tx.fetchval(_COUNT_OPEN, merchant_id, account, limit)
    return count
