"""Which adapters this installation has: the only place that picks implementations."""

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
    """The channel adapters a merchant's configuration can name."""
    kinds = (OutboxEmail, OutboxSms, OutboxLetter)
    # While developing, the messages are there to be looked at.
    is_open = settings.is_development
    keys = None if is_open else KeyRing(settings.secret_key)
    return [kind(settings.data_dir, keys=keys, is_development=is_open) for kind in kinds]


def list_adapters(settings: Settings) -> Mapping[str, Collection[str]]:
    """The names of this installation's adapters for each channel."""
    names: dict[str, set[str]] = {}
    for adapter in choose_channels(settings):
        names.setdefault(adapter.channel, set()).add(adapter.name)
    return names


def choose_providers(_settings: Settings, resources: Resources) -> PaymentProviders:
    """The payment providers a merchant's configuration can name, by name."""
    return {SANDBOX_PROVIDER: SandboxProvider(resources)}


def list_providers(_settings: Settings) -> Collection[str]:
    """Their names, for those who only check one."""
    return {SANDBOX_PROVIDER}
