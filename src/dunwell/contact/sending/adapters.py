"""The one door to the channels: which adapter a merchant's channel names, and calling it.

Whatever an adapter does becomes an answer. No transaction is open here, and nothing is known of
what the answer means.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass

import structlog

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.sending.channel import (
    AskableChannel,
    ChannelAdapter,
    LineAdapter,
    Message,
    Outcome,
    Temporary,
    Unanswered,
)

_CALL_SECONDS = 60
# A line that was taken out comes back, or the merchant gets another.
_ABSENT_SECONDS = 300

log = structlog.get_logger(__name__)


# The adapter of a line by its name; none: there is no such line. Raises Unavailable while it is
# not known which there are.
FindLine = Callable[[str], LineAdapter | None]


def find_no_line(_name: str) -> LineAdapter | None:
    """Where an installation has none."""
    return None


@dataclass(frozen=True, slots=True)
class BoundLine:
    """A line that is not given everything at once: what it has unanswered may have left."""

    name: str
    pace: ProviderPace


class Adapters:
    """The installation's."""

    def __init__(
        self, adapters: Collection[ChannelAdapter], find_line: FindLine = find_no_line
    ) -> None:
        self._adapters = {(each.channel, each.name): each for each in adapters}
        self._find_line = find_line

    def find(self, merchant: Merchant, channel: Channel) -> ChannelAdapter | None:
        setup = merchant.configuration.channels.get(channel)
        if setup is None:
            return None
        if setup.provider is not None:
            return self._find_line(setup.provider)
        return self._adapters.get((channel, setup.adapter or ""))

    def find_bound(self, merchant: Merchant, channel: Channel) -> BoundLine | None:
        """The line that the merchant's messages leave by; none: an adapter without bounds, or a
        line that is gone, which takes none."""
        setup = merchant.configuration.channels.get(channel)
        if setup is None or setup.provider is None:
            return None
        adapter = self._find_line(setup.provider)
        return BoundLine(setup.provider, adapter.pace) if adapter else None

    def list_askable(self, merchant: Merchant) -> dict[Channel, AskableChannel]:
        """Those that say afterwards what became of a message."""
        found: dict[Channel, AskableChannel] = {}
        for channel in CHANNELS:
            adapter = self.find(merchant, channel)
            if isinstance(adapter, AskableChannel):
                found[channel] = adapter
        return found

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
            return Temporary(
                _ABSENT_SECONDS, "The merchant's channel has no provider at the moment."
            )
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                return await adapter.send(message)
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            # Whatever it was, also a task that the adapter itself cancelled: the message may have
            # left, and that alone counts.
            log.exception(
                "send unanswered",
                communication_id=str(message.communication_id),
                error=type(error).__name__,
            )
            return Unanswered(adapter.is_repeatable)
