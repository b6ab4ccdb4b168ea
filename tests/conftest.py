"""One embedded PostgreSQL per test process, migrated once; every test starts on empty tables."""

import asyncio
import gc
import os
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime

import asyncpg
import hypothesis
import pytest
import structlog

from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings, load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.children import end_children
from tests.support.merchant_ids import FIRST_MERCHANT_IDS
from tests.support.pooler import PooledPostgres, a_pooler

_TABLES = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    AND relname NOT IN ('schema_migrations', 'epochs')
"""
# Deletes everything that a test must not find, in one function whose statements PostgreSQL keeps
# planned. Deleting a few rows takes a twentieth of the time that TRUNCATE needs for all tables. If
# a table with rows has become large, even by dead rows, all are truncated, because dead rows would
# slow down later tests and change the plans of their statements. A process uses each merchant id
# only once, because caches are keyed by merchant and revision.
_MAKE_EMPTYING = """
CREATE SCHEMA tests;
CREATE FUNCTION tests.begin_empty(first_merchant_id bigint) RETURNS void
LANGUAGE plpgsql AS $body$
DECLARE
    has_rows boolean[];
    is_large boolean := false;
BEGIN
    SELECT ARRAY[{have_rows}] INTO has_rows;
    {deletions}
    IF is_large THEN
        TRUNCATE {tables} CASCADE;
    END IF;
    PERFORM setval(
        pg_get_serial_sequence('merchants', 'merchant_id'), first_merchant_id, false
    );
END $body$
"""
_HAS_ROWS = "EXISTS (SELECT FROM {name})"
_DELETION = """
    IF has_rows[{number}] THEN
        is_large := is_large OR pg_relation_size('{name}') > 4 * 1024 * 1024;
        IF NOT is_large THEN
            DELETE FROM {name};
        END IF;
    END IF;
"""
_BEGIN_EMPTY = "SELECT tests.begin_empty($1)"
# Ends the sessions of this database that work or have a transaction open.
_END_OTHER_TRANSACTIONS = """
SELECT pg_terminate_backend(pid, 10000)
FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND state <> 'idle'
    AND pid <> pg_backend_pid()
"""
# Disables triggers, which protect published rows, and foreign keys.
_EMPTYING_SETTINGS = {"session_replication_role": "replica", "lock_timeout": "5s"}
# The number of statements that a connection keeps prepared. A test process runs most statements of
# the code, and the usual hundred would be prepared again and again.
_KEPT_STATEMENTS = 2000

MONDAY_MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)

# The number of examples of each property test. There is no deadline, because a busy machine would
# fail correct code.
for _name, _examples in {"usual": 40, "full": 150}.items():
    hypothesis.settings.register_profile(
        _name, max_examples=_examples, deadline=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )  # fmt: skip
hypothesis.settings.load_profile(os.environ.get("PROPERTIES", "usual"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--pooler", action="store_true", help="behind a pgBouncer in transaction mode")


# Collecting the tests makes only objects that stay.
gc.disable()


def pytest_collection_finish() -> None:
    """Exempt everything that is now loaded from garbage collection, because scanning it takes a
    third of a test's time. Collect what tests leave behind less often."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)


@pytest.fixture(autouse=True)
def _plain_logging() -> None:
    """Log to the test's own output, whatever an earlier test configured. The default renderer
    highlights tracebacks, which takes half a second for each."""
    structlog.reset_defaults()
    *others, _ = structlog.get_config()["processors"]
    renderer = structlog.dev.ConsoleRenderer(
        colors=False, exception_formatter=structlog.dev.plain_traceback
    )
    structlog.configure(processors=[*others, renderer])


@pytest.fixture(scope="session")
def server_settings() -> Mapping[str, str]:
    """Settings of the test server. Committed data survives the end of the server, though not a
    crash of the machine. Each statement is planned once, because planning it for each execution
    takes longer than reading a test's few rows."""
    return {"fsync": "off", "full_page_writes": "off", "plan_cache_mode": "force_generic_plan"}


@pytest.fixture(scope="session")
def postgres(
    tmp_path_factory: pytest.TempPathFactory,
    pytestconfig: pytest.Config,
    server_settings: Mapping[str, str],
) -> Iterator[EmbeddedPostgres]:
    """The server, with --pooler behind a pooler."""
    folder = tmp_path_factory.mktemp("postgres")
    # When the tests run as root, the server's user must be able to reach its folder.
    for parent in (folder, *folder.parents):
        if parent.owner() != "root" or parent.stat().st_mode & 0o001:
            continue
        parent.chmod(0o755)
    folder = folder / "server"  # The server creates this folder and makes its user the owner.
    embedded = EmbeddedPostgres(folder, get_binaries_folder(None))
    server = embedded.start()
    asyncio.run(_configure(embedded.url, server_settings))
    migrate(embedded.url)
    if pytestconfig.getoption("pooler"):
        with a_pooler(embedded, folder) as pooler:
            yield PooledPostgres(folder, embedded.binaries, pooled_url=pooler.url)
    else:
        yield embedded
    server.send_signal(3)  # SIGQUIT, because no checkpoint is needed.
    server.wait(timeout=10)


