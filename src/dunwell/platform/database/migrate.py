"""The migrations of this release, and the upgrade of a database to the newest schema."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import asyncpg

from dunwell.platform.config.settings import parse_database_address
from dunwell.platform.database.database import check_epoch_at
from dunwell.platform.database.pool import OpenConnection, connect
from dunwell.platform.errors import InvalidState, Unavailable

MIGRATIONS = Path(str(files("dunwell.platform") / "migrations"))
# The table with a row for each migration that has run. The first migration creates it.
REVISION_TABLE = "schema_migrations"
LOAD_REVISION = f"SELECT max(revision) FROM {REVISION_TABLE}"  # noqa: S608 - a constant
_FILE_NAME = re.compile(r"(\d{4})_(\w+)")
# The first line of a migration whose statements commit one by one.
_WITHOUT_TRANSACTION = "-- Without a transaction.\n"
_NEW_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)
_DROPPED_TABLE = re.compile(r"^DROP TABLE (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    # The number at the beginning of the file's name.
    revision: str
    name: str
    sql: str

    @property
    def is_in_transaction(self) -> bool:
        return not self.sql.startswith(_WITHOUT_TRANSACTION)

    def split_statements(self) -> Iterator[str]:
        """Yield the statements. Each ends with a semicolon at the end of its line."""
        for statement in self.sql.split(";\n"):
            if statement.strip():
                yield statement


def list_migrations(folder: Path = MIGRATIONS) -> Sequence[Migration]:
    """Return the migrations in the order in which they run."""
    return [
        Migration(name[1], name[2], _read_sql(path))
        for path in sorted(folder.iterdir())
        if (name := _FILE_NAME.match(path.stem))
    ]


def _read_sql(path: Path) -> str:
    if path.is_dir():
        return "\n".join(file.read_text("utf-8") for file in sorted(path.glob("*.sql")))
    return path.read_text("utf-8")


def list_revisions() -> frozenset[str]:
    """Return the numbers of all migrations."""
    return frozenset(each.revision for each in list_migrations())


def get_newest_revision() -> str:
    """Return the number of the newest migration."""
    return list_migrations()[-1].revision


def list_own_tables() -> frozenset[str]:
    """Return the tables that the migrations create and do not drop again, so that other tables in
    the database can be distinguished."""
    tables: set[str] = set()
    for migration in list_migrations():
        tables |= {*_NEW_TABLE.findall(migration.sql)}
        tables -= {*_DROPPED_TABLE.findall(migration.sql)}
    return frozenset(tables)


def load_revisions(url: str) -> tuple[str | None, str]:
    """Return the number of the newest migration that ran in the database, or None, and the number
    of the newest one in this release."""
    return asyncio.run(_load_revision(url)), get_newest_revision()


async def _load_revision(url: str) -> str | None:
    # Do not use prepared statements, because the address may be that of a connection pooler.
    connection = await asyncpg.connect(parse_database_address(url).url, statement_cache_size=0)
    try:
        return await find_revision(connection)
    finally:
        await connection.close()


async def find_revision(connection: asyncpg.Connection) -> str | None:
    """Return the number of the newest migration that ran in the database, or None."""
    try:
        revision: str | None = await connection.fetchval(LOAD_REVISION)
    except asyncpg.UndefinedTableError:
        return None
    return revision


# How long a migration waits for a table lock. All later transactions that need the table wait
# behind it.
LOCK_SECONDS = 4.0
_ATTEMPTS = 5
_PAUSE_SECONDS = 2.0
# Held by a transaction that does nothing else, so that only one process migrates at a time.
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(4711)"
_RETRY_SECONDS = 0.1
# Waits for a migration that is running.
_LOCK = "SELECT pg_advisory_xact_lock(4711)"
# Tables, sequences and views that do not belong to an extension. Sequences count because an
# identity column would get another sequence if the name is already in use.
_HAS_RELATIONS = """
SELECT EXISTS (
    SELECT FROM pg_class
    WHERE relkind IN ('r', 'p', 'f', 'S', 'v', 'm') AND relnamespace = 'public'::regnamespace
        AND NOT EXISTS (
            SELECT FROM pg_depend
            WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
        )
)
"""
# Who owns the tables, and whether the current role may create more. The names are quoted as SQL.
_LOAD_RIGHTS = """
SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database,
    has_schema_privilege('public', 'CREATE') AND has_schema_privilege('public', 'USAGE')
        AS may_create,
    (
        SELECT quote_ident(tableowner)
        FROM pg_tables
        WHERE schemaname = 'public' AND tablename = 'schema_migrations'
    ) AS owner
