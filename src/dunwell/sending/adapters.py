"""The one door to the channels: which adapter a merchant's channel names, and calling it.

Whatever an adapter does becomes an answer. No transaction is open here, and nothing is known of
what the answer means.
"""

import asyncio
from collections.abc import Collection

import structlog

from dunwell.merchants.configuration import Channel
from dunwell.merchants.merchant import Merchant
from dunwell.sending.channel import ChannelAdapter, Message, Outcome, Unanswered

_CALL_SECONDS = 60

log = structlog.get_logger(__name__)


class Adapters:
    """The installation's."""

    def __init__(self, adapters: Collection[ChannelAdapter]) -> None:
        self._adapters = {(each.channel, each.name): each for each in adapters}

    def find(self, merchant: Merchant, channel: Channel) -> ChannelAdapter | None:
        setup = merchant.configuration.channels.get(channel)
        return self._adapters.get((channel, setup.adapter)) if setup else None

    def list_repeatable(self, merchant: Merchant) -> list[Channel]:
        """The merchant's channels that make one message of one id however often they are called."""
        return [
            channel
            for channel in merchant.configuration.channels
            if (adapter := self.find(merchant, channel)) and adapter.is_repeatable
        ]

    async def call(self, merchant: Merchant, message: Message) -> Outcome | Unanswered:
        adapter = self.find(merchant, message.channel)
        if adapter is None:
            return Unanswered(is_repeatable=True)
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                return await adapter.send(message)
        except Exception as error:
            # Whatever it was: the message may have left, and that alone counts.
            log.exception(
                "send unanswered",
                communication_id=str(message.communication_id),
                error=type(error).__name__,
            )
            return Unanswered(adapter.is_repeatable)
