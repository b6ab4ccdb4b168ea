"""The SQL of bank accounts, imported files and statements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.cases.statements.formats.coded_text import CodedText, dump_text
from dunwell.cases.statements.formats.csv_mapping import CsvMapping
from dunwell.cases.statements.formats.problems import load_problem
from dunwell.cases.statements.formats.statement import BankStatement
from dunwell.cases.statements.imported_file import FileState, ImportedFile
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose


@dataclass(frozen=True, slots=True)
class StatementAccount:
    """A bank account to which the debtors of a merchant transfer."""

    account: str
    iban: str
    # The account holder, exactly as the bank writes the name.
    holder: str
    csv_mapping: CsvMapping | None = None
    # Messages to debtors wait while the newest statement is older. None: no limit.
    max_age_banking_days: int | None = None
    # An amount that differs by at most this is treated as what is owed.
    tolerance_cents: int = 0
    # The day up to which the bank has reported; None before the first statement.
    reported_until: date | None = None
    # The bank connection of the installation file, and a folder there, from which statements are
    # fetched. None: they are not fetched.
    connection: str | None = None
    folder: str = ""
    # When it was closed: nothing is imported or collected through it. None: it is open.
    closed_at: datetime | None = None


_ACCOUNT_COLUMNS = ", ".join(each.name for each in fields(StatementAccount))
# The SQL statements about one merchant's bank accounts use the primary key.
_LIST_ACCOUNTS = compose(
    """
SELECT {columns}
FROM bank_accounts
WHERE merchant_id = $1
ORDER BY account
""",
    columns=_ACCOUNT_COLUMNS,
)
_SAVE_ACCOUNT = """
INSERT INTO bank_accounts
    (merchant_id, account, iban, holder, csv_mapping, max_age_banking_days, tolerance_cents,
     created_at, connection, folder)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (merchant_id, account) DO UPDATE
SET iban = excluded.iban, holder = excluded.holder, csv_mapping = excluded.csv_mapping,
    max_age_banking_days = excluded.max_age_banking_days,
    tolerance_cents = excluded.tolerance_cents, connection = excluded.connection,
    folder = excluded.folder
