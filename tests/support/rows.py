"""Inserts rows into any table. Columns that a test does not set get values unique to the row.
Foreign keys are not checked, so a row needs no parents."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection

Values = Mapping[str, Any]
NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

# The columns of every table that need a value, with their types.
_NEEDED = """
SELECT t.relname AS name, a.attname AS column, format_type(a.atttypid, NULL) AS type
FROM pg_class t
JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE t.relkind = 'r' AND t.relnamespace = 'public'::regnamespace
  AND a.attnotnull AND NOT a.atthasdef AND a.attidentity = ''
"""
_needed: dict[str, dict[str, str]] = {}
# Values that check constraints require.
_USUAL: dict[str, Values] = {
    "claims": {"currency": "EUR"},
    "items": {"type": "PRIMARY"},
    "communications": {"channel": "EMAIL"},
    "contact_ledger": {"channel": "EMAIL", "outcome": "ACCEPTED"},
    "debtor_notices": {
        "channel": "EMAIL", "kind": "LINK", "recipient": "a@example.org", "body_text": "x",
        "due_at": NOW,
    },
    "pending_contact_changes": {"channel": "EMAIL"},
    "debtor_sessions": {"level": "LINK"},
    "holds": {"kind": "PAUSE"},
    "audit_log": {"actor_kind": "SYSTEM"},
    "step_history": {"outcome": "DONE"},
    "suppressions": {"channel": "EMAIL", "reason": "DEBTOR"},
    "webhook_endpoints": {"types": ["*"]},
    "workflow_versions": {"state": "DRAFT"},
    "deliveries": {"due_at": NOW},
    "payment_modalities": {"type": "PAYMENT_PLAN"},
    "payment_requests": {"state": "OPEN"},
    "mandates": {"state": "ACTIVE", "account_sealed": "\\x01"},
    "provider_mandates": {"state": "OPEN"},
    "debit_collections": {"currency": "EUR", "state": "PLANNED"},
    "debit_files": {
        "state": "RELEASED", "deliver_to": "bank", "content_sealed": "\\x01",
        "content_digest": "\\x02", "released_at": NOW,
    },
    "sandbox_checkouts": {"state": "OPEN"},
}  # fmt: skip


async def insert_row(tx: Connection, table: str, number: int, /, **values: Any) -> None:
    """Insert a row. Required columns that were not given get values made from `number`."""
    statement = await build_insertion(tx, table, number, values)
    async with without_triggers(tx):
        await tx.execute(statement)


async def build_insertion(tx: Connection, table: str, number: int, values: Values) -> str:
    """Return the statement by which `insert_row` inserts, which has no parameters."""
    if not _needed:
        for row in await tx.fetch(_NEEDED):
            _needed.setdefault(row["name"], {})[row["column"]] = row["type"]
    row = {column: make_value(kind, number) for column, kind in _needed[table].items()}
    row = {**row, **_USUAL.get(table, {}), **values}
    columns = ", ".join(f'"{name}"' for name in row)
    content = msgspec.json.encode(row, enc_hook=str).decode().replace("'", "''")
    return (
        f"INSERT INTO {table} ({columns})"
        f" SELECT {columns} FROM jsonb_populate_record(NULL::{table}, '{content}'::jsonb)"
    )


@asynccontextmanager
async def without_triggers(tx: Connection) -> AsyncIterator[None]:
    """Disable triggers and foreign keys until the block ends. An inner block sets nothing, because
    a change of this setting discards all plans of the connection."""
    is_inner = await tx.fetchval("SHOW session_replication_role") == "replica"
    if is_inner:
        yield
        return
    await tx.execute("SET session_replication_role = replica")
    yield
    await tx.execute("SET session_replication_role = DEFAULT")


def make_value(kind: str, number: int) -> Any:
    """Return a value of a PostgreSQL type in its JSON form."""
    made: dict[str, Any] = {
        "uuid": UUID(int=number), "text": f"x{number}", "bytea": as_bytes(number),
        "timestamp with time zone": NOW, "date": NOW.date(), "boolean": False, "jsonb": {},
        "integer": number, "bigint": number, "smallint": number, "text[]": [f"x{number}"],
        "xid8": str(number),
    }  # fmt: skip
    return made[kind]


def as_bytes(number: int) -> str:
    return f"\\x{number:04x}"
