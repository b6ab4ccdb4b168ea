"""The rows of the database as compressed files, one for each table, and their restore.

Rows are written and read by COPY over an ordinary connection. The version of the server and the
programs installed on this host therefore do not matter, and any role that owns the tables can do
it. The files do not contain the schema, which the migrations create (docs/decisions/0022).
"""

import asyncio
import gzip
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Self

import asyncpg
import msgspec

from dunwell.operations.recovery.restore_hold import RECORD_RESTORE
from dunwell.platform.database.database import NotMigrated
from dunwell.platform.database.migrate import (
    LOAD_REVISION,
    REVISION_TABLE,
    check_empty,
    create_schema,
    list_own_tables,
    list_revisions,
)
from dunwell.platform.database.pool import OpenConnection, connect
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import InvalidState

# zlib's fastest level takes half the time of the default and makes files a tenth larger.
_COMPRESSION_LEVEL = 1
_FILE_SUFFIX = ".copy.gz"
# With these settings, every server writes a row in the same way, whatever its role or database is
# configured to. There is no time limit, because the duration depends on the size of the database.
_SESSION_SETTINGS = """
SET LOCAL search_path = public;
SET LOCAL statement_timeout = 0;
SET LOCAL lock_timeout = 0;
SET LOCAL idle_in_transaction_session_timeout = 0;
SET LOCAL row_security = off;
SET LOCAL synchronize_seqscans = off;
SET LOCAL DateStyle = 'ISO, YMD';
SET LOCAL IntervalStyle = postgres;
SET LOCAL TimeZone = 'UTC';
SET LOCAL extra_float_digits = 1;
SET LOCAL bytea_output = hex;
"""
_SESSION_SETTINGS_SINCE_17 = "SET LOCAL transaction_timeout = 0;"
_LIST_TABLES = """
SELECT relname AS name, coalesce(array_agg(attname ORDER BY attnum), '{}')::text[] AS columns
FROM pg_class
LEFT JOIN pg_attribute ON attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped
    AND attgenerated = ''
WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace
    AND NOT EXISTS (
        SELECT FROM pg_depend
        WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
    )
GROUP BY relname
ORDER BY relname
"""
_LIST_SEQUENCES = """
SELECT quote_ident(sequence.relname) AS name
FROM pg_depend
JOIN pg_class sequence ON sequence.oid = objid AND sequence.relkind = 'S'
JOIN pg_class owner ON owner.oid = refobjid
WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
    AND deptype IN ('a', 'i') AND owner.relnamespace = 'public'::regnamespace
    AND owner.relname = ANY ($1::text[])
ORDER BY name
"""
_LOAD_LAST_VALUE = "SELECT CASE WHEN is_called THEN last_value END FROM {sequence}"
_SET_LAST_VALUE = "SELECT setval($1::text::regclass, $2::bigint)"
# Foreign keys, triggers and indexes would slow down loading, or refuse rows because other rows are
# loaded later. They are removed or disabled in the empty tables and restored afterwards. An index
# that a constraint needs stays.
_LIST_REMOVABLE = """
SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS removal,
    format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname,
        pg_get_constraintdef(oid)) AS addition, 1 AS place
FROM pg_constraint
WHERE contype = 'f' AND connamespace = 'public'::regnamespace
UNION ALL
SELECT DISTINCT format('ALTER TABLE %s DISABLE TRIGGER USER', tgrelid::regclass),
    format('ALTER TABLE %s ENABLE TRIGGER USER', tgrelid::regclass), 2
FROM pg_trigger
WHERE NOT tgisinternal
UNION ALL
SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid), 3
FROM pg_index
JOIN pg_class ON pg_class.oid = indrelid AND relnamespace = 'public'::regnamespace
WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
ORDER BY place
"""


class RestoreFailed(InvalidState):
    """The database did not accept the contents of the backup."""


class StoredTable(msgspec.Struct, frozen=True, gc=False):
    """The rows of one table. `size` and `sha256` are those of the uncompressed text, which is the
    same on every server with the same rows in the same order."""

    rows: int
    size: int
    sha256: str
    columns: list[str]


