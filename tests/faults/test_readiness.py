"""The readiness of a process is reported in time and correctly, whatever its database does."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import asyncpg
import pytest

from dunwell.interfaces.api import readiness
from dunwell.interfaces.api.readiness import Readiness
from dunwell.platform.clock import SystemClock
from dunwell.platform.database.database import Database, DatabaseAway
from dunwell.platform.database.pool import PoolLimits
from dunwell.platform.errors import Unavailable
from tests.support.servers import OwnServer, an_own_server
from tests.support.small_disk import SmallDisk, a_small_disk

# Short, so that a busy machine has time left before the documented limit.
_TIMEOUT_SECONDS = 0.4
_PROMISED_SECONDS = 2.0
_POOL_SIZE = 3
_CONNECTIONS = 100
_FILES = "SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true, false)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with an_own_server(tmp_path_factory.mktemp("readiness") / "postgres") as server:
        asyncio.run(_run(server.url, "CREATE TABLE merchants ()"))
        yield server


@pytest.fixture
async def database(server: OwnServer) -> AsyncIterator[Database]:
    async with _opened(server.url) as database:
        yield database


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[Database]:
    limits = PoolLimits(statement_timeout_seconds=2, reset_seconds=1)
    database = await Database.open(url, size=_POOL_SIZE, limits=limits)
    try:
        yield database
    finally:
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await database.close()


async def _run(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


async def _fetch(url: str, statement: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(statement)
    finally:
        await connection.close()


async def _is_ready(reported: Readiness) -> bool:
    """Return the readiness. Fails if it takes longer than documented."""
    async with asyncio.timeout(_PROMISED_SECONDS):
        try:
            await reported.check()
        except Unavailable:
            return False
    return True


async def _until_ready(reported: Readiness) -> None:
    """Wait until the process is ready again without a restart."""
    async with asyncio.timeout(30):
        while not await _is_ready(reported):
            pass


def _a_readiness(database: Database) -> Readiness:
    return Readiness(database, SystemClock(), timeout_seconds=_TIMEOUT_SECONDS, reuse_seconds=0)


def test_the_timeout_is_shorter_than_the_documented_limit() -> None:
    assert readiness.TIMEOUT_SECONDS < _PROMISED_SECONDS


async def test_a_process_is_not_ready_while_its_database_is_frozen(
    server: OwnServer, database: Database
) -> None:
    reported = _a_readiness(database)
    await _until_ready(reported)
    server.freeze()
    try:
        assert [await _is_ready(reported) for _ in range(8)] == [False] * 8
    finally:
        server.thaw()
    await _until_ready(reported)


async def test_a_process_is_not_ready_while_its_database_refuses_connections(
    server: OwnServer, database: Database
) -> None:
    reported = _a_readiness(database)
    await _until_ready(reported)
    await asyncio.to_thread(server.stop)
    assert not await _is_ready(reported)
    await asyncio.to_thread(server.start)
    await _until_ready(reported)


async def test_a_process_is_not_ready_while_its_database_has_no_free_connection(
    server: OwnServer, database: Database
) -> None:
    taken: list[asyncpg.Connection] = []
    with suppress(asyncpg.TooManyConnectionsError):
        while len(taken) <= _CONNECTIONS:
            taken.append(await asyncpg.connect(server.url))
    assert 0 < len(taken) <= _CONNECTIONS
    reported = _a_readiness(database)
    assert not await _is_ready(reported)
    for each in taken:
        await each.close()
    await _until_ready(reported)


async def test_a_process_whose_connections_are_all_in_use_is_not_ready(database: Database) -> None:
    reported = _a_readiness(database)
    async with AsyncExitStack() as using:
        for _ in range(_POOL_SIZE):
            await using.enter_async_context(database.connection())
        assert not await _is_ready(reported)
    await _until_ready(reported)


async def test_a_read_only_database_is_not_ready(server: OwnServer, database: Database) -> None:
    switch = "ALTER DATABASE postgres SET default_transaction_read_only = {}"
    await _run(server.url, switch.format("on"))
    try:
        assert not await _is_ready(_a_readiness(database))
    finally:
        await _run(server.url, f"BEGIN READ WRITE; {switch.format('off')}; COMMIT")
    async with _opened(server.url) as reopened:
        await _until_ready(_a_readiness(reopened))


async def test_a_database_without_tables_is_not_ready(
    server: OwnServer, database: Database
) -> None:
    await _run(server.url, "ALTER TABLE merchants RENAME TO away")
    try:
        assert not await _is_ready(_a_readiness(database))
    finally:
        await _run(server.url, "ALTER TABLE away RENAME TO merchants")


async def test_a_standby_is_not_ready(server: OwnServer, tmp_path: Path) -> None:
    standby = await asyncio.to_thread(server.copy_as_standby, tmp_path / "standby")
    try:
        await asyncio.to_thread(standby.start)
        assert await _fetch(standby.url, "SELECT pg_is_in_recovery()")
        async with _opened(standby.url) as database:
            assert not await _is_ready(_a_readiness(database))
    finally:
        standby.end()


async def test_a_database_that_waits_for_an_absent_standby_is_not_ready(
    server: OwnServer, database: Database
) -> None:
    """Every commit would wait forever."""
    reported = _a_readiness(database)
    switch = "ALTER SYSTEM SET synchronous_standby_names = '{}'"
    await _run(server.url, switch.format("nobody"))
    await _run(server.url, "SELECT pg_reload_conf()")
    try:
        async with asyncio.timeout(20):
            while await _is_ready(reported):
                pass
    finally:
        await _run(server.url, switch.format(""))
        await _run(server.url, "SELECT pg_reload_conf()")
    await _until_ready(reported)


async def test_a_process_is_not_ready_while_the_databases_disk_is_full(tmp_path: Path) -> None:
    with a_small_disk(tmp_path / "disk", megabytes=512) as disk:
        await _fill_and_make_room(disk)


async def _fill_and_make_room(disk: SmallDisk) -> None:
    with an_own_server(disk.folder / "postgres") as server:
        await _run(server.url, "CREATE TABLE merchants ()")
        async with _opened(server.url) as database:
            reported = _a_readiness(database)
            await _until_ready(reported)
            disk.fill()
            # The server still answers, and it accepts rows that fit into existing files.
            async with database.connection() as connection:
                assert await connection.fetchval("SELECT 1") == 1
            assert not await _is_ready(reported)
            with pytest.raises(DatabaseAway):
                await _write_much(database)
            disk.make_room()
            await _until_ready(reported)
            await _write_much(database)


async def _write_much(database: Database) -> None:
    async with database.transaction() as tx:
        await tx.execute("CREATE TABLE much AS SELECT n::text FROM generate_series(1, 100000) n")


async def test_concurrent_readiness_requests_share_one_probe(
    server: OwnServer, database: Database
) -> None:
    reported = _a_readiness(database)
    async with AsyncExitStack() as using:  # All connections of the pool are in use.
        for _ in range(_POOL_SIZE):
            await using.enter_async_context(database.connection())
    server.freeze()
    try:
        answers = await asyncio.gather(*(_is_ready(reported) for _ in range(50)))
        assert answers == [False] * 50
        # The connections for others are free and can be used at once.
        async with asyncio.timeout(_PROMISED_SECONDS), AsyncExitStack() as using:
            for _ in range(_POOL_SIZE - 1):
                await using.enter_async_context(database.connection())
    finally:
        server.thaw()
    await _until_ready(reported)


async def test_a_probe_leaves_no_rows(server: OwnServer, database: Database) -> None:
    await _until_ready(_a_readiness(database))
    async with database.connection() as connection:
        assert await connection.fetchval(_FILES) == 0
        assert await connection.fetchval("SELECT current_setting('work_mem')") == "4MB"
