"""The channels that need no delivery provider, and the names of all payment providers.
`delivery_providers` and `payment_providers` build the other adapters."""

from collections.abc import Collection, Mapping, Sequence

from dunwell.accounts.installation.installation_file import Installation
from dunwell.adapters.channels.outbox.channel import OutboxEmail, OutboxLetter, OutboxSms
from dunwell.adapters.payments.sandbox.provider import NAME as SANDBOX_PROVIDER
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing


def build_channel_adapters(settings: Settings) -> Sequence[ChannelAdapter]:
    """Return the channel adapters that a merchant's configuration can name."""
    kinds = (OutboxEmail, OutboxSms, OutboxLetter)
    # During development, files are not encrypted so that they can be viewed.
    is_development = settings.is_development
    keys = None if is_development else KeyRing(settings.secret_key)
    return [kind(settings.data_dir, keys=keys, is_development=is_development) for kind in kinds]


def list_adapters(settings: Settings) -> Mapping[str, Collection[str]]:
    """Return the names of the channel adapters that need no delivery provider, by channel."""
    names: dict[str, set[str]] = {}
    for adapter in build_channel_adapters(settings):
        names.setdefault(adapter.channel, set()).add(adapter.name)
    return names


def list_payment_provider_names(installation: Installation) -> Collection[str]:
    """Return the names of the sandbox and of all accounts at payment providers, without building
    their adapters."""
    return {SANDBOX_PROVIDER, *(installation.payment_providers or {})}
