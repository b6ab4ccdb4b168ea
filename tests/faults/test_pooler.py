"""The service behind a real pgBouncer in transaction mode: what each kind of statement needs, and a
claim from creation to contact. `make pooler` runs the tests of the API and the engine behind one.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.database.database import Connection, Database, DatabaseAway
from dunwell.platform.database.migrate import load_revisions, migrate
from dunwell.platform.database.pool import PoolLimits
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.support.api import an_api
from tests.support.command_line import CommandLine
from tests.support.definitions import a_definition
from tests.support.harness import a_harness
from tests.support.pooler import Pooler, a_pooler

# Fewer connections than the pool has, so that successive transactions use different ones.
_SHARED = 2
_POOL_SIZE = 10
_NAMED = "SELECT count(*) FROM pg_prepared_statements"
_SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


@pytest.fixture(scope="module")
def pooler(
    postgres: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pooler]:
    folder = tmp_path_factory.mktemp("pooler")
    folder.chmod(0o755)
    with a_pooler(EmbeddedPostgres(postgres.folder, postgres.binaries), folder, _SHARED) as pooler:
        yield pooler


@pytest.fixture
async def behind(pooler: Pooler) -> AsyncIterator[Database]:
    async with _opened(pooler.url) as database:
        yield database


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    database = await Database.open(url, size=_POOL_SIZE)
    try:
        yield database
    finally:
        await database.close()


async def _ask_all_kinds(connection: Connection, number: int) -> None:
    """Run statements with and without values concurrently, with types that asyncpg looks up."""
    day = date(2026, 3, 2)
    row = await connection.fetchrow(
        "SELECT $1::int AS n, $2::jsonb AS j, $3::date[] AS d, $4::text[] AS t",
        number, {"n": number}, [day], ["a"],
    )  # fmt: skip
    assert tuple(row) == (number, {"n": number}, [day], ["a"])
    await connection.executemany("SELECT $1::int", [(number,), (number + 1,)])
    assert await connection.fetchval("SELECT 1") == 1


async def test_statements_on_shared_connections_get_their_own_answers(behind: Database) -> None:
    async def ask(number: int) -> None:
        async with behind.connection() as connection:
            await _ask_all_kinds(connection, number)
        async with behind.transaction() as tx:
            await _ask_all_kinds(tx, number)

    await asyncio.gather(*(ask(number) for number in range(100)))


async def test_statements_that_queue_behind_slow_ones_are_waited_for(pooler: Pooler) -> None:
    """No probe can reach the server while all connections are in use."""
    limits = PoolLimits(check_after_seconds=0.1, ping_seconds=0.3)
    database = await Database.open(pooler.url, size=_POOL_SIZE, limits=limits)

    async def work() -> int:
        async with database.connection() as connection:
            found: int = await connection.fetchval("SELECT 7 FROM pg_sleep(1)")
            return found

    assert await asyncio.gather(*(work() for _ in range(2 * _SHARED))) == [7] * (2 * _SHARED)
    await database.close()


async def test_a_cursor_does_not_affect_other_transactions(behind: Database) -> None:
    async def read() -> int:
        async with behind.transaction() as tx:
            cursor, rows = await tx.cursor("SELECT generate_series(1, $1::int)", 20), 0
            while page := await cursor.fetch(7):
                rows += len(page)
            return rows

    async def count_named() -> list[int]:
        async with behind.transaction() as one, behind.transaction() as other:
            return sorted([await each.fetchval(_NAMED) for each in (one, other)])

    named = await count_named()
    assert await asyncio.gather(*(read() for _ in range(30))) == [20] * 30
    assert await count_named() == named


async def test_a_cancelled_statement_does_not_affect_others(
    behind: Database, database: Database
) -> None:
    async def sleep() -> None:
        async with behind.transaction() as tx:
            await tx.fetchval("SELECT pg_sleep(60)")

    sleeping = [asyncio.create_task(sleep()) for _ in range(_SHARED)]
    async with asyncio.timeout(10), database.connection() as watcher:
        while await watcher.fetchval(_SLEEPING) < _SHARED:
            pass
    for each in sleeping:
        each.cancel()
    await asyncio.gather(*sleeping, return_exceptions=True)
    async with asyncio.timeout(10), behind.transaction() as tx:
        await _ask_all_kinds(tx, 1)


async def test_an_address_without_the_pooler_option_is_refused_at_once(pooler: Pooler) -> None:
    """Shows that the option is needed."""
    async with _opened(pooler.unnamed) as database:
        with pytest.raises(DatabaseAway):
            async with database.connection():
                pass


async def test_a_database_is_migrated_through_the_pooler(pooler: Pooler, behind: Database) -> None:
    name = "migrated_through_a_pooler"
    async with behind.connection() as connection:
        await connection.execute(f"CREATE DATABASE {name}")
    try:
        await asyncio.to_thread(migrate, pooler.url_of(name))
        revision, newest = await asyncio.to_thread(load_revisions, pooler.url_of(name))
        assert revision == newest
    finally:
        async with behind.connection() as connection:
            await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def test_doctor_reports_a_missing_pooler_option(
    pooler: Pooler, settings: Settings, postgres: EmbeddedPostgres, database: Database
) -> None:
    name = _words_of_doctor(CommandLine(settings.data_dir, pooler.unnamed))
    assert "FAULT pooler" in name
    assert "add pooler=transaction to DUNWELL_DATABASE_URL" in name
    assert "ok    pooler" in _words_of_doctor(CommandLine(settings.data_dir, pooler.url))
    direct = EmbeddedPostgres(postgres.folder, postgres.binaries).url
    superfluous = CommandLine(settings.data_dir, f"{direct}&pooler=transaction")
    assert "Remove pooler=transaction from" in _words_of_doctor(superfluous)


def _words_of_doctor(dunwell: CommandLine) -> str:
    """Return the two lines about the pooler: the finding and its remedy."""
    lines = dunwell.run("doctor").stdout.splitlines()
    number = next(number for number, line in enumerate(lines) if "pooler " in line)
    return "\n".join(lines[number : number + 2])


async def test_a_claim_is_created_and_run_through_the_pooler(
    resources: Resources, clock: MovableClock, behind: Database
) -> None:
    through = replace(resources, database=behind)
    async with an_api(through, clock) as api:
        creating = (api.nordwind.create(f"P-{n}", email=f"p{n}@example.org") for n in range(10))
        created = await asyncio.gather(*creating)
        await asyncio.gather(*(api.nordwind.get(f"/claims/{claim_id}") for [claim_id] in created))
        await api.harness.run()
        assert len(api.harness.channels[0].sent) == len(created)


async def test_two_engines_behind_the_pooler_contact_each_claim_once(
    resources: Resources, clock: MovableClock, behind: Database
) -> None:
    harness = await a_harness(replace(resources, database=behind), clock, a_definition())
    await harness.create(*(f"P-{n}" for n in range(30)))
    await asyncio.gather(harness.run(), harness.run())
    sent = [each.communication_id for each in harness.channels[0].sent]
    assert (len(sent), len(set(sent))) == (30, 30)
