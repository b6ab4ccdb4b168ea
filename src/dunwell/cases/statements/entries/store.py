"""The SQL of the entries of statements and of their transactions, while they are imported."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any
from uuid import UUID

from dunwell.cases.statements.entries.stored_entries import EntryRow, TransactionRow
from dunwell.cases.statements.formats.repeated_entries import PaymentMarks, StoredEntry
from dunwell.cases.statements.store import StatementHead
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# Uses the primary key.
_LOCK_ACCOUNT = """
SELECT
FROM bank_accounts
WHERE merchant_id = $1 AND account = $2
FOR NO KEY UPDATE
"""
# Uses bank_entries_pending.
_DELETE_PENDING = """
DELETE FROM bank_entries
WHERE merchant_id = $1 AND account = $2 AND entry_key IS NULL
"""
_ENTRY_COLUMNS = tuple(each.name for each in fields(EntryRow))
_TRANSACTION_COLUMNS = tuple(each.name for each in fields(TransactionRow))
# Entries are inserted in the order of their keys, so that two imports do not deadlock. Known
# entries are left out. Uses bank_entries_key.
_INSERT_ENTRIES = compose(
    """
INSERT INTO bank_entries (merchant_id, account, statement_hash, file_id, is_interim, {columns})
SELECT $1, $2, $3, $18, $19 AND status = 'BOOK', {columns}
FROM unnest($4::uuid[], $5::text[], $6::text[], $7::integer[], $8::bigint[], $9::text[],
            $10::date[], $11::date[], $12::text[], $13::bigint[], $14::boolean[], $15::text[],
            $16::text[], $17::text[])
    AS e ({columns})
ORDER BY entry_key
ON CONFLICT (merchant_id, account, entry_key) WHERE entry_key IS NOT NULL DO NOTHING
RETURNING entry_id
""",
    columns=", ".join(_ENTRY_COLUMNS),
)
# A transaction that resembles another entry is not matched: a person decides.
_INSERT_TRANSACTIONS = compose(
    """
INSERT INTO bank_transactions (merchant_id, account, state, {columns})
SELECT $1, $2, CASE WHEN $3 = 'NEW' AND resembles_on IS NOT NULL THEN 'OPEN' ELSE $3 END, {columns}
FROM unnest($4::uuid[], $5::integer[], $6::bigint[], $7::text[], $8::date[], $9::text[],
            $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[],
            $16::text[], $17::date[])
    AS t ({columns})
""",
    columns=", ".join(_TRANSACTION_COLUMNS),
)
# Uses bank_entries_reference.
_FIND_STORED = """
SELECT e.entry_id, e.bank_reference, e.amount_cents, e.currency, e.booked_on, e.charges_cents,
       e.statement_hash, t.transaction_count, t.end_to_end_id, t.payer_digest
FROM bank_entries e
JOIN bank_statements s
    ON s.merchant_id = $1 AND s.account = $2 AND s.statement_hash = e.statement_hash
CROSS JOIN LATERAL (
    SELECT count(*) AS transaction_count, min(o.end_to_end_id) AS end_to_end_id,
           (array_agg(o.counterparty_digest))[1] AS payer_digest
    FROM bank_transactions o
    WHERE o.merchant_id = $1 AND o.entry_id = e.entry_id) t
WHERE e.merchant_id = $1 AND e.account = $2 AND e.bank_reference = ANY($3::text[])
  AND e.booked_on BETWEEN $4 AND $5 AND e.status = 'BOOK' AND s.kind <> 'DETAILS'
ORDER BY e.booked_on, e.entry_id
"""
# The entries that notifications gave before their statement. Uses bank_entries_reference and
# bank_entries_key.
_FIND_NOTIFIED = """
SELECT e.entry_id, e.entry_key, e.bank_reference, e.amount_cents, e.currency, e.booked_on,
       e.charges_cents, e.statement_hash
FROM (
    SELECT * FROM bank_entries
    WHERE merchant_id = $1 AND account = $2 AND bank_reference = ANY($3::text[])
    UNION
    SELECT * FROM bank_entries
    WHERE merchant_id = $1 AND account = $2 AND entry_key = ANY($4::text[])
) e
JOIN bank_statements s
    ON s.merchant_id = $1 AND s.account = $2 AND s.statement_hash = e.statement_hash
WHERE s.kind = 'DETAILS' AND e.status = 'BOOK'
ORDER BY e.booked_on, e.entry_id
"""
# Uses the primary key.
_LIST_TRANSACTIONS = compose(
    """