"""
_SET_TIMEOUT = "SELECT set_config('lock_timeout', $1, true)"
_SAVE_REVISION = f"INSERT INTO {REVISION_TABLE} (revision, name) VALUES ($1, $2)"  # noqa: S608


class TableLocked(Unavailable):
    """Another transaction held a lock for too long. The migrations before this one are done."""


class MigrationForbidden(InvalidState):
    """The role in the database's address may not create or change tables."""


class DatabaseNotEmpty(InvalidState):
    """The database already has tables, so no schema is created in it."""


class SchemaTooNew(InvalidState):
    """A newer version of Dunwell has migrated the database."""


def migrate(
    url: str,
    to: str | None = None,
    *,
    lock_seconds: float = LOCK_SECONDS,
    folder: Path = MIGRATIONS,
) -> None:
    """Run every migration up to `to` (None: all) that the database does not have yet. If another
    process is migrating, wait until it is done.

    Raises TableLocked if a migration did not get its table locks in five attempts,
    MigrationForbidden if the role lacks a right, SchemaTooNew, and asyncpg's errors.
    """
    asyncio.run(_migrate(url, list_migrations(folder), to, lock_seconds))


@asynccontextmanager
async def create_schema(
    url: str, to: str, folder: Path = MIGRATIONS
) -> AsyncIterator[asyncpg.Connection]:
    """Run every migration up to `to` in an empty database, all in one transaction.

    Yields the connection inside that transaction, so that rows can be loaded before it commits:
    after an error or a kill the database is still empty. Indexes are built without CONCURRENTLY,
    which a transaction does not allow. That blocks no one, because only this transaction sees the
    new tables. The epoch is not checked here; the next connection of the service does that. Raises
    DatabaseNotEmpty, MigrationForbidden and asyncpg's errors.
    """
    connection = await connect(url, OpenConnection)
    try:
        async with connection.transaction():
            await connection.execute(_LOCK)
            await check_empty(connection)
            for migration in list_migrations(folder):
                if migration.revision <= to:
                    await connection.execute(migration.sql.replace(" CONCURRENTLY", ""))
                    await _save_revision(connection, migration)
            yield connection
    except asyncpg.InsufficientPrivilegeError as error:
        raise await _build_permission_error(url, error) from error
    finally:
        await connection.close()


async def _build_permission_error(
    url: str, error: asyncpg.InsufficientPrivilegeError
) -> MigrationForbidden:
    """Return the error for a missing right, which says what to grant."""
    connection = await connect(url, OpenConnection)
    try:
        rights = await connection.fetchrow(_LOAD_RIGHTS)
    finally:
        await connection.close()
    role, owner = rights["role"], rights["owner"]
    if not rights["may_create"]:
        remedy = (
            f"Let it own the database (ALTER DATABASE {rights['database']} OWNER TO {role}), or"
            f" GRANT USAGE, CREATE ON SCHEMA public TO {role}, as a superuser or the owner, and"
            " migrate again."
        )
    elif owner not in (None, role):
        remedy = f"The tables belong to {owner}: migrate as {owner}."
    else:
        remedy = "Give it that right and migrate again."
    return MigrationForbidden(
        f"The database does not let the role {role} change its schema: {error}. {remedy}"
    )


