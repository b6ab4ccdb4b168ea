"""The connection pool as requests use it: it stays intact however the use of a connection ends."""

import asyncio
from contextlib import suppress
from datetime import date

import asyncpg
import pytest

from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.errors import NotFound
from dunwell.platform.metrics import REGISTRY
from tests.support.observed_pool import BUSY, PID, PRESENT, SLEEPING, Opener

_LONG = "SELECT pg_sleep(600)"
# A limit for what must succeed while other processes are busy and a response may take seconds. It
# is longer than any machine needs and shorter than _LONG, so that a statement that was not
# cancelled is noticed.
_BUSY_SECONDS = 120.0
# A limit for waiting for a connection that does not become free. The same pool opens its
# connections within it, so a busy machine must be able to open one.
_BUSY_TIMEOUT_SECONDS = 3.0


@pytest.mark.parametrize("day", [date.min, date(1999, 12, 31), date(2026, 3, 2), date.max])
async def test_a_day_is_stored_unchanged(open_own: Opener, day: date) -> None:
    """This includes the earliest and the latest day, as a value and in a list."""
    own = await open_own()
    async with own.database.connection() as connection:
        one = await connection.fetchrow("SELECT $1::date AS day, $1::date::text AS text", day)
        many = await connection.fetchval("SELECT $1::date[]", [day, None])
    assert (one["day"], one["text"], many) == (day, day.isoformat(), [day, None])


async def test_nothing_is_connected_before_it_is_needed(open_own: Opener) -> None:
    own = await open_own(size=5)
    assert await own.list_pids() == set()


async def test_the_connection_used_last_is_used_first(open_own: Opener) -> None:
    own = await open_own(size=3)
    async with own.database.connection(), own.database.connection() as second:
        last = await second.fetchval(PID)
    # The inner block ends first, so the connection of the outer one is used next.
    first = await own.ask()
    assert first != last
    assert [await own.ask() for _ in range(3)] == [first] * 3
    assert await own.list_pids() == {first, last}


async def test_the_pool_opens_at_most_its_size(open_own: Opener) -> None:
    own = await open_own(size=3)
    pids = await asyncio.gather(*(own.ask() for _ in range(50)))
    assert set(pids) == await own.list_pids()
    assert len(set(pids)) == 3


async def test_releasing_a_connection_sends_no_statement(open_own: Opener) -> None:
    own, sent = await open_own(), []
    async with own.database.connection() as connection:
        connection.add_query_logger(lambda record: sent.append(record.query))
    for refusal in (None, NotFound("It is not there.")):
        with suppress(NotFound):
            async with own.database.connection() as connection:
                await connection.fetchval("SELECT 1")
                if refusal:
                    raise refusal
    await own.list_pids()
    assert sent == ["SELECT 1", "SELECT 1"]


async def test_a_task_that_waits_too_long_gets_an_error(open_own: Opener) -> None:
    own = await open_own(take_timeout_seconds=_BUSY_TIMEOUT_SECONDS)
    async with own.database.connection():
        with pytest.raises(DatabaseAway, match="too busy"):
            await own.ask()
    assert await own.ask("SELECT 1") == 1


async def test_waiting_tasks_are_served_in_order(open_own: Opener) -> None:
    own, served = await open_own(), []

    async def wait(number: int) -> None:
        async with own.database.connection():
            served.append(number)

    async with own.database.connection():
        waiting = [asyncio.create_task(wait(number)) for number in range(5)]
        await own.list_pids()
        waiting[1].cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert served == [0, 2, 3, 4]
    assert await own.ask("SELECT 1") == 1


async def test_a_task_cancelled_when_it_gets_a_connection_passes_it_on(open_own: Opener) -> None:
    own = await open_own(take_timeout_seconds=1)
    async with own.database.connection():
        first, second = asyncio.create_task(own.ask()), asyncio.create_task(own.ask())
        await own.list_pids()
    # The first task has the connection now, but has not run since.
    first.cancel()
    assert await second in await own.list_pids()
    assert first.cancelled()


async def test_a_later_task_waits_for_one_that_is_about_to_get_a_connection(
    open_own: Opener,
) -> None:
    own, done = await open_own(take_timeout_seconds=_BUSY_TIMEOUT_SECONDS), asyncio.Event()

    async def wait() -> None:
        async with own.database.connection():
            await done.wait()

    async with own.database.connection():
        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0)
    with pytest.raises(DatabaseAway, match="too busy"):
        await own.ask()
    done.set()
    await waiting
    assert await own.ask("SELECT 1") == 1


async def test_a_failed_connection_attempt_returns_its_slot(open_own: Opener) -> None:
    own = await open_own(take_timeout_seconds=1)
    opening = asyncio.create_task(own.ask())
    await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert await own.ask("SELECT 1") == 1
    await own.wait_for(PRESENT, 1)


async def test_a_cancelled_statement_ends_on_the_server_too(open_own: Opener) -> None:
    own = await open_own(reset_seconds=_BUSY_SECONDS)
    pid = await own.ask()
    asking = asyncio.create_task(own.ask(_LONG))
    await own.wait_for(SLEEPING, 1)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await own.wait_for(BUSY, 0)
    assert await own.ask() == pid


async def test_a_connection_is_cleaned_up_despite_a_second_cancellation(open_own: Opener) -> None:
    own = await open_own(reset_seconds=_BUSY_SECONDS)
    pid = await own.ask()
    asking = asyncio.create_task(own.ask(_LONG))
    await own.wait_for(SLEEPING, 1)
    for _ in range(3):
        asking.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await own.ask() == pid
    assert await own.list_pids(BUSY) == set()


async def test_a_statement_that_takes_too_long_is_ended(open_own: Opener) -> None:
    own = await open_own()
    with pytest.raises(DatabaseAway, match="too busy"):
        async with own.database.connection() as connection:
            await connection.execute(_LONG, timeout=0.05)
    assert await own.list_pids(BUSY) == set()
    assert await own.ask("SELECT 1") == 1


async def test_a_statement_without_its_own_limit_has_one(open_own: Opener) -> None:
    own = await open_own()
    async with own.database.connection() as connection:
        assert connection._config.command_timeout == 60


async def test_the_metrics_show_connections_in_use_and_waiting_tasks(open_own: Opener) -> None:
    def read_figures() -> list[float | None]:
        names = "in_use", "waiting", "limit"
        return [REGISTRY.get_sample_value(f"dunwell_database_connections_{each}") for each in names]

    own = await open_own(size=2, take_timeout_seconds=0.2)
    assert read_figures()[2] == 2
    async with own.database.connection(), own.database.connection():
        asking = [asyncio.create_task(own.ask()) for _ in range(3)]
        await asyncio.sleep(0.05)
        assert read_figures() == [2, 3, 2]
        # Tasks that gave up are no longer counted as waiting.
        ended = await asyncio.gather(*asking, return_exceptions=True)
        assert [type(each) for each in ended] == [DatabaseAway] * 3
        assert read_figures() == [2, 0, 2]
        interrupted = asyncio.create_task(own.ask())
        await asyncio.sleep(0.05)
        interrupted.cancel()
        await asyncio.wait([interrupted])
        assert read_figures() == [2, 0, 2]
    assert read_figures() == [0, 0, 2]
    with suppress(asyncpg.PostgresError):
        async with own.database.transaction() as tx:
            await tx.execute("SELECT 1 / 0")
    assert read_figures() == [0, 0, 2]
    await own.database.close()
    assert read_figures() == [0, 0, 0]
