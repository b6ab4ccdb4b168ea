"""Wrong letter codes of all visitors are counted one after the other, also when they arrive
concurrently."""

import asyncio
from datetime import UTC, datetime, timedelta

from dunwell.interfaces.landing.sign_in.store import (
    delete_visitor_attempts,
    increment_wrong_codes,
)
from dunwell.platform.database.database import Database
from tests.support.observed_pool import Opener

_MINUTE = timedelta(minutes=1)
_FIRST = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


async def _count(database: Database, minutes: int = 0, *, since: datetime = _FIRST) -> int:
    async with database.transaction() as tx:
        return await increment_wrong_codes(tx, _FIRST + minutes * _MINUTE, since - _MINUTE)


async def test_no_two_wrong_codes_get_the_same_number(database: Database, open_own: Opener) -> None:
    other = (await open_own(4)).database

    numbers = await asyncio.gather(
        *(_count((database, other)[number % 2], number // 2 % 3) for number in range(40))
    )

    assert sorted(numbers) == list(range(1, 41))


async def test_a_rolled_back_wrong_code_is_not_counted(database: Database) -> None:
    async with database.connection() as connection:
        given_up = connection.transaction()
        await given_up.start()
        await increment_wrong_codes(connection, _FIRST, _FIRST - _MINUTE)
        await given_up.rollback()

    assert await _count(database) == 1


async def test_minutes_that_are_too_old_do_not_count_and_are_removed(database: Database) -> None:
    for minutes in (0, 0, 1, 2):
        await _count(database, minutes)

    assert await _count(database, 2, since=_FIRST + _MINUTE) == 3
    async with database.transaction() as tx:
        assert await delete_visitor_attempts(tx, _FIRST + _MINUTE) == 1
    assert await _count(database, 2) == 4
