"""A few slots are shared fairly, so that no key delays others for long."""

import asyncio
from collections.abc import Callable, Hashable

import pytest

from dunwell.platform.children.fair_queue import INTERACTIVE, FairQueue, QueueLimits
from dunwell.platform.errors import RateLimited, Unavailable

_MIB = 1024 * 1024


class _Jobs:
    """Jobs that run until they are ended, in the order in which they get their slots."""

    def __init__(self, queue: FairQueue) -> None:
        self._queue = queue
        self.running: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self.tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, key: Hashable, size_bytes: int = 0) -> None:
        self._ends[name] = asyncio.Event()
        self.tasks[name] = asyncio.create_task(self._run(name, key, size_bytes))
        await _settle()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await _settle()

    async def run_all(self) -> list[str]:
        """End one job after another and return the order in which they ran."""
        order: list[str] = []
        while self.running:
            name = self.running[0]
            order.append(name)
            await self.end(name)
        return order

    async def _run(self, name: str, key: Hashable, size_bytes: int) -> None:
        async with self._queue.slot(key, size_bytes):
            self.running.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.running.remove(name)


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def _limits(per_key: int = 1, *, own: int = 100, all_: int = 100) -> QueueLimits:
    return QueueLimits(per_key, waiting_per_key=own, waiting=all_, wait_seconds=0.05)


@pytest.fixture
def a_queue() -> Callable[[int], tuple[FairQueue, _Jobs]]:
    def make(slots: int) -> tuple[FairQueue, _Jobs]:
        queue = FairQueue(slots, QueueLimits(1, 100, 100, wait_seconds=20.0))
        return queue, _Jobs(queue)

    return make


async def test_forty_jobs_of_one_key_leave_a_slot_for_another(
    a_queue: Callable[[int], tuple[FairQueue, _Jobs]],
) -> None:
    queue, jobs = a_queue(2)
    for number in range(40):
        await jobs.start(f"a{number}", "a")
    assert jobs.running == ["a0"]
    await jobs.start("b", "b")
    assert jobs.running == ["a0", "b"]
    await jobs.run_all()
    assert queue.is_empty


async def test_a_single_slot_goes_to_another_key_after_one_job(
    a_queue: Callable[[int], tuple[FairQueue, _Jobs]],
) -> None:
    _, jobs = a_queue(1)
    for number in range(5):
        await jobs.start(f"a{number}", "a")
    await jobs.start("b0", "b")
    await jobs.start("b1", "b")
    assert (await jobs.run_all())[:4] == ["a0", "b0", "a1", "b1"]


async def test_small_jobs_of_a_key_overtake_its_large_ones(
    a_queue: Callable[[int], tuple[FairQueue, _Jobs]],
) -> None:
    _, jobs = a_queue(1)
    await jobs.start("first", "a")
    await jobs.start("large", "a", 10 * _MIB)
    await jobs.start("small", "a", 1)
    assert await jobs.run_all() == ["first", "small", "large"]


async def test_a_large_job_of_another_key_waits_for_a_limited_number_of_small_ones(
    a_queue: Callable[[int], tuple[FairQueue, _Jobs]],
) -> None:
    """The large job costs as much as about twenty small jobs, so it runs after those."""
    _, jobs = a_queue(1)
    await jobs.start("running", "a")
    await jobs.start("large", "b", 2 * _MIB)
    for number in range(50):
        await jobs.start(f"small{number}", "a", 1)
    assert 15 <= (await jobs.run_all()).index("large") <= 25


async def test_a_job_that_waits_too_long_for_its_own_key_is_rate_limited() -> None:
    jobs = _Jobs(FairQueue(2, _limits()))
    await jobs.start("running", "a")
    await jobs.start("waiting", "a")
    with pytest.raises(RateLimited) as refusal:
        await jobs.tasks["waiting"]
    assert refusal.value.retry_after == 5


async def test_a_job_that_waits_too_long_for_other_keys_is_answered_as_busy() -> None:
    jobs = _Jobs(FairQueue(1, _limits()))
    await jobs.start("running", "a")
    await jobs.start("waiting", "b")
    with pytest.raises(Unavailable):
        await jobs.tasks["waiting"]
    assert jobs.running == ["running"]


async def test_the_waiting_jobs_of_a_key_are_limited_without_affecting_others() -> None:
    jobs = _Jobs(FairQueue(1, QueueLimits(1, waiting_per_key=2, waiting=3, wait_seconds=20.0)))
    for name in ("a0", "a1", "a2", "a3"):
        await jobs.start(name, "a")
    with pytest.raises(RateLimited):
        await jobs.tasks["a3"]
    await jobs.start("b", "b")
    await jobs.start("c", "c")
    with pytest.raises(Unavailable):
        await jobs.tasks["c"]
    assert await jobs.run_all() == ["a0", "b", "a1", "a2"]


@pytest.mark.parametrize("cancelled", ["running", "waiting"])
async def test_cancelled_jobs_release_their_slots(
    a_queue: Callable[[int], tuple[FairQueue, _Jobs]], cancelled: str
) -> None:
    queue, jobs = a_queue(1)
    await jobs.start("running", "a")
    await jobs.start("waiting", "a")
    jobs.tasks[cancelled].cancel()
    await _settle()
    await jobs.start("last", "b")
    assert "last" in await jobs.run_all()
    assert queue.is_empty


async def test_a_job_cancelled_while_it_gets_its_slot_releases_it(
    a_queue: Callable[[int], tuple[FairQueue, _Jobs]],
) -> None:
    queue, jobs = a_queue(1)
    await jobs.start("running", "a")
    await jobs.start("waiting", "a")
    jobs._ends["running"].set()
    # Two iterations of the event loop: the slot is assigned and not used yet.
    for _ in range(2):
        await asyncio.sleep(0)
    jobs.tasks["waiting"].cancel()
    await _settle()
    await jobs.start("last", "b")
    assert jobs.running == ["last"]
    await jobs.run_all()
    assert queue.is_empty


def test_the_limits_of_interactive_work() -> None:
    assert (
        QueueLimits(slots_per_key=1, waiting_per_key=64, waiting=400, wait_seconds=20.0)
        == INTERACTIVE
    )


async def test_a_job_that_starts_at_once_needs_no_room_to_wait() -> None:
    jobs = _Jobs(FairQueue(1, _limits(own=0, all_=0)))
    await jobs.start("first", "a")
    await jobs.start("second", "b")
    assert jobs.running == ["first"]
    assert isinstance(jobs.tasks["second"].exception(), RateLimited)
    await jobs.end("first")
