"""The clock of this host, which is used only while it agrees with the database's clock.

When two clocks differ, a process cannot know which one is wrong, so it stops using the time.
`WatchedClock.now` then raises, so that no part of the code decides by a wrong time whether
something is due, expired or old. A comparison costs one statement. It is made on each new
connection, once a minute, and as soon as the host's clock is set, which is detected with the
monotonic clock.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import asyncpg
import structlog
from prometheus_client import Gauge

from dunwell.platform.clock import Clock, SystemClock
from dunwell.platform.database.database import Database, DatabaseAway
from dunwell.platform.errors import Unavailable
from dunwell.platform.metrics import REGISTRY

# A larger difference is logged as a warning. Hosts with NTP differ by milliseconds.
WARN_BEYOND = timedelta(seconds=2)
# With a larger difference the clock is not used. Leases (15 s) and one-time codes (30 s) already
# fail with a smaller one.
STOP_BEYOND = timedelta(seconds=30)
COMPARE_SECONDS = 60.0
# The interval while the clocks differ by too much. It is short, so that work continues soon after
# one of them was corrected.
_COMPARE_SUSPENDED_SECONDS = 5.0
_CHECK_SECONDS = 1.0
# A smaller change of the host's clock does no harm until the next comparison.
_SMALLEST_STEP = timedelta(seconds=1)
# A comparison is wrong by at most half of the round trip, which is less than the warning limit.
_MAX_ROUND_TRIP_SECONDS = 2.0
_ATTEMPTS = 3
# Not now(), which is the start of the transaction.
_GET_DATABASE_TIME = "SELECT clock_timestamp()"

_AHEAD = Gauge(
    "dunwell_clock_ahead_seconds",
    "Seconds by which this host's clock was ahead of the database's when they were last compared.",
    ("clock", "reference"), registry=REGISTRY, multiprocess_mode="mostrecent",
)  # fmt: skip
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClockComparison:
    """The time of both clocks at one moment, and of the monotonic clock in seconds."""

    host: datetime
    database: datetime
    monotonic: float

    @property
    def ahead(self) -> timedelta:
        """How far the host's clock is ahead, negative if it is behind."""
        return self.host - self.database

    @property
    def is_beyond_warning(self) -> bool:
        return abs(self.ahead) > WARN_BEYOND

    @property
    def is_beyond_stop(self) -> bool:
        return abs(self.ahead) > STOP_BEYOND

    def describe(self) -> str:
        return (
            f"this host's clock says {_render(self.host)}, the database's says "
            f"{_render(self.database)}"
        )


class ClocksDiffer(Unavailable):
    """The host's clock and the database's differ too much to use the time."""

    def __init__(self, comparison: ClockComparison) -> None:
        super().__init__(
            f"The clocks differ: {comparison.describe()}. One of them is wrong, so nothing that "
            "depends on the time is done here until they agree. Synchronise both by NTP.",
            retry_after=30,
        )
        self.comparison = comparison


class ClockNotCompared(Unavailable):
    """The host's clock was set and has not been compared since."""

    def __init__(self) -> None:
        super().__init__(
            "This host's clock was just set, and is being compared with the database's. Try again "
            "shortly.",
            retry_after=1,
        )


