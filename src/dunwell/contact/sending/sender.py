"""Send the messages of queues. No call of a channel is repeated, unless the channel sends one
message per id however often it is called."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import dataclass
from datetime import datetime
from time import monotonic
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import (
    ChannelAnswer,
    Message,
    Permanent,
    Temporary,
    Unanswered,
    Uncalled,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import Unavailable
from dunwell.platform.heartbeat import HEARTBEAT_SECONDS, LeaseRenewals, keep_lease
from dunwell.platform.resources import Resources

_FIRST_PAUSE_SECONDS, _PAUSE_SECONDS = 0.1, 1.0
# How long a task that is being cancelled retries a transaction. The supervisor kills a process some
# time after asking it to end.
_BRIEF_RETRY_SECONDS = 5.0

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


async def retry_until_saved(write: Callable[[], Awaitable[Result]]) -> Result:
    """Repeat a transaction while the database is unavailable or another change conflicts with it.
    The transaction must be repeatable, because it may have been committed although the confirmation
    was lost."""
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return await write()
        except Unavailable as error:
            log.warning("outcome not recorded yet", error=type(error).__name__, once_a_minute=True)
            await asyncio.sleep(pause)
            pause = _PAUSE_SECONDS


async def retry_briefly(write: Callable[[], Awaitable[object]]) -> None:
    """Repeat a transaction for a few seconds, without raising, for a task that is being cancelled
    or that others wait for."""
    try:
        async with asyncio.timeout(_BRIEF_RETRY_SECONDS):
            await retry_until_saved(write)
    except Exception as error:
        log.exception("outcome not recorded in time", error=type(error).__name__)


Item = TypeVar("Item")


class HandedOverPart(Protocol[Item]):
    """A part of a set: messages of one merchant that were committed as handed over under one
    lease."""

    @property
    def merchant(self) -> Merchant: ...

    @property
    def lease(self) -> Lease:
        """The lease as it was stored with the hand-over."""

    @property
    def items(self) -> Sequence[Item]:
        """The items whose channel is called."""

    @property
    def answered(self) -> Sequence[tuple[Item, Any]]:
        """The items whose channel is not called, with their outcomes."""

    def compose(self, item: Item) -> AbstractAsyncContextManager[Message | Temporary | Permanent]:
        """Yield the complete message, in memory for the duration of the block, or the reason why it
        is not sent."""

    async def renew_lease(self, tx: Connection, until: datetime) -> Collection[UUID]:
        """Renew the lease where it is still held. Return the message ids for which it was
        renewed."""

    async def record_answers(self, tx: Connection, answers: Sequence[tuple[Item, Any]]) -> int:
        """Record the outcomes of some items and return their number. May be called again if the
        transaction was rolled back or its result is not known."""


class MessageCall(Generic[Item]):
    """One item whose channel is being called."""

    def __init__(self, handed_over: HandedOverPart[Item], item: Item) -> None:
        self.item = item
        # True from the call of the channel on: the message may have been sent.
        self.has_begun = False
        self._handed_over = handed_over

    async def run(self, adapters: Adapters, lease: LeaseRenewals) -> ChannelAnswer:
        """Compose the message, call the channel and return its answer. Raises only CancelledError;
        any other error becomes an answer."""
        answer: ChannelAnswer | None = None
        try:
            async with self._handed_over.compose(self.item) as message:
                if isinstance(message, Temporary | Permanent):
                    answer = message
                elif not lease.is_surely_held(message.communication_id):
                    # Another worker may have resolved the message and may send it again.
                    answer = Uncalled()
                else:
                    self.has_begun = True
                    answer = await adapters.call(self._handed_over.merchant, message)
        except Exception as error:  # A failure must not lose the answers of other messages.
            log.exception("message failed", error=type(error).__name__)
            if answer is None:
                answer = self._answer_after_error()
        return answer

    def _answer_after_error(self) -> ChannelAnswer:
        if self.has_begun:
            return Unanswered(is_repeatable=False)
        return Temporary(reason="The message could not be composed; the log says why.")


# How long one round waits for a set to end.
_MAX_ROUND_SECONDS = 0.2
# Answers that arrive within this time of the first are recorded in one transaction. The set of a
# fast channel then needs one or two commits instead of one per message, without a noticeable delay.
_BATCH_SECONDS = 0.02
# After this time, a set with unanswered messages lingers: it delays no other set. Providers usually
# answer sooner, so most sets end before the next one of their channel starts.
_LINGER_SECONDS = 0.5
# The limit of unanswered messages in lingering sets, for one worker. One hanging provider stays far
# below this limit, which bounds the memory if all providers hang.
_MAX_LINGERING = 2_000
# How long cancelled calls may take to end. An adapter that ignores its cancellation must not
# prevent known answers from being recorded.
_CANCEL_SECONDS = 2.0


SetKey = TypeVar("SetKey")


class RunningSet(Generic[SetKey]):
    """A set that a sender has started and not finished."""

    def __init__(self, key: SetKey) -> None:
        self.key = key
        # Messages whose channel was called or will be called and has not answered.
        self.unanswered = 0
        self._called_at: float | None = None

    @property
    def lingers(self) -> bool:
        """Return whether the set only waits for channel calls that take long."""
        return self._called_at is not None and monotonic() - self._called_at >= _LINGER_SECONDS

    def begin_calls(self, count: int) -> None:
        self.unanswered = count
        self._called_at = monotonic()

    def prepare_next_part(self) -> None:
        """Do not let the set linger while it prepares its next part. Another set of its channel
        would start in the meantime, and both together would exceed the provider's limit."""
        self._called_at = None


