"""Sends what queues hold, each message at most once unless its channel may be called again.

1. begin      The queue chooses sets: of a merchant's channel, or of one message.
2. hand over  It leases a set, checks that it still may go, and commits it as handed over with its
              content.
3. call       The channel is called for all messages at the same time. No transaction is open; a
              heartbeat keeps the lease.
4. settle     Each answer is recorded when it arrives, together with those that arrive in the same
              moment. An answer whose lease was lost meanwhile is not recorded.

A set that waits only for recipients who do not answer lingers: it takes no slot any more, and the
queue may begin the next set of the same channel with what room is left.

A worker that dies before 2 has committed leaves a lease that runs out: the set is leased again. One
that dies after it leaves the messages that have no recorded answer. The queue takes them up again
where the channel makes one message of one id however often it is called; all others become UNKNOWN
(CONTRACT 13). A worker that lives and knows that it has not called the channel takes the mark back.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar

import structlog

from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import Answer, Uncalled
from dunwell.contact.sending.handed_over import HandedOver, MessageCall
from dunwell.contact.sending.persist import persist, persist_for_a_moment
from dunwell.platform.database.database import Connection
from dunwell.platform.heartbeat import BEAT_SECONDS, HeldLease, keep_lease
from dunwell.platform.resources import Resources

_ROUND_SECONDS = 0.2
# Answers that arrive within this time of the first share a transaction: a fast channel's set costs
# one or two commits instead of one for each message, and no reader notices the delay.
_TOGETHER_SECONDS = 0.02
# After this time a set that still has unanswered messages holds up nothing any more. Providers
# usually answer within it, so most sets end before the next one of their channel begins.
_LINGER_SECONDS = 0.5
# Unanswered messages of lingering sets that one worker holds in memory. It is far above what one
# provider that hangs can collect, and bounds the memory when all of them hang.
_MOST_LINGERING = 2_000
# So long calls that are cancelled may take to end. An adapter that ignores its cancellation would
# otherwise keep known answers from being recorded until the process is killed.
_BREAK_OFF_SECONDS = 2.0

Item = TypeVar("Item")
SetKey = TypeVar("SetKey")

log = structlog.get_logger(__name__)


class RunningSet(Generic[SetKey]):
    """A set that a sender has begun and not finished."""

    def __init__(self, key: SetKey) -> None:
        self.key = key
        # Messages whose channel was called, or will be, and has not answered.
        self.unanswered = 0
        self._called_at: float | None = None

    @property
    def lingers(self) -> bool:
        """Whether it waits for recipients who take long to answer, and for nothing else."""
        return self._called_at is not None and monotonic() - self._called_at >= _LINGER_SECONDS

    def begin_calls(self, count: int) -> None:
        self.unanswered = count
        self._called_at = monotonic()


@dataclass(frozen=True, slots=True)
class Begun(Generic[SetKey]):
    sets: Sequence[SetKey] = ()
    # What the queue settled without handing anything over.
    settled: int = 0


class Queue(Protocol[SetKey]):
    """One kind of messages. A set is known by a key of the queue's own."""

    async def begin(self, running: Sequence[RunningSet[SetKey]], room: int) -> Begun[SetKey]:
        """At most `room` sets that are due, in addition to the running ones."""

    def hand_over(self, key: SetKey) -> AsyncIterator[HandedOver[Any]]:
        """A set, in the parts that share a lease; each begins when the one before is settled. A set
        that lingered ends with the part that did."""


