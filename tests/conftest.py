"""One embedded PostgreSQL per test process, migrated once; every test starts on empty tables."""

import asyncio
import gc
import itertools
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime

import asyncpg
import pytest

from dunwell.config import Settings, load_settings
from dunwell.kit.clock import MovableClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.migrate import migrate
from dunwell.kit.postgres import EmbeddedPostgres, find_binaries
from dunwell.kit.resources import Resources
from tests.support.children import end_children
from tests.support.web_processes import Web, two_webs

# The first merchant id of each test.
_FIRST_MERCHANT_IDS = itertools.count(100, 100)

_TABLES = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
"""
# Those that many rows have been in are made anew: dead rows would slow down what comes after.
_USED = """
SELECT '{name}' AS name, pg_relation_size('{name}') > 4 * 1024 * 1024 AS is_big
WHERE EXISTS (SELECT FROM {name}) OR pg_relation_size('{name}') > 4 * 1024 * 1024
"""
# No triggers, which keep what is published, and no foreign keys.
_UNGUARDED = "SET LOCAL session_replication_role = replica"
# No merchant id is used twice in a process: caches are keyed by merchant and revision.
_COUNT_ON = "SELECT setval(pg_get_serial_sequence('merchants', 'merchant_id'), {first}, false)"
# What is committed outlives the server as ever; the machine's end it would not outlive.
_NOT_FOR_TESTS = ("fsync", "full_page_writes")

MONDAY_MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def pytest_collection_finish() -> None:
    """What is there now stays: to look through it for what is not needed takes a third of a test.
    What tests leave behind is looked for less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 10)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    folder = tmp_path_factory.mktemp("postgres")
    for parent in (folder, *folder.parents):  # as root, the server's user must reach its folder
        if parent.owner() != "root" or parent.stat().st_mode & 0o001:
            continue
        parent.chmod(0o755)
    embedded = EmbeddedPostgres(folder, find_binaries(None))
    server = embedded.start()
    asyncio.run(_spare_the_disk(embedded.url))
    migrate(embedded.url)
    yield embedded
    server.send_signal(3)  # SIGQUIT: nothing here is worth a checkpoint
    server.wait(timeout=10)


async def _spare_the_disk(url: str) -> None:
    connection = await asyncpg.connect(url)
    for name in _NOT_FOR_TESTS:
        await connection.execute(f"ALTER SYSTEM SET {name} = off")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


@pytest.fixture(scope="session")
def webs(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sequence[Web]]:
    """Two web processes on the database, in real time."""
    with two_webs(tmp_path_factory.mktemp("webs"), postgres.url) as webs:
        yield webs


@pytest.fixture(scope="session")
async def pool(postgres: EmbeddedPostgres) -> AsyncIterator[Database]:
    database = await Database.open(postgres.url, size=10)
    yield database
    await database.close()
    await end_children()


@pytest.fixture(scope="session")
async def tables(pool: Database) -> Sequence[str]:
    """The names of all that the migrations made."""
    async with pool.connection() as connection:
        return [row["relname"] for row in await connection.fetch(_TABLES)]


@pytest.fixture
async def database(pool: Database, tables: Sequence[str]) -> Database:
    """The database, every table empty. Ids go on counting: caches are keyed by them."""
    async with pool.transaction() as tx:
        used = await tx.fetch(" UNION ALL ".join(_USED.format(name=name) for name in tables))
        if any(row["is_big"] for row in used):
            await tx.execute(f"TRUNCATE {', '.join(tables)} CASCADE")
        # Few rows are deleted in a twentieth of the time that new files for all tables take.
        deleting = [f"DELETE FROM {row['name']}" for row in used]
        counting_on = _COUNT_ON.format(first=next(_FIRST_MERCHANT_IDS))
        await tx.execute("; ".join([_UNGUARDED, *deleting, counting_on]))
    return pool


@pytest.fixture(scope="session")
def lasting_clock() -> MovableClock:
    return MovableClock(MONDAY_MORNING)


@pytest.fixture(scope="session")
def lasting_resources(
    postgres: EmbeddedPostgres, pool: Database, lasting_clock: MovableClock,
    tmp_path_factory: pytest.TempPathFactory,
) -> Resources:  # fmt: skip
    """The same for all tests of a process, so that one application serves them."""
    settings = load_settings({
        "DUNWELL_DATA_DIR": str(tmp_path_factory.mktemp("data")),
        "DUNWELL_DATABASE_URL": postgres.url,
    })  # fmt: skip
    return Resources(settings, pool, lasting_clock, RandomIds(), KeyRing(settings.secret_key))


@pytest.fixture
def settings(lasting_resources: Resources) -> Settings:
    """With nothing in the data folder but the key."""
    settings = lasting_resources.settings
    for path in settings.data_dir.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
    return settings


@pytest.fixture
def clock(lasting_clock: MovableClock) -> MovableClock:
    """On a Monday morning."""
    lasting_clock.move_to(MONDAY_MORNING)
    return lasting_clock


@pytest.fixture
def resources(
    lasting_resources: Resources, settings: Settings, database: Database, clock: MovableClock
) -> Resources:
    return lasting_resources
