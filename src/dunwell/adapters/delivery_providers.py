"""The adapters of the delivery providers in the installation file. They are rebuilt when the file
changes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import structlog

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    FolderProvider,
    KannelProvider,
    SftpProvider,
    SmtpProvider,
    TwilioProvider,
)
from dunwell.adapters.channels.folder.channel import FolderChannel
from dunwell.adapters.channels.kannel.channel import KannelChannel
from dunwell.adapters.channels.sftp.channel import SftpChannel
from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.adapters.channels.twilio.channel import TwilioChannel
from dunwell.contact.sending.batches.letter_folder import BatchedChannel, PrintProvider
from dunwell.contact.sending.channel import DeliveryProviderUnusable, ProviderAdapter
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

# Calls of a replaced adapter end within this time.
_MAX_CALL_SECONDS = 90

log = structlog.get_logger(__name__)


def build_delivery_provider(
    name: str, provider: DeliveryProvider, secrets: Mapping[str, bytes], resources: Resources
) -> ProviderAdapter:
    """Build the adapter without connecting. `secrets` are those of the installation file by name,
    such as "deliveryProviders/post/credentials/passwordFile". Raises DeliveryProviderUnusable."""
    settings = resources.settings
    match provider:
        case KannelProvider():
            return KannelChannel(
                name, provider, secrets=secrets, keys=resources.keys, public_url=settings.public_url
            )
        case TwilioProvider():
            return TwilioChannel(
                name, provider, secrets=secrets, keys=resources.keys, public_url=settings.public_url
            )
        case FolderProvider():
            return FolderChannel(name, provider, resources)
        case SftpProvider():
            return SftpChannel(name, provider, secrets, resources)
        case SmtpProvider():
            return SmtpChannel(name, provider, secrets, resources.keys)
        case _:
            raise DeliveryProviderUnusable(
                f"There is no adapter for {provider.channel} by this delivery provider."
            )


class DeliveryProviderAdapters:
    """The adapters of a running process. They must be closed at the end."""

    def __init__(self, resources: Resources, installation: CurrentInstallation) -> None:
        self._resources = resources
        self._installation = installation
        self._revision = -1
        self._adapters: dict[str, ProviderAdapter] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def find(self, name: str) -> ProviderAdapter | None:
        """Return the adapter, or None if there is none with this name or it cannot be used. Raises
        Unavailable as long as the installation file is not known."""
        if self._installation.revision < 0:
            raise Unavailable("The installation file was not read yet.")
        if self._installation.revision != self._revision:
            self._build()
        return self._adapters.get(name)

    def list_print_providers(self) -> Mapping[str, PrintProvider]:
        """Return the providers whose letters are released in batches, by name. Raises Unavailable
        like `find`."""
        self.find("")
        return {
            name: adapter.print_provider
            for name, adapter in self._adapters.items()
            if isinstance(adapter, BatchedChannel)
        }

    def _build(self) -> None:
        installation = self._installation
        replaced, self._adapters = self._adapters, {}
        self._revision = installation.revision
        for name, provider in installation.delivery_providers.items():
            try:
                self._adapters[name] = build_delivery_provider(
                    name, provider, installation.secrets, self._resources
                )
            except DeliveryProviderUnusable as error:
                log.error("delivery provider unusable", provider=name, reason=str(error))  # noqa: TRY400 - the reason is enough
        if replaced:
            task = asyncio.create_task(_close_later(replaced))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*(each.close() for each in self._adapters.values()))


@asynccontextmanager
async def open_delivery_providers(
    resources: Resources, installation: CurrentInstallation
) -> AsyncIterator[DeliveryProviderAdapters]:
    providers = DeliveryProviderAdapters(resources, installation)
    try:
        yield providers
    finally:
        await providers.close()


async def _close_later(adapters: Mapping[str, ProviderAdapter]) -> None:
    try:
        await asyncio.sleep(_MAX_CALL_SECONDS)
    finally:
        await asyncio.gather(*(each.close() for each in adapters.values()))
