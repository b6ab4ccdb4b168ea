"""One embedded PostgreSQL per test process, migrated once; every test starts on empty tables."""

import itertools
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dunwell.config import Settings, load_settings
from dunwell.kit.clock import MovableClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection, Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.migrate import migrate
from dunwell.kit.postgres import EmbeddedPostgres, find_binaries
from dunwell.kit.resources import Resources
from tests.support.web_processes import Web, two_webs

# The first merchant id of each test.
_FIRST_MERCHANT_IDS = itertools.count(100, 100)

# Those that many rows have been in are made anew: dead rows would slow down what comes after.
_TABLES = """
SELECT relname AS name, pg_relation_size(oid) > 4 * 1024 * 1024 AS is_big
FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname <> 'alembic_version'
"""

MONDAY_MORNING = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    folder = tmp_path_factory.mktemp("postgres")
    for parent in (folder, *folder.parents):  # as root, the server's user must reach its folder
        if parent.owner() != "root" or parent.stat().st_mode & 0o001:
            continue
        parent.chmod(0o755)
    embedded = EmbeddedPostgres(folder, find_binaries(None))
    server = embedded.start()
    migrate(embedded.url)
    yield embedded
    server.send_signal(3)  # SIGQUIT: nothing here is worth a checkpoint
    server.wait(timeout=10)


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


@pytest.fixture
async def database(pool: Database) -> Database:
    """The database, every table empty. Ids go on counting: caches are keyed by them."""
    async with pool.transaction() as tx:
        tables = await tx.fetch(_TABLES)
        await _empty(tx, [row["name"] for row in tables], any(row["is_big"] for row in tables))
        # No merchant id is used twice in a process: caches are keyed by merchant and revision.
        await tx.execute(
            f"ALTER TABLE merchants ALTER merchant_id RESTART WITH {next(_FIRST_MERCHANT_IDS)}"
        )
    return pool


async def _empty(tx: Connection, names: list[str], is_big: bool) -> None:
    """Few rows are deleted in a twentieth of the time that new files for all tables take."""
    if is_big:
        await tx.execute(f"TRUNCATE {', '.join(names)} CASCADE")
        return
    # No triggers, which keep what is published, and no foreign keys.
    await tx.execute("SET LOCAL session_replication_role = replica")
    await tx.execute("; ".join(f"DELETE FROM {name}" for name in names))


@pytest.fixture
def settings(tmp_path: Path, postgres: EmbeddedPostgres) -> Settings:
    environment = {"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_DATABASE_URL": postgres.url}
    return load_settings(environment)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock(MONDAY_MORNING)


@pytest.fixture
def resources(settings: Settings, database: Database, clock: MovableClock) -> Resources:
    return Resources(settings, database, clock, RandomIds(), KeyRing(settings.secret_key))