async def check_empty(connection: asyncpg.Connection) -> None:
    """Check that the database has no tables, sequences or views. Raises DatabaseNotEmpty."""
    if await connection.fetchval(_HAS_RELATIONS):
        raise DatabaseNotEmpty(
            "The database has tables, sequences or views. Restore a backup into an empty database."
        )


async def _migrate(
    url: str, migrations: Sequence[Migration], to: str | None, lock_seconds: float
) -> None:
    lock_connection = await connect(url, OpenConnection)
    connection = await connect(url, OpenConnection)
    try:
        while not await _migrate_if_unlocked(  # noqa: ASYNC110
            lock_connection, connection, migrations=migrations, to=to, lock_seconds=lock_seconds
        ):
            await asyncio.sleep(_RETRY_SECONDS)
    except asyncpg.InsufficientPrivilegeError as error:
        raise await _build_permission_error(url, error) from error
    finally:
        await lock_connection.close()
        await connection.close()
    await check_epoch_at(url)


async def _migrate_if_unlocked(
    lock_connection: asyncpg.Connection, connection: asyncpg.Connection, *,
    migrations: Sequence[Migration], to: str | None, lock_seconds: float,
) -> bool:  # fmt: skip
    """Run the missing migrations and return True, or return False if another process is migrating.
    The transaction ends before the next attempt to avoid a deadlock: when the other process builds
    an index, it waits for all open transactions, and this process would wait for it."""
    async with lock_connection.transaction():
        if not await _try_lock(lock_connection):
            return False
        for migration in await _list_missing(connection, migrations, to):
            await _run_with_retries(connection, migration, lock_seconds)
        return True


async def _try_lock(lock_connection: asyncpg.Connection) -> bool:
    """Try to get the migration lock without waiting, and release the snapshot. An index that
    another process builds concurrently waits for all older snapshots, and a statement's snapshot is
    kept until the next simple statement."""
    is_locked: bool = await lock_connection.fetchval(_TRY_LOCK)
    await lock_connection.execute("SELECT")
    return is_locked


async def _list_missing(
    connection: asyncpg.Connection, migrations: Sequence[Migration], to: str | None
) -> Sequence[Migration]:
    present = await find_revision(connection) or ""
    if present > migrations[-1].revision:
        raise SchemaTooNew(
            f"The database has the schema {present}, the newest that this Dunwell knows is "
            f"{migrations[-1].revision}. Install the version that migrated it, or a newer one."
        )
    return [
        migration
        for migration in migrations
        if migration.revision > present and (to is None or migration.revision <= to)
    ]


async def _run_with_retries(
    connection: asyncpg.Connection, migration: Migration, lock_seconds: float
) -> None:
    for left in reversed(range(_ATTEMPTS)):
        try:
            await _run(connection, migration, lock_seconds)
        except asyncpg.LockNotAvailableError as error:
            if not left:
                raise TableLocked(
                    f"Migration {migration.revision} ({migration.name}) waited {_ATTEMPTS} times "
                    f"{lock_seconds} s for a table that other transactions lock; the earlier "
                    "migrations are done. End long transactions (pg_stat_activity) and migrate "
                    "again."
                ) from error
            await asyncio.sleep(min(_PAUSE_SECONDS, lock_seconds))
        else:
            return


async def _run(connection: asyncpg.Connection, migration: Migration, lock_seconds: float) -> None:
    if migration.is_in_transaction:
        async with connection.transaction():
            await connection.execute(_SET_TIMEOUT, str(round(lock_seconds * 1000)))
            await connection.execute(migration.sql)
            await _save_revision(connection, migration)
    else:
        for statement in migration.split_statements():
            await connection.execute(statement)
        await _save_revision(connection, migration)


async def _save_revision(connection: asyncpg.Connection, migration: Migration) -> None:
    await connection.execute(_SAVE_REVISION, migration.revision, migration.name)
