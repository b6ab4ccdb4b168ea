"""After a connection ended or was left in the middle of a transaction, nothing of it affects the
next use."""

import asyncio
import os
import signal
from contextlib import suppress

import asyncpg
import pytest

from dunwell.platform.database.database import Connection, DatabaseAway
from tests.support.observed_pool import PID, PRESENT, ObservedPool, Opener

_WRITE = "INSERT INTO link_request_counts (visitor_digest, window_start) VALUES ('x', now())"
_COUNT = "SELECT count(*) FROM link_request_counts"


async def _write(own: ObservedPool) -> None:
    async with own.database.connection() as connection:
        await connection.execute(_WRITE)


async def test_an_exception_rolls_the_transaction_back_and_keeps_the_connection(
    open_own: Opener,
) -> None:
    own = await open_own()
    pid = await own.ask()

    async def fail() -> None:
        async with own.database.transaction() as tx:
            await tx.execute(_WRITE)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await fail()
    assert await own.watch(_COUNT) == 0
    assert await own.ask() == pid


@pytest.mark.parametrize("is_failing", [False, True])
async def test_a_transaction_left_open_is_rolled_back(open_own: Opener, is_failing: bool) -> None:
    own = await open_own()
    with suppress(ValueError):
        async with own.database.connection() as connection:
            await connection.execute("BEGIN")
            await connection.execute(_WRITE)
            if is_failing:
                raise ValueError
    await _write(own)
    assert await own.watch(_COUNT) == 1


async def test_an_interrupted_begin_does_not_include_later_writes(open_own: Opener) -> None:
    own = await open_own()
    async with own.database.connection() as connection:
        beginning = asyncio.create_task(connection.transaction().start())
        await asyncio.sleep(0)
        beginning.cancel()
        with suppress(asyncio.CancelledError):
            await beginning
    await _write(own)
    assert await own.watch(_COUNT) == 1


async def test_an_interrupted_begin_by_statement_does_not_include_later_writes(
    open_own: Opener,
) -> None:
    own = await open_own()
    pid = await own.ask()

    async def begin() -> None:
        async with own.database.connection() as connection:
            os.kill(pid, signal.SIGSTOP)
            await connection.execute("BEGIN")

    beginning = asyncio.create_task(begin())
    await asyncio.sleep(0)
    beginning.cancel()
    # Wait until the connection was cleaned up under the assumption that no transaction had begun.
    await own.watch("SELECT 1")
    os.kill(pid, signal.SIGCONT)
    with suppress(asyncio.CancelledError):
        await beginning
    await _write(own)
    assert await own.watch(_COUNT) == 1


async def test_an_interrupted_commit_has_ended_when_the_connection_is_free(
    open_own: Opener,
) -> None:
    own = await open_own()

    async def change() -> None:
        async with own.database.transaction() as tx:
            await tx.execute(_WRITE)
            changed.set()

    changed = asyncio.Event()
    changing = asyncio.create_task(change())
    await changed.wait()
    await asyncio.sleep(0)
    changing.cancel()
    with suppress(asyncio.CancelledError):
        await changing
    before = await own.watch(_COUNT)
    await _write(own)
    # The transaction was committed or not. In neither case is it still open.
    assert await own.watch(_COUNT) == before + 1


async def test_an_idle_connection_that_the_server_ended_is_replaced(open_own: Opener) -> None:
    own = await open_own(size=2)
    async with own.database.connection() as one, own.database.connection() as other:
        pids = [await one.fetchval(PID), await other.fetchval(PID)]
    for pid in pids:
        await own.watch(f"SELECT pg_terminate_backend({pid})")
    async with asyncio.timeout(10):
        while not (one.is_closed() and other.is_closed()):
            await own.list_pids()
    assert await own.ask() not in pids


async def test_a_connection_that_the_server_ended_in_use_fails_and_is_replaced(
    open_own: Opener,
) -> None:
    own = await open_own()
    pid = await own.ask()

    async def lose() -> None:
        async with own.database.connection() as connection:
            await own.watch(f"SELECT pg_terminate_backend({pid})")
            await connection.fetchval("SELECT pg_sleep(60)")

    with pytest.raises(DatabaseAway, match="is not available"):
        await lose()
    assert await own.ask() != pid


async def test_a_connection_that_does_not_respond_is_replaced(open_own: Opener) -> None:
    own = await open_own(reset_seconds=0.05)
    pid = await own.ask()

    async def ask_in_vain() -> None:
        async with own.database.connection() as connection:
            os.kill(pid, signal.SIGSTOP)
            await connection.fetchval("SELECT 1", timeout=0.05)

    try:
        with pytest.raises(DatabaseAway, match="too busy"):
            await ask_in_vain()
        assert await own.ask() != pid
    finally:
        os.kill(pid, signal.SIGCONT)


async def test_a_connection_that_is_unused_for_long_is_closed(open_own: Opener) -> None:
    own = await open_own(size=2, idle_seconds=0.05)
    async with own.database.connection() as one, own.database.connection() as other:
        pids = {await one.fetchval(PID), await other.fetchval(PID)}
        # Connections in use stay open for any time.
        await own.watch("SELECT pg_sleep(0.1)")
        assert await own.list_pids() == pids
    await own.wait_for(PRESENT, 0)
    assert await own.ask() not in pids


async def test_a_connection_is_replaced_after_many_uses(open_own: Opener) -> None:
    own = await open_own(max_uses=2)
    pids = [await own.ask() for _ in range(5)]
    assert pids[0] == pids[1] != pids[2] == pids[3] != pids[4]
    await own.wait_for(PRESENT, 1)


async def test_a_changed_schema_fails_once_for_all_connections(open_own: Opener) -> None:
    own = await open_own(size=3)
    read = "SELECT n FROM shapes.shape"

    async def begin_and_read(connection: Connection) -> None:
        async with connection.transaction():
            await connection.fetchval(read)

    try:
        await own.ask("CREATE SCHEMA shapes CREATE TABLE shape (n integer)")
        database = own.database
        async with database.connection() as other:
            await begin_and_read(other)
            async with database.connection() as one:
                await begin_and_read(one)
            await own.watch("ALTER TABLE shapes.shape ALTER n TYPE bigint")
            with pytest.raises(asyncpg.InvalidCachedStatementError):
                async with database.connection() as one:
                    await begin_and_read(one)
            await begin_and_read(other)
    finally:
        await own.watch("DROP SCHEMA shapes CASCADE")


async def test_closing_waits_for_connections_in_use(open_own: Opener) -> None:
    own = await open_own(size=2)
    async with own.database.connection() as connection:
        waiting = asyncio.create_task(own.ask())
        await waiting
        closing = asyncio.create_task(own.database.close())
        assert len(await own.list_pids()) == 2
        with pytest.raises(DatabaseAway, match="is not available"):
            await own.ask()
        assert await connection.fetchval("SELECT 1") == 1
        assert not closing.done()
    await closing
    await own.wait_for(PRESENT, 0)
    await own.database.close()


async def test_a_cancelled_close_closes_connections_in_use(open_own: Opener) -> None:
    own = await open_own()

    async def outlive() -> None:
        async with own.database.connection() as connection:
            with suppress(TimeoutError):
                await asyncio.wait_for(own.database.close(), 0.05)
            await connection.fetchval("SELECT 1")

    with pytest.raises(DatabaseAway, match="is not available"):
        await outlive()
    await own.wait_for(PRESENT, 0)