async def _configure(url: str, settings: Mapping[str, str]) -> None:
    connection = await asyncpg.connect(url)
    for name, value in settings.items():
        await connection.execute(f"ALTER SYSTEM SET {name} = {value}")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


@pytest.fixture(scope="session")
async def pool(postgres: EmbeddedPostgres) -> AsyncIterator[Database]:
    database = await Database.open(postgres.url, size=10, on_connect=_keep_statements)
    yield database
    await database.close()
    await end_children()


async def _keep_statements(connection: Connection) -> None:
    # Behind a pooler no statement is kept.
    if connection._stmt_cache.get_max_size():
        connection._stmt_cache.set_max_size(_KEPT_STATEMENTS)


class Tables:
    """All migrated tables, emptied over a separate connection: changing session_replication_role
    discards all plans of a connection, and the statements of each test would be planned again."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: asyncpg.Connection | None = None

    async def create_function(self) -> None:
        connection = await self._connect()
        names = [row["relname"] for row in await connection.fetch(_TABLES)]
        deletions = (
            _DELETION.format(name=name, number=number) for number, name in enumerate(names, 1)
        )
        await connection.execute(
            _MAKE_EMPTYING.format(
                tables=", ".join(names),
                have_rows=", ".join(_HAS_ROWS.format(name=name) for name in names),
                deletions="".join(deletions),
            )
        )

    async def begin_empty(self) -> None:
        """Empty all tables. Ids continue, because caches are keyed by them.

        The server works for a moment on the statement of a process that an earlier test killed.
        That session can hold locks, wait for those of this one and so deadlock with it, so it is
        ended when that happens.
        """
        connection = await self._connect()
        try:
            await connection.execute(_BEGIN_EMPTY, next(FIRST_MERCHANT_IDS))
        except (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError):
            await connection.execute(_END_OTHER_TRANSACTIONS)
            await connection.execute(_BEGIN_EMPTY, next(FIRST_MERCHANT_IDS))

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def _connect(self) -> asyncpg.Connection:
        if self._connection is None or self._connection.is_closed():
            self._connection = await asyncpg.connect(self._url, server_settings=_EMPTYING_SETTINGS)
        return self._connection


@pytest.fixture(scope="session")
async def tables(postgres: EmbeddedPostgres, pool: Database) -> AsyncIterator[Tables]:
    """The tables of the database, reached without a pooler."""
    tables = Tables(EmbeddedPostgres(postgres.folder, postgres.binaries).url)
    await tables.create_function()
    yield tables
    await tables.close()


@pytest.fixture
async def database(pool: Database, tables: Tables) -> Database:
    """The database with all tables empty."""
    await tables.begin_empty()
    return pool


@pytest.fixture(scope="session")
def lasting_clock() -> MovableClock:
    return MovableClock(MONDAY_MORNING)


@pytest.fixture(scope="session")
def lasting_resources(
    postgres: EmbeddedPostgres, pool: Database, lasting_clock: MovableClock,
    tmp_path_factory: pytest.TempPathFactory,
) -> Resources:  # fmt: skip
    """The same resources for all tests of a process, so that they share one application."""
    settings = load_settings({
        "DUNWELL_DATA_DIR": str(tmp_path_factory.mktemp("data")),
        "DUNWELL_DATABASE_URL": postgres.url,
    })  # fmt: skip
    return Resources(settings, pool, lasting_clock, RandomIds(), KeyRing(settings.secret_key))


@pytest.fixture
def settings(lasting_resources: Resources) -> Settings:
    """Settings with a data folder that contains only the key."""
    settings = lasting_resources.settings
    for path in settings.data_dir.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    return settings


@pytest.fixture
def clock(lasting_clock: MovableClock) -> MovableClock:
    """A clock that starts on a Monday morning."""
    lasting_clock.move_to(MONDAY_MORNING)
    return lasting_clock


@pytest.fixture
def resources(
    lasting_resources: Resources, settings: Settings, database: Database, clock: MovableClock
) -> Resources:
    return lasting_resources


@pytest.fixture(scope="module")
async def module_resources(
    tables: Tables, lasting_resources: Resources, lasting_clock: MovableClock
) -> Resources:
    """Resources on tables that are emptied once, for modules whose tests only read rows that take
    long to insert. None of these tests may use `database`."""
    lasting_clock.move_to(MONDAY_MORNING)
    await tables.begin_empty()
    return lasting_resources