class WatchedClock:
    """The Clock of a process that uses a database."""

    def __init__(
        self, host: Clock | None = None, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._host = host or SystemClock()
        self._monotonic = monotonic
        self._comparison: ClockComparison | None = None
        self._is_comparison_wanted = asyncio.Event()
        self._logged_at = -COMPARE_SECONDS

    @property
    def comparison(self) -> ClockComparison | None:
        """The last comparison, None if the database was never reached."""
        return self._comparison

    def now(self) -> datetime:
        """Return the host's time. Raises ClocksDiffer; ClockNotCompared if the host's clock was set
        since the last comparison; DatabaseAway before the first one."""
        now, comparison = self._host.now(), self._comparison
        if comparison is None:
            raise DatabaseAway("The database is not available. Try again shortly.")
        if self._was_set(now, comparison):
            self._is_comparison_wanted.set()
            raise ClockNotCompared
        if comparison.is_beyond_stop:
            raise ClocksDiffer(comparison)
        return now

    def get_host_time(self) -> datetime:
        """Return the host's time without any check."""
        return self._host.now()

    def estimate_database_time(self) -> datetime:
        """Estimate the database's time from the last comparison. Raises DatabaseAway if
        there was none."""
        if self._comparison is None:
            raise DatabaseAway("The database is not available. Try again shortly.")
        elapsed = self._monotonic() - self._comparison.monotonic
        return self._comparison.database + timedelta(seconds=elapsed)

    async def compare(self, connection: asyncpg.Connection) -> None:
        """Compare the clocks. A round trip that takes too long is discarded as too inaccurate."""
        for _ in range(_ATTEMPTS):
            began = self._monotonic()
            database = await connection.fetchval(_GET_DATABASE_TIME)
            host, round_trip = self._host.now(), self._monotonic() - began
            if round_trip <= _MAX_ROUND_TRIP_SECONDS:
                self._accept(
                    ClockComparison(
                        host - timedelta(seconds=round_trip / 2), database, began + round_trip / 2
                    )
                )
                return

    async def wait_until_due(self) -> None:
        """Wait until the next comparison is due."""
        while not self.is_due():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await self._is_comparison_wanted.wait()
            self._is_comparison_wanted.clear()

    def is_due(self) -> bool:
        comparison = self._comparison
        if comparison is None or self._was_set(self._host.now(), comparison):
            return True
        interval = _COMPARE_SUSPENDED_SECONDS if comparison.is_beyond_stop else COMPARE_SECONDS
        return self._monotonic() - comparison.monotonic >= interval

    def _was_set(self, now: datetime, comparison: ClockComparison) -> bool:
        """Return whether the host's clock moved by another amount than the elapsed time. That is
        also true after the machine was suspended, because the monotonic clock stops in the
        meantime."""
        elapsed = timedelta(seconds=self._monotonic() - comparison.monotonic)
        return abs(now - comparison.host - elapsed) > _SMALLEST_STEP

    def _accept(self, comparison: ClockComparison) -> None:
        previous, self._comparison = self._comparison, comparison
        _AHEAD.labels("host", "database").set(comparison.ahead.total_seconds())
        is_new = previous is None or previous.is_beyond_stop != comparison.is_beyond_stop
        if comparison.is_beyond_warning and (is_new or self._is_log_due()):
            self._logged_at = self._monotonic()
            write = _log.error if comparison.is_beyond_stop else _log.warning
            write(
                "clocks differ, work is suspended"
                if comparison.is_beyond_stop
                else "clocks differ",
                host_clock=_render(comparison.host), database_clock=_render(comparison.database),
            )  # fmt: skip
        elif (
            previous is not None and previous.is_beyond_warning and not comparison.is_beyond_warning
        ):
            _log.info("clocks agree again")

    def _is_log_due(self) -> bool:
        return self._monotonic() - self._logged_at >= COMPARE_SECONDS


class DatabaseTime:
    """A Clock that keeps working while the clocks differ, for the alerts that report it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def now(self) -> datetime:
        """Return the database's time. Raises DatabaseAway before the first comparison."""
        clock = self._clock
        return clock.estimate_database_time() if isinstance(clock, WatchedClock) else clock.now()


def get_host_time(clock: Clock) -> datetime:
    """Return the time without any check, for request ids, which decide nothing."""
    return clock.get_host_time() if isinstance(clock, WatchedClock) else clock.now()


@asynccontextmanager
async def comparing_clocks(clock: WatchedClock, database: Database) -> AsyncIterator[None]:
    """Compare the clocks whenever that is due, until the block ends."""
    task = asyncio.create_task(_compare_repeatedly(clock, database))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _compare_repeatedly(clock: WatchedClock, database: Database) -> None:
    while True:
        await clock.wait_until_due()
        # Whatever fails here also fails wherever the database is used, and is reported there.
        with contextlib.suppress(Exception):
            async with database.connection() as connection:
                await clock.compare(connection)
        if clock.is_due():
            await asyncio.sleep(_CHECK_SECONDS)


def _render(instant: datetime) -> str:
    return instant.isoformat(sep=" ", timespec="milliseconds")
