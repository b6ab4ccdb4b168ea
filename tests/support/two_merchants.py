"""Two merchants with the same rows and ids in every table, and parameters with which a statement
finds these rows. The parameters are derived from the statement's text and from the types that
PostgreSQL reports."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg

from dunwell.platform.database.database import Connection, Database
from tests.support.rows import NOW, as_bytes, build_insertion, without_triggers

OWN, OTHER = 1, 2
# The first row of each table.
FirstRows = Mapping[str, Mapping[str, Any]]
# The rows of each table as text.
Rows = Mapping[str, str]
_TABLES = """
SELECT t.relname AS name, array_agg(a.attname::text) AS columns,
    array_agg(a.attname::text) FILTER (WHERE a.atttypid = 'smallint'::regtype) AS small
FROM pg_class t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace
GROUP BY t.relname
HAVING 'merchant_id' = ANY(array_agg(a.attname))
ORDER BY t.relname
"""
_CHECKS = """
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS statement
FROM pg_constraint
WHERE contype = 'c' AND connamespace = 'public'::regnamespace
"""
# Values that are unique across merchants contain the merchant's number.
_OVERALL = {
    "merchants": ("key",), "credentials": ("client_id",), "access_tokens": ("token_hash",),
    "debtor_links": ("token_hash",), "letter_codes": ("code_digest",),
    "debtor_sessions": ("session_hash",), "payment_requests": ("provider_reference",),
    "mandates": ("reference",), "provider_mandates": ("checkout_id", "provider_mandate_id"),
    "delivery_reports": ("report_id", "provider_message_id"), "letter_batches": ("batch_id",),
    "inbound_sms": ("inbound_id", "provider_message_id"), "letter_status_files": ("name",),
}  # fmt: skip
# Values that the database generates: random and sequential ids.
_DRAWN = re.compile(r"(?!0{8})[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|\b[1-9]\d{2,}\b")
_WRITES = re.compile(r"\b(?:INSERT|UPDATE|DELETE|MERGE)\b")
_SEQUENCES = [
    f"pg_get_serial_sequence('{table}', '{column}')"
    for table, column in (
        ("merchants", "merchant_id"), ("claims", "claim_id"), ("items", "item_id"),
        ("scenarios", "scenario_id"),
    )
]  # fmt: skip
# Tables with one row per merchant.
_ONE_ROW = ("merchants", "assignment_rule_drafts", "storage_use")
_SAMPLES: Mapping[str, Any] = {
    "int2": 1, "int4": 1, "int8": 1, "uuid": UUID(int=1), "text": "x1", "varchar": "x1",
    "bool": True, "timestamptz": NOW, "date": NOW.date(), "bytea": bytes([0, 1]), "json": {},
    "jsonb": {}, "interval": timedelta(days=1), "numeric": 1, "xid8": 1,
}  # fmt: skip


async def insert_merchant_rows(tx: Connection, merchant_id: int, **everywhere: Any) -> None:
    """Insert two rows into each table. `everywhere` holds values for all columns of a name; a pair
    has one value for each row."""
    statements = [
        f"SELECT setval({sequence}, greatest(nextval({sequence}), 1000))" for sequence in _SEQUENCES
    ]
    for row in await tx.fetch(_TABLES):
        table, columns = row["name"], set(row["columns"]) - set(row["small"] or ())
        for number in (1,) if table in _ONE_ROW else (1, 2):
            given = {
                name: value[number - 1] if isinstance(value, tuple) else value
                for name, value in everywhere.items()
                if name in columns
            }
            for name in _OVERALL.get(table, ()):
                is_digest = name.endswith(("_hash", "_digest"))
                own = 256 * merchant_id + number
                given[name] = as_bytes(own) if is_digest else f"x{own}"
                if name in ("report_id", "inbound_id", "batch_id"):
                    given[name] = UUID(int=own)
            for name in ("claim_id", "item_id", "scenario_id"):
                if name in columns:
                    given[name] = number
            given["merchant_id"] = merchant_id
            statements.append(await build_insertion(tx, table, number, given))
    async with without_triggers(tx):
        await tx.execute(";".join(statements))


@asynccontextmanager
async def rolled_back(database: Database) -> AsyncIterator[Connection]:
    """A transaction that leaves the database and its constraints unchanged."""
    async with database.connection() as connection, undone(connection):
        yield connection


@asynccontextmanager
async def undone(tx: Connection) -> AsyncIterator[None]:
    """Roll back what the block changes."""
    trial = tx.transaction()
    await trial.start()
    try:
        yield
    finally:
        await trial.rollback()


async def drop_checks(tx: Connection) -> None:
    """Drop check constraints so that rows can have any state. The transaction must be rolled
    back."""
    await tx.execute(";".join(row["statement"] for row in await tx.fetch(_CHECKS)))


def find_merchant_parameters(text: str) -> set[int]:
    """Return the numbers of the parameters that are a merchant's id."""
    found = re.findall(r"\b(?:merchant_id|owner_id) = (?:ANY\()?\$(\d+)", text)
    found += re.findall(r"\$(\d+)::integer AS merchant_id\b", text)
    return {int(each) for each in found} | set(_find_inserted(text))


def _find_inserted(text: str) -> list[int]:
    """Find the parameter in `INSERT INTO t (merchant_id, ...) VALUES or SELECT $1, ...`."""
    columns = r"INSERT INTO \w+(?: AS \w+)?\s*\(\s*merchant_id\b[^)]*\)"
    return [
        int(each) for each in re.findall(rf"{columns}\s*(?:VALUES\s*\(|SELECT)\s*\$(\d+)", text)
    ]