SELECT {columns}
FROM bank_transactions
WHERE merchant_id = $1 AND entry_id = ANY($2::uuid[])
ORDER BY array_position($2::uuid[], entry_id), number
""",
    columns=", ".join(_TRANSACTION_COLUMNS),
)
_DELETE_ENTRIES = """
DELETE FROM bank_entries
WHERE merchant_id = $1 AND entry_id = ANY($2::uuid[])
"""
# Deletes the transactions only if none of them was matched or decided.
_DELETE_TRANSACTIONS = """
WITH free AS (
    SELECT t.entry_id
    FROM bank_transactions t
    WHERE t.merchant_id = $1 AND t.entry_id = $2
    GROUP BY t.entry_id
    HAVING bool_and(t.state IN ('NEW', 'OPEN', 'HELD') AND NOT t.is_decided AND t.matched_cents = 0
        AND NOT EXISTS (
            SELECT FROM bank_matches m WHERE m.merchant_id = $1 AND m.entry_id = $2))
)
DELETE FROM bank_transactions t
USING free
WHERE t.merchant_id = $1 AND t.entry_id = free.entry_id
RETURNING t.state, t.resembles_on
"""


async def lock_account(tx: Connection, merchant_id: int, account: str) -> None:
    """Let no other import store entries of the account until the transaction ends."""
    await tx.execute(_LOCK_ACCOUNT, merchant_id, account)


async def delete_pending_entries(tx: Connection, merchant_id: int, account: str) -> None:
    """Delete the entries of earlier statements that were not booked."""
    await tx.execute(_DELETE_PENDING, merchant_id, account)


async def insert_entries(
    tx: Connection, merchant_id: int, head: StatementHead, entries: Sequence[EntryRow], *,
    is_interim: bool = False,
) -> frozenset[UUID]:  # fmt: skip
    """Insert the entries that are not known, and return their ids. `is_interim` is true for
    the entries of an intraday report."""
    columns = [[getattr(each, name) for each in entries] for name in _ENTRY_COLUMNS]
    rows = await tx.fetch(
        _INSERT_ENTRIES, merchant_id, head.account, head.statement_hash, *columns, head.file_id,
        is_interim,
    )  # fmt: skip
    return frozenset(row["entry_id"] for row in rows)


async def insert_transactions(
    tx: Connection, merchant_id: int, account: str, state: str, rows: Sequence[TransactionRow]
) -> None:
    """Insert transactions. Those that are not held and resemble others get the state OPEN."""
    if rows:
        columns = [[getattr(each, name) for each in rows] for name in _TRANSACTION_COLUMNS]
        await tx.execute(_INSERT_TRANSACTIONS, merchant_id, account, state, *columns)


async def find_stored_entries(
    tx: Connection, merchant_id: int, account: str, references: Sequence[str],
    days: tuple[date, date],
) -> list[StoredEntry]:  # fmt: skip
    """Return the booked entries that have one of the bank's references, from the first to the last
    of these days. Entries that only notifications gave are left out."""
    rows = await tx.fetch(_FIND_STORED, merchant_id, account, list(references), *days)
    return [_build_stored(row) for row in rows]


def _build_stored(row: Row) -> StoredEntry:
    values: dict[str, Any] = dict(row)
    end_to_end_id, payer_digest = values.pop("end_to_end_id"), values.pop("payer_digest")
    is_single = values["transaction_count"] == 1
    marks = PaymentMarks(end_to_end_id, payer_digest) if is_single else PaymentMarks()
    return StoredEntry(**values, marks=marks)


@dataclass(frozen=True, slots=True)
class NotifiedEntry:
    """An entry that a notification gave before its statement."""

    entry_id: UUID
    entry_key: str
    bank_reference: str | None
    amount_cents: int
    currency: str
    booked_on: date
    charges_cents: int
    statement_hash: bytes


async def find_notified_entries(
    tx: Connection, merchant_id: int, account: str, references: Sequence[str],
    entry_keys: Sequence[str],
) -> list[NotifiedEntry]:  # fmt: skip
    """Return the entries of notifications with one of these references or keys."""
    rows = await tx.fetch(_FIND_NOTIFIED, merchant_id, account, list(references), list(entry_keys))
    return [NotifiedEntry(**row) for row in rows]


async def list_transactions(
    tx: Connection, merchant_id: int, entry_ids: Sequence[UUID]
) -> list[TransactionRow]:
    """Return the transactions of entries, in the order of these ids."""
    rows = await tx.fetch(_LIST_TRANSACTIONS, merchant_id, list(entry_ids))
    return [TransactionRow(**row) for row in rows]


async def delete_entries(tx: Connection, merchant_id: int, entry_ids: Sequence[UUID]) -> None:
    """Delete entries of notifications with their transactions. No transaction may have been matched
    or decided."""
    await tx.execute(_DELETE_ENTRIES, merchant_id, list(entry_ids))


async def delete_transactions(
    tx: Connection, merchant_id: int, entry_id: UUID
) -> tuple[str, date | None] | None:
    """Delete an entry's transactions, so that better ones replace them. Return their state (HELD
    or NEW) and the day of the entry that they resemble; None if the entry has no transactions,
    or if one of them was matched or decided: nothing was deleted then."""
    rows = await tx.fetch(_DELETE_TRANSACTIONS, merchant_id, entry_id)
    if not rows:
        return None
    state = "HELD" if any(row["state"] == "HELD" for row in rows) else "NEW"
    return state, rows[0]["resembles_on"]


async def replace_transactions(
    tx: Connection, account: tuple[int, str], entry_id: UUID, rows: Sequence[TransactionRow]
) -> None:
    """Replace the transactions of an entry of an account (merchant, name), unless one of them was
    matched or decided."""
    merchant_id, name = account
    deleted = await delete_transactions(tx, merchant_id, entry_id)
    if deleted is not None:
        state, resembles_on = deleted
        rows = [replace(each, resembles_on=resembles_on) for each in rows]
        await insert_transactions(tx, merchant_id, name, state, rows=rows)
