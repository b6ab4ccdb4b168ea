"""Messages that were committed as handed over, and the call of their channel for one of them."""

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import structlog

from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.sending.adapters import Adapters
from dunwell.contact.sending.channel import (
    Answer,
    Message,
    Permanent,
    Temporary,
    Unanswered,
    Uncalled,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.heartbeat import HeldLease

Item = TypeVar("Item")

log = structlog.get_logger(__name__)


class HandedOver(Protocol[Item]):
    """A merchant's messages that were committed as handed over under one lease."""

    @property
    def merchant(self) -> Merchant: ...

    @property
    def lease(self) -> Lease:
        """As it was written with the mark."""

    @property
    def items(self) -> Sequence[Item]:
        """For each of them its channel is called."""

    @property
    def answered(self) -> Sequence[tuple[Item, Any]]:
        """Items whose channel is not called, with what they are settled by instead."""

    def compose(self, item: Item) -> AbstractAsyncContextManager[Message | Temporary | Permanent]:
        """The message as it leaves the house, in memory for as long as the block lasts; or why it
        does not."""

    async def keep(self, tx: Connection, until: datetime) -> Collection[UUID]:
        """Renew the lease where it is still held; the messages that it was renewed for, by the id
        that their channel is given."""

    async def settle(self, tx: Connection, answers: Sequence[tuple[Item, Any]]) -> int:
        """Record what became of some items; how many were settled. May be called again when the
        transaction was rolled back or when it is not known whether it was."""


class MessageCall(Generic[Item]):
    """One item on its way to its channel."""

    def __init__(self, handed_over: HandedOver[Item], item: Item) -> None:
        self.item = item
        # From then on the message may have left.
        self.has_begun = False
        self._handed_over = handed_over

    async def run(self, adapters: Adapters, lease: HeldLease) -> Answer:
        answer: Answer | None = None
        try:
            async with self._handed_over.compose(self.item) as message:
                if isinstance(message, Temporary | Permanent):
                    answer = message
                elif not lease.is_surely_held(message.communication_id):
                    # It may be settled by somebody else already, and be sent again by them.
                    answer = Uncalled()
                else:
                    self.has_begun = True
                    answer = await adapters.call(self._handed_over.merchant, message)
        except Exception as error:  # it must not take the answers of other messages with it
            log.exception("message broken off", error=type(error).__name__)
            if answer is None:
                answer = self._judge()
        return answer

    def _judge(self) -> Answer:
        if self.has_begun:
            return Unanswered(is_repeatable=False)
        return Temporary(reason="The message could not be composed; the log says why.")