"""
# Closes the account, or reopens it ($3 is NULL). Changes nothing if it already is closed or open.
_CLOSE_ACCOUNT = """
UPDATE bank_accounts
SET closed_at = $3
WHERE merchant_id = $1 AND account = $2 AND (closed_at IS NULL) = ($3::timestamptz IS NOT NULL)
RETURNING true
"""
# Lists the open accounts of all merchants for which bank statements are fetched. This query and the
# next read the whole table, which has a few rows for each merchant.
_LIST_FETCHED = """
SELECT merchant_id, account, connection, folder
FROM bank_accounts
WHERE connection IS NOT NULL AND closed_at IS NULL
ORDER BY merchant_id, account
"""
_LIST_MERCHANTS = "SELECT DISTINCT merchant_id FROM bank_accounts ORDER BY merchant_id"
# Uses bank_files_list.
_LIST_KNOWN_NAMES = """
SELECT name, size_bytes
FROM bank_files
WHERE merchant_id = $1 AND account = $2 AND name = ANY($3::text[])
"""
_MAX_PROBLEMS = 200
_SAVE_REPORTED = """
UPDATE bank_accounts
SET reported_until = greatest(reported_until, $3)
WHERE merchant_id = $1 AND account = $2
"""
_FILE_COLUMNS = ", ".join(each.name for each in fields(ImportedFile))
_INSERT_FILE = """
INSERT INTO bank_files
    (merchant_id, file_id, account, name, size_bytes, content_hash, content_sealed, actor_kind,
     actor_id, created_at, due_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
"""
_LOAD_FILE = compose(
    "SELECT {columns} FROM bank_files WHERE merchant_id = $1 AND file_id = $2",
    columns=_FILE_COLUMNS,
)
# Uses bank_files_list.
_LIST_FILES = compose(
    """
SELECT {columns}
FROM bank_files
WHERE merchant_id = $1
ORDER BY written_by DESC, file_id DESC
LIMIT $2
""",
    columns=_FILE_COLUMNS,
)
_LOAD_CONTENT = "SELECT content_sealed FROM bank_files WHERE merchant_id = $1 AND file_id = $2"
_FILES = LeasedTable("bank_files", ("merchant_id", "file_id"), ends_at="due_at")
# The oldest due file of all merchants. Uses bank_files_due.
_LEASE_FILE = _FILES.lease(
    "due_at IS NOT NULL",
    limit="$4",
    changes="state = 'RUNNING'",
    returning="leased.merchant_id, leased.file_id",
)
# Changes nothing if the worker has lost the lease or the import was cancelled. A worker that
# continues an import reads the file from the beginning, so the counts keep their largest value.
_SAVE_PROGRESS = compose(
    """
UPDATE bank_files
SET entry_count = $5, read_count = greatest(read_count, $6),
    pending_count = greatest(pending_count, $7), new_count = new_count + $8, due_at = $4
WHERE merchant_id = $1 AND file_id = $2 AND {has_lease} AND cancelled_at IS NULL
RETURNING true
""",
    has_lease=_FILES.is_held("$3"),
)
_END_FILE = compose(
    """
UPDATE bank_files
SET {cleared}, content_sealed = NULL, state = $4, problems = $5, finished_at = $6
WHERE merchant_id = $1 AND file_id = $2 AND {has_lease}
RETURNING true
""",
    cleared=_FILES.clear(),
    has_lease=_FILES.is_held("$3"),
)
_CANCEL_FILE = """
UPDATE bank_files
SET cancelled_at = $3, finished_at = $3, state = 'CANCELLED', content_sealed = NULL, due_at = NULL,
    lease_id = NULL
WHERE merchant_id = $1 AND file_id = $2 AND state IN ('WAITING', 'RUNNING')
RETURNING true
"""
_INSERT_STATEMENT = """
INSERT INTO bank_statements
    (merchant_id, account, statement_hash, file_id, statement_id, kind, period_from, period_to,
     created_on, opening_cents, closing_cents, currency, entry_count, problems, held_reason,
     imported_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
ON CONFLICT (merchant_id, account, statement_hash) DO NOTHING
"""
_IS_HELD = """
SELECT held_reason IS NOT NULL AND released_at IS NULL
FROM bank_statements
WHERE merchant_id = $1 AND account = $2 AND statement_hash = $3
"""
_RELEASE_STATEMENT = """
UPDATE bank_statements
SET released_at = $4
WHERE merchant_id = $1 AND account = $2 AND statement_hash = $3
  AND held_reason IS NOT NULL AND released_at IS NULL
RETURNING held_reason
"""
# Uses bank_entries_statement, then bank_transactions_held.
_RELEASE_TRANSACTIONS = """
UPDATE bank_transactions t
SET state = CASE WHEN t.resembles_on IS NULL THEN 'NEW' ELSE 'OPEN' END
FROM bank_entries e
WHERE e.merchant_id = $1 AND e.account = $2 AND e.statement_hash = $3
  AND t.merchant_id = $1 AND t.entry_id = e.entry_id AND t.state = 'HELD'
"""
# Uses bank_statements_list.
_LIST_STATEMENTS = """
SELECT statement_hash, statement_id, kind, period_from, period_to, opening_cents, closing_cents,
       currency, entry_count, problems, held_reason, released_at, imported_at
FROM bank_statements
WHERE merchant_id = $1 AND account = $2
ORDER BY imported_at DESC
LIMIT $3
"""


async def list_accounts(tx: Connection, merchant_id: int) -> dict[str, StatementAccount]:
    """Return the merchant's accounts by name."""
    rows = await tx.fetch(_LIST_ACCOUNTS, merchant_id)
    return {row["account"]: _build_account(row) for row in rows}


def _build_account(row: Row) -> StatementAccount:
    values = dict(row)
    mapping = values.pop("csv_mapping")
    built = None if mapping is None else msgspec.convert(mapping, CsvMapping)
    return StatementAccount(csv_mapping=built, **values)


async def save_account(
    tx: Connection, merchant_id: int, account: StatementAccount, now: datetime
) -> None:
    mapping = account.csv_mapping
    await tx.execute(
        _SAVE_ACCOUNT, merchant_id, account.account, account.iban, account.holder,
        None if mapping is None else msgspec.to_builtins(mapping), account.max_age_banking_days,
        account.tolerance_cents, now, account.connection, account.folder,
    )  # fmt: skip


async def save_closed(
    tx: Connection, merchant_id: int, account: str, closed_at: datetime | None
) -> bool:
    """Close an account, or reopen it with None. Return False if it is closed or open already."""
    return bool(await tx.fetchval(_CLOSE_ACCOUNT, merchant_id, account, closed_at))


@dataclass(frozen=True, slots=True)
class FetchedAccount:
    """An account whose statements are fetched from a bank connection."""

    merchant_id: int
    account: str
    connection: str
    folder: str


async def list_fetched_accounts(tx: Connection) -> list[FetchedAccount]:
    """Return the accounts of all merchants for which statements are fetched."""
    return [FetchedAccount(**row) for row in await tx.fetch(_LIST_FETCHED)]


async def list_merchants_with_accounts(tx: Connection) -> list[int]:
    """Return the merchants that have a bank account."""
    return [row["merchant_id"] for row in await tx.fetch(_LIST_MERCHANTS)]


async def list_known_files(
    tx: Connection, merchant_id: int, account: str, names: Sequence[str]
) -> frozenset[tuple[str, int]]:
    """Return the files (name, size in bytes) among these names that were imported before."""
    rows = await tx.fetch(_LIST_KNOWN_NAMES, merchant_id, account, list(names))
    return frozenset((row["name"], row["size_bytes"]) for row in rows)


async def save_reported_until(
    tx: Connection, merchant_id: int, account: str, reported_until: date
) -> None:
    """Save the day up to which the bank has reported, if it is later than the stored one."""
    await tx.execute(_SAVE_REPORTED, merchant_id, account, reported_until)


async def insert_file(
    tx: Connection, merchant_id: int, file: ImportedFile, content: tuple[bytes, bytes],
    due_at: datetime,
) -> None:  # fmt: skip
    """Insert a file. `content` is its hash and the sealed content."""
    await tx.execute(
        _INSERT_FILE, merchant_id, file.file_id, file.account, file.name, file.size_bytes,
        *content, file.actor_kind, file.actor_id, file.created_at, due_at,
    )  # fmt: skip


async def find_file(tx: Connection, merchant_id: int, file_id: UUID) -> ImportedFile | None:
    row = await tx.fetchrow(_LOAD_FILE, merchant_id, file_id)
    return None if row is None else _build_file(row)


async def list_files(tx: Connection, merchant_id: int, limit: int) -> list[ImportedFile]:
    """Return files, the newest first."""
    return [_build_file(row) for row in await tx.fetch(_LIST_FILES, merchant_id, limit)]


def _build_file(row: Row) -> ImportedFile:
    values = dict(row)
    values["state"] = FileState(values["state"])
    values["problems"] = tuple(map(load_problem, values["problems"]))
    return ImportedFile(**values)


async def find_content(tx: Connection, merchant_id: int, file_id: UUID) -> bytes | None:
    """Return the sealed content, None after the import is over."""
    content: bytes | None = await tx.fetchval(_LOAD_CONTENT, merchant_id, file_id)
    return content


async def lease_file(tx: Connection, now: datetime, lease: Lease) -> tuple[int, UUID] | None:
    """Lease the oldest due file. Return its merchant and its id."""
    row = await tx.fetchrow(_LEASE_FILE, now, lease.until, lease.lease_id, 1)
    return None if row is None else (row["merchant_id"], row["file_id"])


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """The progress of an import. `new` is the number of entries that the last step added."""

    entry_count: int
    read_count: int
    # The entries among the read ones that the bank has not booked.
    pending_count: int
    new: int = 0


async def save_progress(
    tx: Connection, merchant_id: int, file_id: UUID, lease: Lease, progress: ImportProgress
) -> bool:
    """Save the progress of an import, and renew the lease. Return False if the import was cancelled
    or another worker has taken it over."""
    return bool(
        await tx.fetchval(
            _SAVE_PROGRESS, merchant_id, file_id, lease.lease_id, lease.until,
            progress.entry_count, progress.read_count, progress.pending_count, progress.new,
        )
    )  # fmt: skip


async def end_file(  # noqa: PLR0913 - what the end of an import writes
    tx: Connection, merchant_id: int, file_id: UUID, *, lease: Lease, state: FileState,
    problems: Sequence[str], now: datetime,
) -> bool:  # fmt: skip
    """End an import, and delete the content of its file. Return False if the lease was lost."""
    return bool(
        await tx.fetchval(
            _END_FILE, merchant_id, file_id, lease.lease_id, state, [*map(dump_text, problems)], now
        )
    )


async def cancel_file(tx: Connection, merchant_id: int, file_id: UUID, now: datetime) -> bool:
    """Cancel an import. Return False if it is over."""
    return bool(await tx.fetchval(_CANCEL_FILE, merchant_id, file_id, now))


@dataclass(frozen=True, slots=True)
class StatementHead:
    """A statement as it is imported into an account."""

    account: str
    statement_hash: bytes
    file_id: UUID
    # Why the statement is not booked until a person releases it; empty if its sums are right.
    broken_invariants: Sequence[CodedText] = ()
    # The keys of all its booked entries.
    entry_keys: frozenset[str] = frozenset()


async def insert_statement(
    tx: Connection, merchant_id: int, head: StatementHead, statement: BankStatement, now: datetime
) -> bool:
    """Insert the statement if it is not known. Return whether its entries are held."""
    problems = [*head.broken_invariants, *statement.problems]
    await tx.execute(
        _INSERT_STATEMENT, merchant_id, head.account, head.statement_hash, head.file_id,
        statement.statement_id, statement.kind, statement.period_from, statement.period_to,
        statement.created_on, statement.opening_cents, statement.closing_cents,
        statement.currency, len(statement.entries), [*map(dump_text, problems[:_MAX_PROBLEMS])],
        " ".join(dict.fromkeys(each.code for each in head.broken_invariants)) or None, now,
    )  # fmt: skip
    return bool(await tx.fetchval(_IS_HELD, merchant_id, head.account, head.statement_hash))


async def release_statement_rows(
    tx: Connection, merchant_id: int, account: str, statement_hash: bytes, now: datetime
) -> str | None:
    """Release a held statement. Return why it was held, or None if it is not held."""
    reason: str | None = await tx.fetchval(
        _RELEASE_STATEMENT, merchant_id, account, statement_hash, now
    )
    if reason is not None:
        await tx.execute(_RELEASE_TRANSACTIONS, merchant_id, account, statement_hash)
    return reason


async def list_statement_rows(
    tx: Connection, merchant_id: int, account: str, limit: int
) -> list[Mapping[str, Any]]:
    """Return the newest statements of an account."""
    rows = await tx.fetch(_LIST_STATEMENTS, merchant_id, account, limit)
    return [{**row, "problems": tuple(map(load_problem, row["problems"]))} for row in rows]