class Sender(Generic[SetKey]):
    """Runs a queue's sets at the same time, so that one that hangs holds up no other. Close it at
    the end."""

    def __init__(
        self, resources: Resources, adapters: Adapters, queue: Queue[SetKey],
        *, slots: int, beat_seconds: float = BEAT_SECONDS,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._adapters = adapters
        self._queue = queue
        self._slots = slots
        self._beat_seconds = beat_seconds
        self._running: dict[asyncio.Task[int], RunningSet[SetKey]] = {}

    async def run_once(self) -> int:
        """Fill free slots and wait a moment for the first to finish; how many were settled."""
        try:
            return await self._run_once()
        except asyncio.CancelledError:
            # The process ends: what is under way is broken off while the database is still open.
            await self._cancel()
            raise

    async def _run_once(self) -> int:
        settled = 0
        room = self._find_room()
        if room > 0:
            begun = await self._queue.begin(list(self._running.values()), room)
            settled = begun.settled
            for key in begun.sets:
                running = RunningSet(key)
                self._running[asyncio.create_task(self._run(running))] = running
        if not self._running:
            return settled
        done, _ = await asyncio.wait(
            self._running, timeout=_ROUND_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            del self._running[task]
        return settled + sum(task.result() for task in done)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way from an earlier round."""
        return not self._running

    async def close(self) -> None:
        """Let what is under way finish; what a cancellation breaks off is settled as far as it is
        known."""
        try:
            if self._running:
                await asyncio.wait(self._running)
        finally:
            await self._cancel()

    async def run_set(self, key: SetKey) -> int:
        """Send one set, to the end; how many were settled."""
        return await self._run(RunningSet(key))

    def _find_room(self) -> int:
        lingering = [each for each in self._running.values() if each.lingers]
        if sum(each.unanswered for each in lingering) >= _MOST_LINGERING:
            return 0
        return self._slots - (len(self._running) - len(lingering))

    async def _cancel(self) -> None:
        tasks = list(self._running)
        self._running.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, running: RunningSet[SetKey]) -> int:
        settled = 0
        async with aclosing(self._queue.hand_over(running.key)) as parts:  # type: ignore[type-var]
            async for handed_over in parts:
                settled += await self._send(running, handed_over)
                if running.lingers:
                    # The next set of its channel may have begun, with room for what it saw free.
                    break
        return settled

    async def _send(self, running: RunningSet[SetKey], handed_over: HandedOver[Any]) -> int:
        lease = HeldLease(handed_over.lease)

        async def renew(connection: Connection, until: datetime) -> None:
            begun_at = monotonic()
            lease.note_renewed(await handed_over.keep(connection, until), begun_at)

        async with keep_lease(self._resources, renew, beat_seconds=self._beat_seconds):
            calls: dict[asyncio.Task[Answer], MessageCall[Any]] = {}
            for item in handed_over.items:
                call = MessageCall(handed_over, item)
                calls[asyncio.create_task(call.run(self._adapters, lease))] = call
            running.begin_calls(len(calls))
            try:
                return await self._settle_all(running, handed_over, calls)
            except BaseException:
                # Whatever ends this early, no call is left without its lease and a reader.
                await self._break_off(handed_over, calls)
                raise

    async def _settle_all(
        self, running: RunningSet[SetKey], handed_over: HandedOver[Any],
        calls: dict[asyncio.Task[Answer], MessageCall[Any]],
    ) -> int:  # fmt: skip
        """Record answers as they arrive. Those that cannot be recorded hold up no others; what was
        in the way is raised at the end."""
        failures: list[Exception] = []
        settled = await self._settle(handed_over, handed_over.answered, failures)
        while calls:
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(calls, timeout=_TOGETHER_SECONDS)
            done = [task for task in calls if task.done()]
            answers = [(calls[task].item, task.result()) for task in done]
            running.unanswered -= len(done)
            settled += await self._settle(handed_over, answers, failures)
            for task in done:
                del calls[task]
        if failures:
            raise failures[0]
        return settled

    async def _break_off(
        self, handed_over: HandedOver[Any], calls: Mapping[asyncio.Task[Answer], MessageCall[Any]]
    ) -> None:
        """Settle what has answered, and release what was never called. The rest may have left: it
        is left to its lease, as are calls that ignore their cancellation."""
        if not calls:
            return
        for task in calls:
            task.cancel()
        ended, running = await asyncio.wait(calls, timeout=_BREAK_OFF_SECONDS)
        if running:
            log.error("calls ignore their cancellation", count=len(running))
        known: list[tuple[Any, Answer]] = []
        for task in ended:
            call = calls[task]
            if not task.cancelled():
                known.append((call.item, task.result()))
            elif not call.has_begun:
                known.append((call.item, Uncalled()))
        if known:
            await persist_for_a_moment(lambda: self._settle(handed_over, known, []))

    async def _settle(
        self, handed_over: HandedOver[Item], answers: Sequence[tuple[Item, Any]],
        failures: list[Exception],
    ) -> int:  # fmt: skip
        """Record answers together, and if that fails, each by itself, so that one that cannot be
        recorded takes no other with it; what is in its way is added to `failures`. An answer that
        is lost leaves a doubt behind, so this does not give up while the database is away."""
        if not answers:
            return 0
        try:
            return await persist(lambda: self._settle_once(handed_over, answers))
        except Exception as error:
            if len(answers) == 1:
                log.exception("answer not settled", error=type(error).__name__)
                failures.append(error)
                return 0
            log.warning("answers not settled together", count=len(answers))
        return sum([await self._settle(handed_over, [each], failures) for each in answers])

    async def _settle_once(
        self, handed_over: HandedOver[Item], answers: Sequence[tuple[Item, Any]]
    ) -> int:
        async with self._resources.database.transaction() as tx:
            return await handed_over.settle(tx, answers)
