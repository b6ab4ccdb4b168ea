"""The clock of a process is used only while it agrees with that of the database."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.watched_clock import (
    ClockNotCompared,
    ClocksDiffer,
    DatabaseTime,
    WatchedClock,
    get_host_time,
)

NOON = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)


class HostAndDatabase:
    """A host and a database whose clocks are set by the test; time passes for both."""

    def __init__(self, ahead: float = 0.0) -> None:
        self.elapsed = 1_000.0
        self.database = MovableClock(NOON)
        self.host = MovableClock(NOON + timedelta(seconds=ahead))
        # Seconds of the way to the database and back.
        self.way_there, self.way_back = 0.0, 0.0
        self.clock = WatchedClock(self.host, lambda: self.elapsed)

    def pass_time(self, seconds: float) -> None:
        self.elapsed += seconds
        for each in (self.host, self.database):
            each.advance(timedelta(seconds=seconds))

    async def fetchval(self, statement: str) -> datetime:
        """Answer as a connection does."""
        assert "clock_timestamp()" in statement
        self.pass_time(self.way_there)
        now = self.database.now()
        self.pass_time(self.way_back)
        return now

    async def compare(self) -> list[Any]:
        """Compare the clocks and return what was logged."""
        with structlog.testing.capture_logs() as logged:
            await self.clock.compare(self)
        return [(each["log_level"], each["event"]) for each in logged]


async def test_no_time_is_given_before_the_first_comparison() -> None:
    machine = HostAndDatabase()
    with pytest.raises(DatabaseAway):
        machine.clock.now()
    assert get_host_time(machine.clock) == NOON


@pytest.mark.parametrize("ahead", [-1.9, 0.0, 2.0])
async def test_clocks_that_agree_log_nothing(ahead: float) -> None:
    machine = HostAndDatabase(ahead)
    assert await machine.compare() == []
    assert machine.clock.now() == machine.host.now()


@pytest.mark.parametrize("ahead", [2.1, -2.1, 30.0, -30.0])
async def test_a_difference_beyond_two_seconds_is_logged_and_the_clock_used(ahead: float) -> None:
    machine = HostAndDatabase(ahead)
    assert await machine.compare() == [("warning", "clocks differ")]
    assert machine.clock.now() == machine.host.now()


@pytest.mark.parametrize("ahead", [30.1, -30.1, 8 * 86_400.0])
async def test_beyond_thirty_seconds_no_time_is_given_and_both_clocks_are_named(
    ahead: float,
) -> None:
    machine = HostAndDatabase(ahead)
    assert await machine.compare() == [("error", "clocks differ, work is suspended")]
    with pytest.raises(ClocksDiffer) as refused:
        machine.clock.now()
    assert f"this host's clock says {machine.host.now():%Y-%m-%d %H:%M:%S}" in str(refused.value)
    assert "the database's says 2026-11-24 12:00:00" in str(refused.value)
    assert refused.value.retry_after == 30
    assert DatabaseTime(machine.clock).now() == machine.database.now()


async def test_half_of_the_round_trip_is_subtracted() -> None:
    machine = HostAndDatabase(ahead=1.5)
    machine.way_there = machine.way_back = 0.9
    await machine.compare()
    assert machine.clock.comparison is not None
    assert machine.clock.comparison.ahead == timedelta(seconds=1.5)


async def test_a_comparison_with_a_long_round_trip_is_ignored() -> None:
    machine = HostAndDatabase(ahead=60)
    machine.way_there = 2.1
    await machine.compare()
    assert machine.clock.comparison is None


async def test_a_clock_that_was_set_is_compared_before_it_is_used() -> None:
    machine = HostAndDatabase()
    await machine.compare()
    machine.host.advance(timedelta(seconds=5))
    with pytest.raises(ClockNotCompared):
        machine.clock.now()
    await machine.compare()
    assert machine.clock.now() == machine.host.now()
    machine.host.advance(timedelta(days=8))
    with pytest.raises(ClockNotCompared):
        machine.clock.now()
    await machine.compare()
    with pytest.raises(ClocksDiffer):
        machine.clock.now()


async def test_the_clock_is_compared_after_a_suspension() -> None:
    """The monotonic clock stood still, and the clock was set after waking up."""
    machine = HostAndDatabase()
    await machine.compare()
    for each in (machine.host, machine.database):
        each.advance(timedelta(hours=3))
    with pytest.raises(ClockNotCompared):
        machine.clock.now()
    await machine.compare()
    assert machine.clock.now() == NOON + timedelta(hours=3)


async def test_clocks_are_compared_once_a_minute_and_every_five_seconds_while_they_differ() -> None:
    machine = HostAndDatabase()
    await machine.compare()
    machine.pass_time(59)
    assert not machine.clock.is_due()
    machine.pass_time(1)
    assert machine.clock.is_due()
    machine.host.advance(timedelta(days=1))
    await machine.compare()
    machine.pass_time(4)
    assert not machine.clock.is_due()
    machine.pass_time(1)
    assert machine.clock.is_due()


async def test_clocks_that_stay_apart_are_logged_once_a_minute_and_their_end_once() -> None:
    machine = HostAndDatabase(ahead=60)
    assert len(await machine.compare()) == 1
    logged = []
    for _ in range(11):
        machine.pass_time(5)
        logged += await machine.compare()
    assert logged == []
    machine.pass_time(5)
    assert await machine.compare() == [("error", "clocks differ, work is suspended")]
    machine.host.advance(timedelta(seconds=-60))
    assert await machine.compare() == [("info", "clocks agree again")]
    assert await machine.compare() == []


async def test_a_doubtful_reading_triggers_a_comparison() -> None:
    machine = HostAndDatabase()
    await machine.compare()
    waiting = asyncio.create_task(machine.clock.wait_until_due())
    await asyncio.sleep(0)
    machine.host.advance(timedelta(hours=1))
    with pytest.raises(ClockNotCompared):
        machine.clock.now()
    async with asyncio.timeout(0.5):  # Less than the interval of the regular comparison.
        await waiting
