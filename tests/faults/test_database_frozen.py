"""Statements on a frozen server fail within ten seconds, and a slow server is waited for."""

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
# _LIMITS allow one second: twice `check_after_seconds`, and `ping_seconds`. The rest is for a busy
# machine.
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
    """Return a function that freezes the server until the end of the test."""
    yield server.freeze
    server.thaw()


async def _ask(database: Database, statement: str = "SELECT 1") -> int:
    async with database.connection() as connection:
        answer: int = await connection.fetchval(statement)
        return answer


def test_the_limits_add_up_to_at_most_ten_seconds() -> None:
    limits = PoolLimits()
    assert 2 * limits.check_after_seconds + limits.ping_seconds <= 10
    assert limits.take_timeout_seconds <= 10


async def test_waiting_statements_fail_and_new_ones_succeed_after_the_freeze(
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
            except DatabaseAway:  # The connection was being opened when the server was frozen.
                continue


async def test_the_outcome_of_a_commit_without_an_answer_is_unknown(
    database: Database, frozen: Callable[[], None]
) -> None:
    async def change() -> None:
        async with database.transaction() as tx:
            await tx.execute("SELECT pg_current_xact_id()")
            frozen()

    with pytest.raises(DatabaseAway) as caught:
        await change()
    assert caught.value.was_sent


async def test_a_slow_statement_is_waited_for(database: Database) -> None:
    assert await _ask(database, "SELECT 7 FROM pg_sleep(1.5)") == 7


async def test_a_server_with_locked_tables_is_waited_for(server: OwnServer) -> None:
    """The reads that a pool runs on each new connection wait, like reads of a locked table."""
    is_locked = asyncio.Event()

    async def read_tables(_connection: asyncpg.Connection) -> None:
        if is_locked.is_set():
            await asyncio.Event().wait()

    database = await Database.open(server.url, size=3, limits=_LIMITS, on_connect=read_tables)
    await _ask(database)
    is_locked.set()
    assert await _ask(database, "SELECT 7 FROM pg_sleep(1.5)") == 7
    await database.close()


async def test_a_process_that_was_frozen_itself_reads_the_answers(
    server: OwnServer,
) -> None:
    async def ask() -> None:
        time.sleep(1.5)  # noqa: ASYNC251 - blocks the whole process
        await asyncio.sleep(0.01)

    connect_one = partial(connect, server.url, PooledConnection)
    database = Database(ConnectionPool(connect_one, 3, _LIMITS, ask))
    assert await _ask(database, "SELECT 7 FROM pg_sleep(2.5)") == 7
    await database.close()


async def test_a_server_that_was_frozen_for_a_moment_is_waited_for(
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


async def test_a_server_that_answers_other_connections_is_waited_for(
    server: OwnServer, database: Database
) -> None:
    """The server accepts no new connection, so no probe can reach it."""
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
