"""Check delivery providers for SMS: whether their gateways respond and accept our credentials. No
message is sent."""

from collections.abc import Mapping

import asyncpg

from dunwell.accounts.installation.delivery_providers import (
    DeliveryProvider,
    KannelProvider,
    TwilioProvider,
)
from dunwell.accounts.installation.store import load_installation, load_secrets
from dunwell.adapters.channels.gateway import GatewayProblem
from dunwell.adapters.channels.kannel.channel import KannelChannel
from dunwell.adapters.channels.twilio.channel import TwilioChannel
from dunwell.contact.sending.channel import DeliveryProviderUnusable
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_PROBLEMS: Mapping[GatewayProblem, tuple[str, str]] = {
    "NOT_REACHED": (
        "the gateway does not respond",
        'Start it, and check "server" and "networks" of the provider in the installation file.',
    ),
    "REFUSED": (
        "the gateway refuses the user or the password",
        "Correct them in the installation file, and run: dunwell apply FILE",
    ),
    "OTHER_ANSWER": (
        "the server is not a gateway of this type",
        'Check "server" and "adapter" of the provider in the installation file.',
    ),
}


async def check_gateways(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check all delivery providers for SMS. Return nothing if the database is not migrated or does
    not respond: other checks report that."""
    keys = KeyRing(settings.secret_key)
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            providers = (await load_installation(connection)).installation.delivery_providers or {}
            secrets = await load_secrets(connection, keys)
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return [
        await check_gateway(name, provider, secrets, keys)
        for name, provider in providers.items()
        if isinstance(provider, KannelProvider | TwilioProvider)
    ]


async def check_gateway(
    name: str, provider: DeliveryProvider, secrets: Mapping[str, bytes], keys: KeyRing
) -> DoctorFinding:
    subject = f"provider {name}"
    try:
        channel = _build_channel(name, provider, secrets, keys)
    except DeliveryProviderUnusable as error:
        return DoctorFinding(subject, str(error), "Run: dunwell apply FILE")
    problem = await channel.check()
    await channel.close()
    if problem is None:
        return DoctorFinding(subject, "the gateway responds and accepts messages")
    return DoctorFinding(subject, *_PROBLEMS[problem])


def _build_channel(
    name: str, provider: DeliveryProvider, secrets: Mapping[str, bytes], keys: KeyRing
) -> KannelChannel | TwilioChannel:
    """Build the channel. The channel needs no address for callbacks, because nothing is sent."""
    if isinstance(provider, KannelProvider):
        return KannelChannel(name, provider, secrets=secrets, keys=keys, public_url="")
    assert isinstance(provider, TwilioProvider)
    return TwilioChannel(name, provider, secrets=secrets, keys=keys, public_url="")
