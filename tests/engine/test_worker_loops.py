"""The loops of a worker: immediate while there is work, slower after failures, completed at the
end."""

import asyncio
import time

import pytest
import structlog

from dunwell.interfaces.worker.loops import Loop, compute_pause, run_loops
from dunwell.platform.database.database import DatabaseAway
from dunwell.platform.metrics import REGISTRY


class ScriptedLoop:
    """A scripted loop: returns numbers, raises exceptions, and stops with the last entry."""

    def __init__(self, stop: asyncio.Event, *script: int | Exception) -> None:
        self._stop = stop
        self._script = list(script)
        self.done = 0

    async def run_once(self) -> int:
        self.done += 1
        answer = self._script.pop(0) if self._script else 0
        if not self._script:
            self._stop.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 0.2), (2, 0.4), (3, 0.8), (5, 3.2), (6, 5.0), (10_000, 5.0)]
)
def test_the_delay_after_failures_grows_to_five_seconds(failures: int, seconds: float) -> None:
    assert compute_pause(failures) == pytest.approx(seconds)


async def test_a_loop_continues_at_once_while_there_is_work() -> None:
    stop = asyncio.Event()
    rounds = ScriptedLoop(stop, 500, 500, 3)
    async with asyncio.timeout(5):
        await run_loops([Loop("engine", rounds.run_once, idle_seconds=3600)], stop)
    assert rounds.done == 3


async def test_a_failed_round_ends_neither_its_loop_nor_the_others() -> None:
    stop, other_stop = asyncio.Event(), asyncio.Event()
    failing = ScriptedLoop(stop, RuntimeError("boom"), 1, 0)
    other = ScriptedLoop(other_stop, *[1] * 50)
    async with asyncio.timeout(5):
        loops = [Loop("failing", failing.run_once), Loop("other", other.run_once)]
        await run_loops(loops, stop)
    assert failing.done == 3
    assert other.done >= 50


async def test_the_time_of_the_last_successful_round_is_shown() -> None:
    def read_last(loop: str) -> float | None:
        name = "dunwell_worker_last_success_timestamp_seconds"
        return REGISTRY.get_sample_value(name, {"loop": loop})

    stop, other_stop = asyncio.Event(), asyncio.Event()
    before = time.time()
    failing = ScriptedLoop(stop, RuntimeError("boom"), RuntimeError("boom"))
    idle = ScriptedLoop(other_stop, 0)
    loops = [Loop("always failing", failing.run_once), Loop("idle", idle.run_once)]
    async with asyncio.timeout(5):
        await run_loops(loops, stop)
    assert read_last("always failing") == 0
    assert before <= (read_last("idle") or 0) <= time.time()


async def test_a_running_round_is_finished_before_the_worker_stops() -> None:
    stop, finished = asyncio.Event(), []

    async def work() -> int:
        stop.set()
        await asyncio.sleep(0)
        finished.append("round")
        return 1

    async def finish() -> None:
        finished.append("rest")

    await run_loops([Loop("messages", work, finish=finish)], stop)
    assert finished == ["round", "rest"]


async def test_a_round_that_does_not_end_is_cancelled_after_the_grace_period() -> None:
    stop, seen = asyncio.Event(), []

    async def hang() -> int:
        stop.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise
        return 0

    await run_loops([Loop("engine", hang)], stop, timeout_seconds=0.01)
    assert seen == ["cancelled"]


async def test_loops_that_cannot_reach_the_database_log_one_line_a_minute() -> None:
    stop = asyncio.Event()
    rounds = ScriptedLoop(stop, DatabaseAway("away"), RuntimeError("boom"), 0)
    with structlog.testing.capture_logs() as logged:
        await run_loops([Loop("engine", rounds.run_once)], stop)
    failed = [each["once_a_minute"] for each in logged if each["event"] == "round failed"]
    # A fault of one loop alone is logged each time.
    assert failed == [True, False]
