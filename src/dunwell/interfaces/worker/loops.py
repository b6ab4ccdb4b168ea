"""Loops that run until the worker stops, side by side.

A loop runs one round after the other: immediately if there was work, after `idle_seconds` if there
was none, and after a growing pause if a round failed. No round starts while the clock cannot be
trusted.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog
from prometheus_client import Counter, Gauge

from dunwell.platform.clock import Clock, SystemClock
from dunwell.platform.errors import Unavailable
from dunwell.platform.metrics import REGISTRY

IDLE_SECONDS = 0.2
_FIRST_PAUSE_SECONDS = 0.2
_MAX_PAUSE_SECONDS = 5.0

_WORK_DONE = Counter(
    "dunwell_worker_done", "What the worker's loops did, by loop.", ("loop",), registry=REGISTRY
)
_ROUNDS_FAILED = Counter(
    "dunwell_worker_rounds_failed", "Rounds of the worker's loops that failed, by loop.",
    ("loop",), registry=REGISTRY,
)  # fmt: skip
# With "max", the most recent success counts among several workers that share their metrics.
_LAST_SUCCESS = Gauge(
    "dunwell_worker_last_success_timestamp_seconds",
    "When a round of a worker's loop last succeeded, by loop; 0 as long as none has.",
    ("loop",), registry=REGISTRY, multiprocess_mode="max",
)  # fmt: skip
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loop:
    """`run_once` runs a round and returns the amount of work it did, 0 if there was none. `finish`
    waits at the end for work that rounds have started."""

    name: str
    run_once: Callable[[], Awaitable[int]]
    idle_seconds: float = IDLE_SECONDS
    finish: Callable[[], Awaitable[None]] | None = None
    # True if the rounds use the database's time, so that they also run while this host's clock
    # cannot be trusted.
    runs_by_database_time: bool = False


async def run_loops(
    loops: Sequence[Loop], stop: asyncio.Event, *, clock: Clock | None = None,
    timeout_seconds: float = 20.0,
) -> None:  # fmt: skip
    """Run all loops until `stop`. Each then finishes its round, or is cancelled after
    `timeout_seconds`.

    A cancelled round is rolled back, or its leases expire and another worker continues.
    """
    clock = clock or SystemClock()
    tasks = [
        asyncio.create_task(_run_repeatedly(loop, stop, clock), name=loop.name) for loop in loops
    ]
    await stop.wait()
    _, unfinished = await asyncio.wait(tasks, timeout=timeout_seconds)
    for task in unfinished:
        log.warning("round cancelled", loop=task.get_name())
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def _run_repeatedly(loop: Loop, stop: asyncio.Event, clock: Clock) -> None:
    failures = 0
    work_done, rounds_failed = _WORK_DONE.labels(loop.name), _ROUNDS_FAILED.labels(loop.name)
    # Create the series at the start, so that a loop that never succeeds also triggers the alert.
    _LAST_SUCCESS.labels(loop.name)
    while not stop.is_set():
        started = time.monotonic()
        try:
            if not loop.runs_by_database_time:
                clock.now()  # Raises while the clock cannot be trusted.
            done = await loop.run_once()
        except Exception as error:  # A loop must survive every error of a round.
            failures += 1
            rounds_failed.inc()
            pause = compute_pause(failures)
            # While the database or the clock is unavailable, all loops fail at once. Together they
            # log that once a minute.
            is_unavailable = isinstance(error, Unavailable)
            log.exception(
                "round failed", loop=loop.name, pause_seconds=pause, once_a_minute=is_unavailable
            )
        else:
            failures = 0
            record_success(loop.name)
            pause = 0.0 if done else loop.idle_seconds
            if done:
                work_done.inc(done)
                _log_round(loop, done, started)
        await _wait(stop, pause)
    if loop.finish is not None:
        await loop.finish()


def record_success(loop_name: str) -> None:
    """Record that a loop works. A loop whose round takes very long calls this itself."""
    _LAST_SUCCESS.labels(loop_name).set(time.time())


def compute_pause(failures: int) -> float:
    """Return how many seconds to wait after this many failures in a row."""
    doublings = min(failures - 1, 10)
    return min(_FIRST_PAUSE_SECONDS * (1 << doublings), _MAX_PAUSE_SECONDS)


def _log_round(loop: Loop, done: int, started: float) -> None:
    milliseconds = round((time.monotonic() - started) * 1000)
    log.debug("round", loop=loop.name, count=done, duration_ms=milliseconds)


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    """Let other tasks run for this time, and return early when the worker stops."""
    if seconds == 0:
        await asyncio.sleep(0)
        return
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        return
