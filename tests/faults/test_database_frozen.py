"""A server that stands still keeps nobody waiting for long; one that works long is waited for."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import asyncpg
import psutil
import pytest

from dunwell.platform.database.database import Database, DatabaseAway
from dunwell.platform.database.pool import ConnectionPool, PooledConnection, PoolLimits, connect
from tests.support.servers import OwnServer, an_own_server

_LIMITS = PoolLimits(
    take_timeout_seconds=1,
    check_after_seconds=0.2,
    ping_seconds=0.6,
    reset_seconds=1,
)
# Of these limits: twice the doubt, and the silence; and time for a busy machine.
_IN_TIME = 5.0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnServer]:
    with an_own_server(tmp_path_factory.mktemp("frozen") / "postgres") as server:
        yield server


@pytest.fixture
async def database(server: OwnServer) -> AsyncIterator[Database]:
    database = await Database.open(server.url, size=3, limits=_LIMITS)
    yield database
    await database.close()


@pytest.fixture
def frozen(server: OwnServer) -> Iterator[Callable[[], None]]:
    """Freezes it until the test's end."""
    yield server.freeze
    server.thaw()


async def _ask(database: Database, statement: str = "SELECT 1") -> int:
    async with database.connection() as connection:
        answer: int = await connection.fetchval(statement)
        return answer


def test_nobody_waits_in_vain_for_more_than_ten_seconds() -> None:
    limits = PoolLimits()
    assert 2 * limits.check_after_seconds + limits.ping_seconds <= 10
    assert limits.take_timeout_seconds <= 10


async def test_what_waits_for_its_answer_is_told_and_all_goes_on_afterwards(
    server: OwnServer, database: Database, frozen: Callable[[], None]
) -> None:
    await asyncio.gather(*(_ask(database) for _ in range(3)))
    frozen()
    started = time.monotonic()
    answers = await asyncio.gather(*(_ask(database) for _ in range(9)), return_exceptions=True)
    assert [type(each) for each in answers] == [DatabaseAway] * 9
    assert time.monotonic() - started < _IN_TIME
    server.thaw()
    async with asyncio.timeout(20):
        while True:
            try:
                assert await _ask(database) == 1
                break
            except DatabaseAway:  # a connection that was begun while it stood still
                continue


async def test_what_may_have_been_committed_is_told_as_unknown(
    database: Database, frozen: Callable[[], None]
) -> None:
    async def change() -> None:
        async with database.transaction() as tx:
            await tx.execute("SELECT pg_current_xact_id()")
            frozen()

    with pytest.raises(DatabaseAway) as told:
        await change()
    assert told.value.was_sent


async def test_a_statement_that_takes_long_is_waited_for(database: Database) -> None:
    assert await _ask(database, "SELECT 7 FROM pg_sleep(1.5)") == 7


async def test_one_whose_tables_are_locked_is_waited_for(server: OwnServer) -> None:
    """Such as those that each new connection of a pool reads."""
    is_locked = asyncio.Event()

    async def read_tables(_connection: asyncpg.Connection) -> None:
        if is_locked.is_set():
            await asyncio.Event().wait()

    database = await Database.open(server.url, size=3, limits=_LIMITS, on_connect=read_tables)
    await _ask(database)
    is_locked.set()
    assert await _ask(database, "SELECT 7 FROM pg_sleep(1.5)") == 7
    await database.close()


async def test_a_process_that_stood_still_itself_reads_what_was_answered(
    server: OwnServer,
) -> None:
    async def ask() -> None:
        time.sleep(1.5)  # noqa: ASYNC251 - nothing else of the process goes on
        await asyncio.sleep(0.01)

    connect_one = partial(connect, server.url, PooledConnection)
    database = Database(ConnectionPool(connect_one, 3, _LIMITS, ask))
    assert await _ask(database, "SELECT 7 FROM pg_sleep(2.5)") == 7
    await database.close()


async def test_one_that_stood_still_for_a_moment_is_waited_for(
    server: OwnServer, frozen: Callable[[], None]
) -> None:
    patient = replace(_LIMITS, ping_seconds=10)
    database = await Database.open(server.url, size=3, limits=patient)
    await _ask(database)
    frozen()
    asking = asyncio.create_task(_ask(database))
    await asyncio.wait([asking], timeout=1)
    server.thaw()
    assert await asking == 1
    await database.close()


async def test_one_that_answers_others_is_not_given_up(
    server: OwnServer, database: Database
) -> None:
    """It takes no new connection, so that nobody can ask it."""
    await asyncio.gather(*(_ask(database) for _ in range(3)))
    working = asyncio.create_task(_ask(database, "SELECT 7 FROM pg_sleep(2)"))
    with _without_new_connections(server):
        while not working.done():
            await _ask(database, "SELECT 1 FROM pg_sleep(0.05)")
    assert await working == 7


@contextmanager
def _without_new_connections(server: OwnServer) -> Iterator[None]:
    lines = (server.postgres.folder / "data" / "postmaster.pid").read_text().splitlines()
    postmaster = psutil.Process(int(lines[0]))
    postmaster.suspend()
    try:
        yield
    finally:
        postmaster.resume()