class DatabaseDump(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The contents of a dump. `sequences` holds the last value of each used sequence; `left_out`
    names tables of other software in the same database."""

    taken_at: datetime
    schema: str
    server: str
    tables: Mapping[str, StoredTable]
    sequences: Mapping[str, int]
    left_out: Sequence[str]


def dump_database(url: str, folder: Path) -> DatabaseDump:
    """Write the rows of all tables as of one instant while the database is in use. They include
    everything acknowledged before `taken_at`. Raises InvalidState and OSError."""
    return asyncio.run(_dump(url, folder))


def compute_digests(url: str) -> Mapping[str, StoredTable]:
    """Return the size and digest of each table as in a dump, without writing files."""
    return asyncio.run(_dump(url, None)).tables


def restore_database(
    url: str, folder: Path, dump: DatabaseDump, *, restored_as_of: datetime | None
) -> None:
    """Create the schema of the dump in an empty database, load the rows and record the restore, in
    one transaction. Raises InvalidState."""
    asyncio.run(_restore(url, folder, dump, restored_as_of))


def check_target(url: str) -> None:
    """Check that the database is empty before anything else is restored. A restore checks it again
    in its transaction. Raises DatabaseNotEmpty."""
    asyncio.run(_check_target(url))


async def _check_target(url: str) -> None:
    connection = await connect(url, OpenConnection)
    try:
        await check_empty(connection)
    finally:
        await connection.close()


async def list_tables(connection: asyncpg.Connection) -> dict[str, list[str]]:
    """Return the ordinary tables of the schema `public` with their columns."""
    return {row["name"]: row["columns"] for row in await connection.fetch(_LIST_TABLES)}


async def _dump(url: str, folder: Path | None) -> DatabaseDump:
    connection = await connect(url, OpenConnection)
    try:
        taken_at = await connection.fetchval("SELECT clock_timestamp()")
        present = (await list_tables(connection)).keys()
        own = present & list_own_tables()
        if REVISION_TABLE not in own:
            raise NotMigrated
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            await _configure(connection)
            # The next statement takes the transaction's snapshot. From now on no migration can
            # change these tables.
            await connection.execute(f"LOCK TABLE {', '.join(sorted(own))} IN ACCESS SHARE MODE")
            schema = await connection.fetchval(LOAD_REVISION)
            _check_schema(schema)
            columns = await list_tables(connection)
            if columns.keys() != present:
                raise InvalidState("The database is being migrated. Back it up when that is done.")
            tables = {
                name: await _copy_out(connection, name, columns[name], folder)
                # The manifest names the schema revision, and the migrations fill its table.
                for name in sorted(own - {REVISION_TABLE})
            }
            sequences = await _load_sequences(connection, [*tables])
            server = await connection.fetchval("SELECT current_setting('server_version')")
    finally:
        await connection.close()
    return DatabaseDump(
        taken_at=taken_at, schema=schema, server=server, tables=tables, sequences=sequences,
        left_out=sorted(present - own),
    )  # fmt: skip


async def _configure(tx: asyncpg.Connection) -> None:
    is_since_17 = tx.get_server_version().major >= 17
    await tx.execute(_SESSION_SETTINGS + (_SESSION_SETTINGS_SINCE_17 if is_since_17 else ""))


def _check_schema(schema: str) -> None:
    """Check that this version knows the schema. A newer Dunwell may have tables that this version
    would leave out. Raises InvalidState."""
    if schema not in list_revisions():
        raise InvalidState(
            f"The database has the schema {schema}, which this Dunwell does not know. Back it up "
            "with the version that migrated it."
        )


async def _copy_out(
    tx: asyncpg.Connection, name: str, columns: Sequence[str], folder: Path | None
) -> StoredTable:
    with _TableWriter(None if folder is None else folder / f"{name}{_FILE_SUFFIX}") as writer:
        status = await tx.copy_from_table(
            name, schema_name="public", columns=columns, output=writer
        )
    return StoredTable(
        _parse_row_count(status), writer.size, writer.digest.hexdigest(), list(columns)
    )


async def _load_sequences(tx: asyncpg.Connection, tables: Sequence[str]) -> dict[str, int]:
    """Load the last values of the sequences. A snapshot does not cover them, but because they are
    read after the rows, they are at least as high as every id in the rows."""
    found = {}
    for [name] in await tx.fetch(_LIST_SEQUENCES, tables):
        value = await tx.fetchval(compose(_LOAD_LAST_VALUE, sequence=name))
        if value is not None:
            found[name] = value
    return found


async def _restore(
    url: str, folder: Path, dump: DatabaseDump, restored_as_of: datetime | None
) -> None:
    async with create_schema(url, dump.schema) as tx:
        await _configure(tx)
        removable = await tx.fetch(_LIST_REMOVABLE)
        for each in removable:
            await tx.execute(each["removal"])
        for name, table in dump.tables.items():
            await _copy_in(tx, name, table, folder)
        for each in reversed(removable):
            await tx.execute(each["addition"])
        for name, value in dump.sequences.items():
            await tx.execute(_SET_LAST_VALUE, name, value)
        if restored_as_of is not None:
            await tx.execute(RECORD_RESTORE, restored_as_of)


async def _copy_in(tx: asyncpg.Connection, name: str, table: StoredTable, folder: Path) -> None:
    with gzip.open(folder / f"{name}{_FILE_SUFFIX}") as source:
        status = await tx.copy_to_table(
            name, schema_name="public", columns=table.columns, source=source
        )
    rows = _parse_row_count(status)
    if rows != table.rows:
        raise RestoreFailed(
            f"{name} took {rows} rows; the backup has {table.rows}. Nothing was restored."
        )


def _parse_row_count(status: str) -> int:
    """Return the number of rows in a server response such as `COPY 12`."""
    return int(status.rpartition(" ")[2])


class _TableWriter:
    """Receives the output of COPY, computes its size and digest, and writes it compressed if there
    is a path."""

    def __init__(self, path: Path | None) -> None:
        self.size = 0
        self.digest = hashlib.sha256()
        self._file: gzip.GzipFile | None = None
        if path is not None:
            self._file = gzip.open(  # noqa: SIM115 - closed by __exit__
                path, "wb", compresslevel=_COMPRESSION_LEVEL
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, data: bytes) -> None:
        self.size += len(data)
        self.digest.update(data)
        if self._file is not None:
            self._file.write(data)
