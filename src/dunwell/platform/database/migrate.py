"""Bring a database to the newest schema with Alembic, whose migrations here are plain SQL, and its
order of transactions to the server it is on.

Each migration is a transaction of its own, or, where it says `IN_TRANSACTION = False`, a few
statements that commit one by one, as an index on a large table has to be built.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from pathlib import Path

import asyncpg
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.runtime.migration import MigrationContext, MigrationStep, RevisionStep
from alembic.script import Script, ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from dunwell.platform.database.database import settle_epoch_at
from dunwell.platform.database.pool import OpenConnection, connect
from dunwell.platform.errors import InvalidState, Unavailable

NEWEST = "head"
MIGRATIONS = Path(str(files("dunwell.platform") / "migrations"))
# So long a migration waits for a table, and everybody who comes after it waits with it.
LOCK_SECONDS = 4.0
_TRIES = 5
_PAUSE_SECONDS = 2.0
# Held by a transaction that does nothing else, so that no two migrate at once.
_TAKE_TURN = "SELECT pg_try_advisory_xact_lock(4711)"
_TURN_SECONDS = 0.1
# Waits for a migration that is running.
_WAIT_FOR_TURN = "SELECT pg_advisory_xact_lock(4711)"
# Tables, sequences and views that are not an extension's. An identity column whose sequence has its
# name taken would get another one.
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
# Whose tables these are, and whether the role that asks may create more; all of it quoted as SQL.
_LOAD_RIGHTS = """
SELECT quote_ident(current_user) AS role, quote_ident(current_database()) AS database,
    has_schema_privilege('public', 'CREATE') AND has_schema_privilege('public', 'USAGE')
        AS may_create,
    (
        SELECT quote_ident(tableowner)
        FROM pg_tables
        WHERE schemaname = 'public' AND tablename = 'alembic_version'
    ) AS owner
"""
_SET_TIMEOUT = "SELECT set_config('lock_timeout', :milliseconds, true)"


class TableTaken(Unavailable):
    """Others held a table for too long; the migrations before this one stand."""


class MigrationForbidden(InvalidState):
    """The role in the database's address may not create or change tables."""


class DatabaseNotEmpty(InvalidState):
    """The database already has tables, so no schema is created in it."""


def migrate(
    url: str, to: str = NEWEST, *, lock_seconds: float = LOCK_SECONDS, folder: Path = MIGRATIONS
) -> None:
    """Run every migration of the folder up to `to` that the database has not seen; safe to start
    twice at once.

    Raises TableTaken when one of them did not get its tables in five tries, MigrationForbidden when
    the role lacks a right, and asyncpg's errors.
    """
    scripts = ScriptDirectory.from_config(_configure(folder))
    asyncio.run(_migrate(url, scripts, to, lock_seconds))


@asynccontextmanager
async def create_schema(
    url: str, to: str, folder: Path = MIGRATIONS
) -> AsyncIterator[asyncpg.Connection]:
    """Run every migration up to `to` in an empty database, all in one transaction.

    Yields the connection inside that transaction, so that rows can be loaded before it commits:
    after an error or a kill the database is as empty as before. The epoch is not settled here; the
    next connection of the service does that. Raises DatabaseNotEmpty, MigrationForbidden and
    asyncpg's errors.
    """
    engine = _create_engine(url)
    scripts = ScriptDirectory.from_config(_configure(folder))
    try:
        async with engine.begin() as connection:
            await connection.execute(text(_WAIT_FOR_TURN))
            driver = (await connection.get_raw_connection()).driver_connection
            await check_empty(driver)
            for script in [*scripts.iterate_revisions(to, "base")][::-1]:
                await connection.run_sync(_upgrade, scripts, script)
            yield driver
    except (DBAPIError, asyncpg.InsufficientPrivilegeError) as error:
        raise await _explain(url, error) from error
    finally:
        await engine.dispose()


async def _explain(url: str, error: Exception) -> Exception:
    """Return what to raise instead: MigrationForbidden for a right that is missing, with what to
    grant, and for everything else the server's own error."""
    told = _find_server_error(error)
    if not isinstance(told, asyncpg.InsufficientPrivilegeError):
        return told or error
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
        remedy = f"The tables belong to {owner}: migrate as {owner}, as always before."
    else:
        remedy = "Give it that right and migrate again."
    return MigrationForbidden(
        f"The database does not let the role {role} change its schema: {told}. {remedy}"
    )