@dataclass(frozen=True, slots=True)
class StartedSets(Generic[SetKey]):
    sets: Sequence[SetKey] = ()
    # The number of messages that got their outcome without a hand-over.
    settled: int = 0


class SendQueue(Protocol[SetKey]):
    """The queue of one kind of messages. It identifies sets by keys of its choice."""

    async def start_sets(
        self, running: Sequence[RunningSet[SetKey]], free_slots: int
    ) -> StartedSets[SetKey]:
        """Start at most `free_slots` due sets, in addition to the running ones."""

    def hand_over(self, key: SetKey) -> AsyncIterator[HandedOverPart[Any]]:
        """Yield the set in parts, each under its own lease. The next part starts when the previous
        one has its outcomes. A set ends after a part that lingered."""


class Sender(Generic[SetKey]):
    """Run the sets of a queue concurrently, so that a hanging set delays no other. Must be
    closed."""

    def __init__(
        self, resources: Resources, adapters: Adapters, queue: SendQueue[SetKey],
        *, slots: int, heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._adapters = adapters
        self._queue = queue
        self._slots = slots
        self._heartbeat_seconds = heartbeat_seconds
        self._running: dict[asyncio.Task[int], RunningSet[SetKey]] = {}

    async def run_once(self) -> int:
        """Fill free slots, wait briefly for sets to finish and return the number of recorded
        outcomes."""
        try:
            return await self._run_once()
        except asyncio.CancelledError:
            # The process ends: interrupt running sets while the database is still open.
            await self._cancel()
            raise

    async def _run_once(self) -> int:
        settled = 0
        free_slots = self._count_free_slots()
        if free_slots > 0:
            started = await self._queue.start_sets(list(self._running.values()), free_slots)
            settled = started.settled
            for key in started.sets:
                running = RunningSet(key)
                self._running[asyncio.create_task(self._run(running))] = running
        if not self._running:
            return settled
        done, _ = await asyncio.wait(
            self._running, timeout=_MAX_ROUND_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            del self._running[task]
        return settled + sum(task.result() for task in done)

    @property
    def is_idle(self) -> bool:
        """Return whether no sets are left from an earlier round."""
        return not self._running

    async def close(self) -> None:
        """Let running sets finish. If cancelled, record the outcomes that are known."""
        try:
            if self._running:
                await asyncio.wait(self._running)
        finally:
            await self._cancel()

    async def run_set(self, key: SetKey) -> int:
        """Send one set completely and return the number of recorded outcomes."""
        return await self._run(RunningSet(key))

    def _count_free_slots(self) -> int:
        lingering = [each for each in self._running.values() if each.lingers]
        if sum(each.unanswered for each in lingering) >= _MAX_LINGERING:
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
                    # Another set of this channel may have started in the meantime; both together
                    # would exceed the provider's limit.
                    break
                running.prepare_next_part()
        return settled

    async def _send(self, running: RunningSet[SetKey], handed_over: HandedOverPart[Any]) -> int:
        lease = LeaseRenewals(handed_over.lease)

        async def renew(connection: Connection, until: datetime) -> None:
            started_at = monotonic()
            lease.record_renewal(await handed_over.renew_lease(connection, until), started_at)

        async with keep_lease(self._resources, renew, heartbeat_seconds=self._heartbeat_seconds):
            calls: dict[asyncio.Task[ChannelAnswer], MessageCall[Any]] = {}
            for item in handed_over.items:
                call = MessageCall(handed_over, item)
                calls[asyncio.create_task(call.run(self._adapters, lease))] = call
            running.begin_calls(len(calls))
            try:
                return await self._settle_all(running, handed_over, calls)
            except BaseException:
                # Cancel the calls and record their answers while the lease is still renewed.
                await self._cancel_calls(handed_over, calls)
                raise

    async def _settle_all(
        self, running: RunningSet[SetKey], handed_over: HandedOverPart[Any],
        calls: dict[asyncio.Task[ChannelAnswer], MessageCall[Any]],
    ) -> int:  # fmt: skip
        """Record answers as they arrive. Answers that cannot be recorded block no others; the first
        error is raised at the end."""
        failures: list[Exception] = []
        settled = await self._settle(handed_over, handed_over.answered, failures)
        while calls:
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait(calls, timeout=_BATCH_SECONDS)
            done = [task for task in calls if task.done()]
            answers = [(calls[task].item, task.result()) for task in done]
            running.unanswered -= len(done)
            settled += await self._settle(handed_over, answers, failures)
            for task in done:
                del calls[task]
        if failures:
            raise failures[0]
        return settled

    async def _cancel_calls(
        self,
        handed_over: HandedOverPart[Any],
        calls: Mapping[asyncio.Task[ChannelAnswer], MessageCall[Any]],
    ) -> None:
        """Record the known answers and release the items that were not called. All others may have
        been sent; they keep their lease, as do calls that ignore their cancellation."""
        if not calls:
            return
        for task in calls:
            task.cancel()
        ended, unfinished = await asyncio.wait(calls, timeout=_CANCEL_SECONDS)
        if unfinished:
            log.error("calls ignore their cancellation", count=len(unfinished))
        known: list[tuple[Any, ChannelAnswer]] = []
        for task in ended:
            call = calls[task]
            if not task.cancelled():
                known.append((call.item, task.result()))
            elif not call.has_begun:
                known.append((call.item, Uncalled()))
        if known:
            await retry_briefly(lambda: self._settle(handed_over, known, []))

    async def _settle(
        self, handed_over: HandedOverPart[Item], answers: Sequence[tuple[Item, Any]],
        failures: list[Exception],
    ) -> int:  # fmt: skip
        """Record answers in one transaction; if that fails, record each in its own, so that a
        faulty one affects no other. Errors are added to `failures`. Keeps trying while the database
        is unavailable, because losing an answer makes the outcome unknown."""
        if not answers:
            return 0
        try:
            return await retry_until_saved(lambda: self._settle_once(handed_over, answers))
        except Exception as error:
            if len(answers) == 1:
                log.exception("outcome not recorded", error=type(error).__name__)
                failures.append(error)
                return 0
            log.warning("outcomes not recorded together", count=len(answers))
        return sum([await self._settle(handed_over, [each], failures) for each in answers])

    async def _settle_once(
        self, handed_over: HandedOverPart[Item], answers: Sequence[tuple[Item, Any]]
    ) -> int:
        async with self._resources.database.transaction() as tx:
            return await handed_over.record_answers(tx, answers)
