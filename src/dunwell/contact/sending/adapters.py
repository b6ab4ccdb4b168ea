"""Choose the adapter of a merchant's channel and call it. All calls of channels go through this
module.

Whatever an adapter does, such as raising an exception, becomes an answer; the callers decide what
the answer means. No transaction is open during a call.
"""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass

import structlog

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.sending.channel import (
    ChannelAdapter,
    Message,
    Outcome,
    ProviderAdapter,
    QueryableChannel,
    Temporary,
    Unanswered,
)

_CALL_TIMEOUT_SECONDS = 60
# A removed provider may be restored, or the merchant may get another one.
_NO_PROVIDER_RETRY_SECONDS = 300

log = structlog.get_logger(__name__)


# Returns the adapter of a delivery provider by name, or None if there is none. Raises Unavailable
# while the providers are not known.
FindProvider = Callable[[str], ProviderAdapter | None]


def find_no_provider(_name: str) -> ProviderAdapter | None:
    """Return None, for installations without delivery providers."""
    return None


@dataclass(frozen=True, slots=True)
class PacedProvider:
    """A delivery provider with its limits: how fast messages may be sent, and how many may be
    unanswered at a time."""

    name: str
    pace: ProviderPace


class Adapters:
    """The adapters of the installation."""

    def __init__(
        self, adapters: Collection[ChannelAdapter], find_provider: FindProvider = find_no_provider
    ) -> None:
        self._adapters = {(each.channel, each.name): each for each in adapters}
        self._find_provider = find_provider

    def find(self, merchant: Merchant, channel: Channel) -> ChannelAdapter | None:
        """Return the adapter of the merchant's channel, or None if the merchant does not use the
        channel or its provider was removed."""
        setup = merchant.configuration.channels.get(channel)
        if setup is None:
            return None
        if setup.provider is not None:
            return self._find_provider(setup.provider)
        return self._adapters.get((channel, setup.adapter or ""))

    def find_paced_provider(self, merchant: Merchant, channel: Channel) -> PacedProvider | None:
        """Return the delivery provider of the merchant's channel with its pace. Return None for an
        adapter without limits, and for a provider that was removed, which accepts nothing."""
        setup = merchant.configuration.channels.get(channel)
        if setup is None or setup.provider is None:
            return None
        adapter = self._find_provider(setup.provider)
        return PacedProvider(setup.provider, adapter.pace) if adapter else None

    def list_queryable(self, merchant: Merchant) -> dict[Channel, QueryableChannel]:
        """Return the channels that can be asked afterwards whether a message was sent."""
        queryable: dict[Channel, QueryableChannel] = {}
        for channel in CHANNELS:
            adapter = self.find(merchant, channel)
            if isinstance(adapter, QueryableChannel):
                queryable[channel] = adapter
        return queryable

    def list_repeatable(self, merchant: Merchant) -> list[Channel]:
        """List the merchant's channels that send one message per id, however often they are
        called."""
        return [
            channel
            for channel in merchant.configuration.channels
            if (adapter := self.find(merchant, channel)) and adapter.is_repeatable
        ]

    async def call(self, merchant: Merchant, message: Message) -> Outcome | Unanswered:
        """Send the message by its channel and return the answer. Raises only CancelledError, if the
        caller is being cancelled."""
        adapter = self.find(merchant, message.channel)
        if adapter is None:
            return Temporary(
                _NO_PROVIDER_RETRY_SECONDS, "The merchant's channel has no provider at the moment."
            )
        try:
            async with asyncio.timeout(_CALL_TIMEOUT_SECONDS):
                return await adapter.send(message)
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            # The message may have been sent, whatever was raised. This includes a task that the
            # adapter cancelled itself.
            log.exception(
                "no answer from channel",
                communication_id=str(message.communication_id),
                error=type(error).__name__,
            )
            return Unanswered(adapter.is_repeatable)
