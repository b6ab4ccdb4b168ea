"""Share a few slots among many callers, so that one caller's jobs do not delay the others'.

Each caller (a merchant, a user, a debtor) is a key. A key uses at most `slots_per_key` slots at a
time. Of the keys that may use a free slot, the one that was served least is next, as in fair
queueing: each job adds its cost to its key's clock, and the lowest clock wins. A key's own jobs are
ordered by arrival time plus cost, so that small jobs are served first and large ones do not starve.
The number of waiting jobs and their waiting time are limited.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dunwell.platform.errors import RateLimited, Unavailable

# The cost of a job: a constant, and one second for each MiB. A job of 10 MiB is overtaken by
# smaller jobs of its key that arrive up to ten seconds later.
_SECONDS_PER_JOB = 0.1
_SECONDS_PER_BYTE = 1 / (1024 * 1024)
# A refused caller tries again after about the time that several jobs take.
_RETRY_AFTER_SECONDS = 5


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """The limits of a queue. `waiting_per_key` and `waiting` count the jobs that have no slot yet.
    `wait_seconds` is how long each of them may wait; None means without limit, for background work
    that is limited elsewhere."""

    slots_per_key: int
    waiting_per_key: int
    waiting: int
    wait_seconds: float | None


# Interactive work. A request gives up after 20 seconds, long before the usual timeout of proxies
# (60 seconds), because the job itself still takes time. 64 is more than any client has reason to
# send in parallel. The total keeps the memory of waiting requests small.
INTERACTIVE = QueueLimits(slots_per_key=1, waiting_per_key=64, waiting=400, wait_seconds=20.0)
# Background work in its own process, which limits itself.
UNLIMITED = QueueLimits(
    slots_per_key=1_000, waiting_per_key=1_000_000, waiting=1_000_000, wait_seconds=None
)


@dataclass(slots=True, eq=False)
class _WaitingJob:
    cost: float
    arrived_at: float
    slot: asyncio.Future[None]


class FairQueue:
    """A queue for use within one event loop."""

    def __init__(self, slots: int, limits: QueueLimits) -> None:
        self._free = slots
        self._limits = limits
        self._running: Counter[Hashable] = Counter()
        self._waiting: dict[Hashable, list[_WaitingJob]] = {}
        # The clock of each key: the costs of its jobs add up on the event loop's clock. Deleted
        # when the key has no jobs.
        self._clocks: dict[Hashable, float] = {}
        self._emptied = asyncio.Event()
        self._emptied.set()
        self.is_closed = False

    @asynccontextmanager
    async def slot(self, key: Hashable, size_bytes: int) -> AsyncIterator[None]:
        """Hold a slot while the job runs.

        Raises RateLimited if this key has too many jobs, and Unavailable if all keys together have
        too many or the queue is closed.
        """
        self._check_limits(key)
        self._emptied.clear()
        loop = asyncio.get_running_loop()
        cost = _SECONDS_PER_JOB + size_bytes * _SECONDS_PER_BYTE
        job = _WaitingJob(cost, loop.time(), loop.create_future())
        self._waiting.setdefault(key, []).append(job)
        self._assign()
        try:
            await self._wait(key, job)
            yield
        finally:
            self._release_slot(key, job)

    def close(self) -> None:
        """Refuse the jobs that are waiting and those that come later. Running jobs continue."""
        self.is_closed = True
        for job in itertools.chain.from_iterable(self._waiting.values()):
            if not job.slot.done():
                job.slot.set_exception(build_closing_error())

    async def wait_until_empty(self) -> None:
        """Return when no job runs or waits."""
        await self._emptied.wait()

    def _check_limits(self, key: Hashable) -> None:
        if self.is_closed:
            raise build_closing_error()
        if self._free and self._running[key] < self._limits.slots_per_key:
            return  # The job starts at once.
        if len(self._waiting.get(key, ())) >= self._limits.waiting_per_key:
            raise _build_own_jobs_error()
        if sum(map(len, self._waiting.values())) >= self._limits.waiting:
            raise _build_busy_error()

    async def _wait(self, key: Hashable, job: _WaitingJob) -> None:
        try:
            async with asyncio.timeout(self._limits.wait_seconds):
                await job.slot
        except TimeoutError:
            is_own_fault = self._running[key] > 0
            raise (_build_own_jobs_error() if is_own_fault else _build_busy_error()) from None

    def _release_slot(self, key: Hashable, job: _WaitingJob) -> None:
        """Release the slot, or leave the waiting jobs."""
        if job in self._waiting.get(key, ()):
            self._waiting[key].remove(job)
        else:
            self._free += 1
            self._running[key] -= 1
        if not self._waiting.get(key):
            self._waiting.pop(key, None)
            if not self._running[key]:
                del self._running[key]
                self._clocks.pop(key, None)
        if self.is_empty:
            self._emptied.set()
        self._assign()

    def _assign(self) -> None:
        while self._free and (next_job := self._find_next()):
            clock, key, job = next_job
            self._waiting[key].remove(job)
            self._free -= 1
            self._running[key] += 1
            self._clocks[key] = clock
            # A job that was cancelled or refused at this moment releases its slot in
            # `_release_slot`.
            if not job.slot.done():
                job.slot.set_result(None)

    def _find_next(self) -> tuple[float, Hashable, _WaitingJob] | None:
        """Return the next job with its key and the key's new clock, or None."""
        candidates: list[tuple[float, Hashable, _WaitingJob]] = []
        for key, jobs in self._waiting.items():
            if jobs and self._running[key] < self._limits.slots_per_key:
                job = min(jobs, key=lambda waiting: waiting.arrived_at + waiting.cost)
                clock = max(self._clocks.get(key, 0.0), job.arrived_at) + job.cost
                candidates.append((clock, key, job))
        return min(candidates, key=lambda candidate: candidate[0], default=None)

    @property
    def is_empty(self) -> bool:
        """Return whether no job runs or waits and no key has a clock."""
        return not (self._running or self._waiting or self._clocks)


def _build_own_jobs_error() -> RateLimited:
    return RateLimited(
        "Too many of your requests of this kind are being worked on. Send the next one when one of "
        "them has been answered.",
        retry_after=_RETRY_AFTER_SECONDS,
    )


def _build_busy_error() -> Unavailable:
    return Unavailable(
        "Too many requests of this kind are waiting just now. Try again shortly.",
        retry_after=_RETRY_AFTER_SECONDS,
    )


def build_closing_error() -> Unavailable:
    """Build the error for a request to a process that is about to end."""
    return Unavailable(
        "The service is being restarted. Try again shortly.", retry_after=_RETRY_AFTER_SECONDS
    )