def _find_server_error(error: BaseException | None) -> asyncpg.PostgresError | None:
    """SQLAlchemy wraps the errors of the statements that it sends itself."""
    while error is not None and not isinstance(error, asyncpg.PostgresError):
        error = error.__cause__
    return error


async def check_empty(connection: asyncpg.Connection) -> None:
    """Raises DatabaseNotEmpty."""
    if await connection.fetchval(_HAS_RELATIONS):
        raise DatabaseNotEmpty(
            "The database has tables, sequences or views. A backup is restored into an empty one."
        )


def _create_engine(url: str) -> AsyncEngine:
    # asyncpg reads the address itself, so that it means the same here as everywhere else.
    return create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: connect(url, OpenConnection),
        poolclass=NullPool,
    )


async def _migrate(url: str, scripts: ScriptDirectory, to: str, lock_seconds: float) -> None:
    engine = _create_engine(url)
    turn = await connect(url, OpenConnection)
    try:
        while not await _migrate_in_turn(  # noqa: ASYNC110
            turn, engine, scripts=scripts, to=to, lock_seconds=lock_seconds
        ):
            await asyncio.sleep(_TURN_SECONDS)
    except (DBAPIError, asyncpg.InsufficientPrivilegeError) as error:
        raise await _explain(url, error) from error
    finally:
        await turn.close()
        await engine.dispose()
    await settle_epoch_at(url)


async def _migrate_in_turn(
    turn: asyncpg.Connection, engine: AsyncEngine, scripts: ScriptDirectory, to: str,
    lock_seconds: float,
) -> bool:  # fmt: skip
    """False: another process has it. Whoever asks keeps no transaction open until the next time: an
    index that is built waits for all those that happened to be asking, and they for it."""
    async with turn.transaction():
        if not await _has_turn(turn):
            return False
        for script in await _list_missing(engine, scripts, to):
            await _run_patiently(engine, scripts, script, lock_seconds)
        return True


async def _has_turn(turn: asyncpg.Connection) -> bool:
    """Without waiting, and keeping no snapshot: an index that is built beside those who write waits
    until all older ones are gone. A statement's is kept until the next simple one."""
    is_taken: bool = await turn.fetchval(_TAKE_TURN)
    await turn.execute("SELECT")
    return is_taken


async def _list_missing(engine: AsyncEngine, scripts: ScriptDirectory, to: str) -> list[Script]:
    async with engine.connect() as connection:
        present = await connection.run_sync(_read_revision)
    missing = [*scripts.iterate_revisions(to, present or "base")]
    return missing[::-1]


def _read_revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


async def _run_patiently(
    engine: AsyncEngine, scripts: ScriptDirectory, script: Script, lock_seconds: float
) -> None:
    for left in reversed(range(_TRIES)):
        try:
            await _run(engine, scripts, script, lock_seconds)
        except Exception as error:
            if not _is_lock_timeout(error):
                raise
            if not left:
                raise TableTaken(
                    f"Migration {script.revision} ({script.doc}) waited {_TRIES} times"
                    f" {lock_seconds:g} s for a table that others hold; those before it stand."
                    " End long transactions (pg_stat_activity) and migrate again."
                ) from error
            await asyncio.sleep(min(_PAUSE_SECONDS, lock_seconds))
        else:
            return


def _is_lock_timeout(error: BaseException) -> bool:
    return isinstance(_find_server_error(error), asyncpg.LockNotAvailableError)


async def _run(
    engine: AsyncEngine, scripts: ScriptDirectory, script: Script, lock_seconds: float
) -> None:
    if getattr(script.module, "IN_TRANSACTION", True):
        async with engine.begin() as connection:
            await connection.execute(
                text(_SET_TIMEOUT), {"milliseconds": str(round(lock_seconds * 1000))}
            )
            await connection.run_sync(_upgrade, scripts, script)
    else:
        alone = engine.execution_options(isolation_level="AUTOCOMMIT")
        async with alone.connect() as connection:
            await connection.run_sync(_upgrade, scripts, script)


def _upgrade(connection: Connection, scripts: ScriptDirectory, script: Script) -> None:
    def list_steps(_present: object, _context: object) -> list[RevisionStep]:
        return [MigrationStep.upgrade_from_script(scripts.revision_map, script)]

    config = _configure(Path(scripts.dir))
    config.attributes["connection"] = connection
    with EnvironmentContext(config, scripts, fn=list_steps, destination_rev=script.revision):
        scripts.run_env()


def _configure(folder: Path) -> Config:
    config = Config()
    config.set_main_option("script_location", str(folder))
    return config
