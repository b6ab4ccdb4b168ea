"""The SQL of the entries of intraday reports that the statement of the day confirms."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any
from uuid import UUID

from dunwell.cases.statements.entries.interim.pair_entries import StoredCandidate
from dunwell.cases.statements.formats.repeated_entries import PaymentMarks
from dunwell.cases.statements.store import StatementHead
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_FACTS = """e.entry_id, e.entry_key, e.bank_reference, e.amount_cents, e.currency, e.booked_on,
       t.transaction_count, t.end_to_end_id, t.payer_digest, t.is_held"""
_MARKS = """CROSS JOIN LATERAL (
    SELECT count(*) AS transaction_count, min(o.end_to_end_id) AS end_to_end_id,
           (array_agg(o.counterparty_digest))[1] AS payer_digest,
           coalesce(bool_or(o.state = 'HELD'), false) AS is_held
    FROM bank_transactions o
    WHERE o.merchant_id = $1 AND o.entry_id = e.entry_id) t"""
# Uses bank_entries_interim.
_LIST_INTERIM = compose(
    """
SELECT {facts}
FROM bank_entries e
{marks}
WHERE e.merchant_id = $1 AND e.account = $2 AND e.booked_on = ANY($3::date[]) AND e.is_interim
ORDER BY e.entry_id
""",
    facts=_FACTS, marks=_MARKS,
)  # fmt: skip
# Entries of the statements of these days, with these amounts. A statement without a period was
# written at most some days after its entries. Uses bank_statements_list and bank_entries_statement.
_LIST_CONFIRMED = compose(
    """
SELECT {facts}
FROM bank_statements s
JOIN bank_entries e
    ON e.merchant_id = $1 AND e.account = $2 AND e.statement_hash = s.statement_hash
{marks}
WHERE s.merchant_id = $1 AND s.account = $2 AND s.kind = 'STATEMENT'
  AND coalesce(s.period_from, s.created_on - $5::integer, $6) <= $7
  AND coalesce(s.period_to, s.created_on, $7) >= $6
  AND e.booked_on = ANY($3::date[]) AND e.amount_cents = ANY($4::bigint[]) AND e.status = 'BOOK'
ORDER BY e.entry_id
""",
    facts=_FACTS, marks=_MARKS,
)  # fmt: skip
# Entries that an earlier import of the same file read in another way, for example with another CSV
# mapping. Reads the merchant's files; then uses bank_statements_file and bank_entries_statement.
_LIST_OF_SAME_FILE = compose(
    """
SELECT {facts}
FROM bank_files o
JOIN bank_files f ON f.merchant_id = $1 AND f.content_hash = o.content_hash
JOIN bank_statements s
    ON s.merchant_id = $1 AND s.file_id = f.file_id AND s.account = $2 AND s.kind = 'STATEMENT'
JOIN bank_entries e
    ON e.merchant_id = $1 AND e.account = $2 AND e.statement_hash = s.statement_hash
{marks}
WHERE o.merchant_id = $1 AND o.file_id = $3 AND f.file_id <> $3 AND s.statement_hash <> $4
  AND e.booked_on = ANY($5::date[]) AND e.status = 'BOOK'
ORDER BY e.entry_id
""",
    facts=_FACTS, marks=_MARKS,
)  # fmt: skip
# Uses bank_entries_key.
_LIST_KNOWN_KEYS = """
SELECT entry_key
FROM bank_entries
WHERE merchant_id = $1 AND account = $2 AND entry_key = ANY($3::text[])
"""
# The statement of the day takes the entries of reports over, with its own keys and references.
_TAKE_OVER = """
UPDATE bank_entries e
SET statement_hash = $3, is_interim = false, position = n.position, entry_key = n.entry_key,
    bank_reference = coalesce(n.bank_reference, e.bank_reference)
FROM unnest($4::uuid[], $5::integer[], $6::text[], $7::text[])
    AS n (entry_id, position, entry_key, bank_reference)
WHERE e.merchant_id = $1 AND e.account = $2 AND e.entry_id = n.entry_id
"""
# The transactions of a report that was held are matched once a statement with correct sums has
# their entries.
_LET_MATCH = """
UPDATE bank_transactions
SET state = CASE WHEN resembles_on IS NULL THEN 'NEW' ELSE 'OPEN' END
WHERE merchant_id = $1 AND entry_id = ANY($2::uuid[]) AND state = 'HELD'
"""
# How long after its entries a statement without a period may have been written.
_WRITTEN_AFTER = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class ConfirmedEntry:
    """A stored entry of a report with its place in the statement that has it, from 1."""

    entry_id: UUID
    position: int
    entry_key: str
    bank_reference: str | None


async def list_interim_entries(
    tx: Connection, merchant_id: int, account: str, days: Collection[date]
) -> list[StoredCandidate]:
    """Return the entries of reports on these days that no statement has confirmed."""
    rows = await tx.fetch(_LIST_INTERIM, merchant_id, account, sorted(days))
    return [_build_candidate(row) for row in rows]


async def list_entries_of_same_file(
    tx: Connection, merchant_id: int, head: StatementHead, days: Collection[date]
) -> list[StoredCandidate]:
    """Return the entries on these days that an earlier import of the same file read in another
    way."""
    rows = await tx.fetch(
        _LIST_OF_SAME_FILE, merchant_id, head.account, head.file_id, head.statement_hash,
        sorted(days),
    )  # fmt: skip
    return [_build_candidate(row) for row in rows]


async def list_confirmed_entries(
    tx: Connection, merchant_id: int, account: str, days: Collection[date], *,
    amounts: Collection[int],
) -> list[StoredCandidate]:  # fmt: skip
    """Return the entries of statements on these days with one of these amounts."""
    rows = await tx.fetch(
        _LIST_CONFIRMED, merchant_id, account, sorted(days), sorted(amounts),
        _WRITTEN_AFTER.days, min(days), max(days),
    )  # fmt: skip
    return [_build_candidate(row) for row in rows]


def _build_candidate(row: Row) -> StoredCandidate:
    values: dict[str, Any] = dict(row)
    end_to_end_id, payer_digest = values.pop("end_to_end_id"), values.pop("payer_digest")
    is_single = values["transaction_count"] == 1
    marks = PaymentMarks(end_to_end_id, payer_digest) if is_single else PaymentMarks()
    return StoredCandidate(**values, marks=marks)


async def list_known_keys(
    tx: Connection, merchant_id: int, account: str, keys: Sequence[str]
) -> frozenset[str]:
    """Return those of the keys that a stored entry has."""
    rows = await tx.fetch(_LIST_KNOWN_KEYS, merchant_id, account, list(keys))
    return frozenset(row["entry_key"] for row in rows)


async def take_over_entries(
    tx: Connection, merchant_id: int, head: StatementHead, confirmed: Sequence[ConfirmedEntry]
) -> None:
    """Move stored entries into the statement that has them."""
    if confirmed:
        await tx.execute(
            _TAKE_OVER, merchant_id, head.account, head.statement_hash,
            [each.entry_id for each in confirmed], [each.position for each in confirmed],
            [each.entry_key for each in confirmed], [each.bank_reference for each in confirmed],
        )  # fmt: skip


async def release_held_transactions(
    tx: Connection, merchant_id: int, entry_ids: Sequence[UUID]
) -> None:
    """Let the transactions of these entries be matched that were held with their report."""
    if entry_ids:
        await tx.execute(_LET_MATCH, merchant_id, list(entry_ids))
