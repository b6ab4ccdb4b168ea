"""The adapters of this installation. Only this module chooses implementations."""

from collections.abc import Collection, Mapping, Sequence

from dunwell.adapters.channels.outbox.channel import OutboxEmail, OutboxLetter, OutboxSms
from dunwell.adapters.payments.sandbox.provider import NAME as SANDBOX_PROVIDER
from dunwell.adapters.payments.sandbox.provider import SandboxProvider
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources


def choose_channels(settings: Settings) -> Sequence[ChannelAdapter]:
    """Return the channel adapters that a merchant's configuration can name."""
    kinds = (OutboxEmail, OutboxSms, OutboxLetter)
    # During development, files are not encrypted so that they can be viewed.
    is_open = settings.is_development
    keys = None if is_open else KeyRing(settings.secret_key)
    return [kind(settings.data_dir, keys=keys, is_development=is_open) for kind in kinds]


def list_adapters(settings: Settings) -> Mapping[str, Collection[str]]:
    """Return the names of the adapters for each channel."""
    names: dict[str, set[str]] = {}
    for adapter in choose_channels(settings):
        names.setdefault(adapter.channel, set()).add(adapter.name)
    return names


def choose_providers(_settings: Settings, resources: Resources) -> PaymentProviders:
    """Return the payment providers that a merchant's configuration can name, by name."""
    return {SANDBOX_PROVIDER: SandboxProvider(resources)}


def list_providers(_settings: Settings) -> Collection[str]:
    """Return the names of the payment providers without creating them."""
    return {SANDBOX_PROVIDER}
