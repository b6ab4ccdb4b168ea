"""Sends what queues hold, each message at most once unless its channel may be called again.

1. begin      the queue chooses sets: of a merchant, of one message.
2. hand over  It leases a set, checks that it still may go, and commits it as handed over with its
              content.
3. call       The channels, side by side. No transaction is open; a heartbeat keeps the lease.
4. settle     One transaction records the answers. Whoever lost the lease records nothing.

A worker that dies before 2 has committed leaves a lease that runs out: the set is taken again. One
that dies behind it leaves what may have left: the queue takes that up again where the channel takes
one message for one id however often it is called; all else becomes UNKNOWN (CONTRACT 13).
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

import structlog

from dunwell.errors import Unavailable
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.merchant import Merchant
from dunwell.sending.adapters import Adapters
from dunwell.sending.channel import Message, Outcome, Permanent, Temporary, Unanswered
from dunwell.sending.lease import BEAT_SECONDS, keep_lease

_ROUND_SECONDS = 0.2
_FIRST_SETTLE_PAUSE, _SETTLE_PAUSE = 0.1, 1.0

Item = TypeVar("Item")
SetKey = TypeVar("SetKey")

log = structlog.get_logger(__name__)


class HandedOver(Protocol[Item]):
    """A merchant's messages that were committed as handed over under one lease."""

    @property
    def merchant(self) -> Merchant: ...

    @property
    def items(self) -> Sequence[Item]:
        """For each of them its channel is called."""

    def compose(self, item: Item) -> AbstractAsyncContextManager[Message | Temporary | Permanent]:
        """The message as it leaves the house, in memory for as long as the block lasts; or why it
        does not."""

    async def keep(self, tx: Connection, until: datetime) -> None:
        """Renew the lease where it is still held."""

    async def settle(
        self, tx: Connection, answers: Sequence[tuple[Item, Outcome | Unanswered]]
    ) -> int:
        """Record what became of the items; how many were settled. May be called again when the
        transaction was rolled back."""


@dataclass(frozen=True, slots=True)
class Begun(Generic[SetKey]):
    sets: Sequence[SetKey] = ()
    # What the queue settled without handing anything over.
    settled: int = 0


class Queue(Protocol[SetKey]):
    """One kind of messages. A set is known by a key of the queue's own."""

    async def begin(self, running: Sequence[SetKey], room: int) -> Begun[SetKey]:
        """At most `room` sets that are due, beside those under way."""

    def hand_over(self, key: SetKey) -> AsyncIterator[HandedOver[Any]]:
        """A set, in the parts that are settled together; each begins when the one before is
        settled."""


class Sender(Generic[SetKey]):
    """Runs a queue's sets side by side, so that what hangs holds up no other. Close it at the
    end."""

    def __init__(
        self, resources: Resources, adapters: Adapters, queue: Queue[SetKey],
        *, slots: int, beat_seconds: float = BEAT_SECONDS,
    ) -> None:  # fmt: skip
        self._resources = resources
        self._adapters = adapters
        self._queue = queue
        self._slots = slots
        self._beat_seconds = beat_seconds
        self._running: dict[asyncio.Task[int], SetKey] = {}

    async def run_once(self) -> int:
        """Fill free slots and wait a moment for the first to finish; how many were settled."""
        settled = 0
        room = self._slots - len(self._running)
        if room:
            begun = await self._queue.begin(list(self._running.values()), room)
            settled = begun.settled
            self._running |= {asyncio.create_task(self.run_set(key)): key for key in begun.sets}
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
        """Let what is under way finish."""
        await asyncio.gather(*self._running, return_exceptions=True)
        self._running.clear()

    async def run_set(self, key: SetKey) -> int:
        """Send one set, to the end; how many were settled."""
        settled = 0
        async for handed_over in self._queue.hand_over(key):
            settled += await self._send(handed_over)
        return settled

    async def _send(self, handed_over: HandedOver[Item]) -> int:
        async with keep_lease(self._resources, handed_over.keep, beat_seconds=self._beat_seconds):
            items = handed_over.items
            answers = await asyncio.gather(*(self._call(handed_over, item) for item in items))
            return await self._settle(handed_over, list(zip(items, answers, strict=True)))

    async def _call(self, handed_over: HandedOver[Item], item: Item) -> Outcome | Unanswered:
        async with handed_over.compose(item) as message:
            if isinstance(message, Temporary | Permanent):
                return message
            return await self._adapters.call(handed_over.merchant, message)

    async def _settle(
        self, handed_over: HandedOver[Item], answers: Sequence[tuple[Item, Outcome | Unanswered]]
    ) -> int:
        """Again and again while something is in the way, for as long as the process may: an answer
        that is lost leaves a doubt behind."""
        pause = _FIRST_SETTLE_PAUSE
        while True:
            try:
                return await self._settle_once(handed_over, answers)
            except Unavailable:
                merchant_id = handed_over.merchant.merchant_id
                log.warning("cannot settle yet", merchant_id=merchant_id, once_a_minute=True)
                await asyncio.sleep(pause)
                pause = _SETTLE_PAUSE

    async def _settle_once(
        self, handed_over: HandedOver[Item], answers: Sequence[tuple[Item, Outcome | Unanswered]]
    ) -> int:
        async with self._resources.database.transaction() as tx:
            return await handed_over.settle(tx, answers)