async def find_kinds(tx: Connection, text: str) -> list[str] | None:
    """Return the types of the parameters, or None if the text is only part of a statement."""
    trial = tx.transaction()
    await trial.start()
    try:
        prepared = await tx.prepare(text)
    except asyncpg.PostgresError:
        return None
    finally:
        await trial.rollback()
    return [kind.name for kind in prepared.get_parameters()]


def make_values(text: str, kinds: Sequence[str], number: int, own: FirstRows) -> list[Any]:
    """Return for each parameter the value in the merchant's own row of that number. Such a row need
    not exist."""
    merchants = find_merchant_parameters(text)
    rows = {
        column: value
        for name in reversed(find_named(own, text))
        for column, value in own[name].items()
    }
    return [
        _make(place, kind, text, merchants, _like(rows, number))
        for place, kind in enumerate(kinds, 1)
    ]


def _like(rows: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return samples by type after the values of the first rows by column."""
    samples = {
        **_SAMPLES, "int2": number, "int4": number, "int8": number, "uuid": UUID(int=number),
        "text": f"x{number}", "bytea": bytes([0, number]),
    }  # fmt: skip
    return samples | (dict(rows) if number == 1 else {})


def _make(number: int, kind: str, text: str, merchants: set[int], rows: Mapping[str, Any]) -> Any:
    if number in merchants:
        return [OWN] if kind.endswith("[]") else OWN
    if f"${number}::text::xid8" in text:
        return "0"
    column, sign = _find_use(text, number)
    base = kind.removesuffix("[]")
    value = rows[base]
    if sign == "SET":
        fresh = {"timestamptz": NOW + timedelta(minutes=5), "text": "fresh", "jsonb": {"new": 1}}
        value = fresh.get(base, not value if base == "bool" else value)
    if base == "timestamptz":
        value += timedelta(days={"<": 1, "<=": 1, ">": -1, ">=": -1}.get(sign, 0))
    elif sign == "=" and type(rows.get(column)) is type(value):
        value = rows[column]
    return [value] if kind.endswith("[]") else value


@cache
def _find_use(text: str, number: int) -> tuple[str, str]:
    """Return the column with which a parameter is compared, and the comparison."""
    compared = rf"(\w+)\)? *(=|<>|>=|<=|<|>) *(?:ANY *\()?\(?\${number}\b"
    found = re.search(compared, text)
    if found is None:
        return "", "="
    before = text[: found.start()]
    is_set = before.rfind("SET ") > max(before.rfind("WHERE"), before.rfind("INSERT"))
    return (found[1], "SET") if is_set and found[2] == "=" else (found[1], found[2])


async def load_own_rows(tx: Connection) -> FirstRows:
    """Return the first rows by table."""
    names = await list_tables(tx)
    first = [f"SELECT * FROM {name} WHERE merchant_id = {OWN} ORDER BY 2 LIMIT 1" for name in names]
    return {name: dict(await tx.fetchrow(each)) for name, each in zip(names, first, strict=True)}


async def list_tables(tx: Connection) -> Sequence[str]:
    return [row["name"] for row in await tx.fetch(_TABLES)]


def find_changed(names: Iterable[str], text: str) -> list[str]:
    """Return the tables that a statement may change: those that it names, unless it only reads."""
    return find_named(names, text) if _WRITES.search(text) else []


def find_named(names: Iterable[str], text: str) -> list[str]:
    """Return the tables that a statement names."""
    words = set(re.findall(r"\w+", text))
    return [name for name in names if name in words]


async def read_rows(tx: Connection, names: Sequence[str]) -> Mapping[int, Rows]:
    """Return the rows of each merchant in each of the tables."""
    if not names:
        return {OWN: {}, OTHER: {}}
    rows = await tx.fetch(
        " UNION ALL ".join(
            f"SELECT merchant_id, '{each}' AS name, string_agg(t::text, '|' ORDER BY t::text)"
            f" FROM {each} t WHERE merchant_id IN ({OWN}, {OTHER}) GROUP BY merchant_id"
            for each in names
        )
    )
    found = {(merchant_id, name): text for merchant_id, name, text in rows}
    return {each: {name: found.get((each, name), "") for name in names} for each in (OWN, OTHER)}


@dataclass(frozen=True, slots=True)
class StatementResult:
    """The result of a statement, and the rows of both merchants after it."""

    answer: Sequence[str]
    own: Rows
    theirs: Rows
    does_anything: bool

    def is_same(self, other: "StatementResult") -> bool:
        """Compare without numbers drawn from a sequence."""
        return _plain("|".join(self.answer)) == _plain("|".join(other.answer)) and {
            name: _plain(rows) for name, rows in self.own.items()
        } == {name: _plain(rows) for name, rows in other.own.items()}


def _plain(rows: str) -> Sequence[str]:
    return sorted(_DRAWN.sub("#", rows).split("|"))


async def try_statement(
    tx: Connection, text: str, values: Sequence[Any], names: Sequence[str], rows_before: Rows
) -> StatementResult | None:
    """Run the statement in a transaction that is rolled back. Return None if the database rejects
    it. `names` are the tables to compare; `rows_before` holds the rows of the own merchant before
    the statement."""
    trial = tx.transaction()
    await trial.start()
    try:
        answer = sorted(str(tuple(row)) for row in await tx.fetch(text, *values))
        rows = await read_rows(tx, names)
        own = rows[OWN]
        changed = any(own[name] != rows_before[name] for name in names)
        return StatementResult(answer, own, rows[OTHER], bool(answer) or changed)
    except asyncpg.PostgresError:
        return None
    finally:
        await trial.rollback()
