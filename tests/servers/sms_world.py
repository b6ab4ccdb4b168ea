"""A merchant whose SMS go through a real Kannel to a simulated SMS centre. Delivery reports return
over HTTP to the whole web application."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import KannelProvider, ProviderPace
from dunwell.accounts.installation.installation_file import Installation, check_installation
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.adapters.channels.kannel.channel import KannelChannel
from dunwell.adapters.delivery_providers import build_delivery_provider
from dunwell.contact.escalation.reports.delivery_reports import process_reports
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import parse_yaml
from tests.servers.kannel import INCOMING_SECRET, PASSWORD, Kannel, a_kannel
from tests.support.channels import TEMPLATE
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.merchants import CONFIGURATION
from tests.support.served import ServedApplication, serve

_INSTALLATION = Path(__file__).parents[2] / "examples" / "production" / "installation.yaml"
NAME = "sms-kannel"
NUMBER = "+4915112345678"
SECRETS = {
    f"deliveryProviders/{NAME}/credentials/passwordFile": PASSWORD,
    f"deliveryProviders/{NAME}/incomingSecretFile": INCOMING_SECRET,
}
_CONTACTS = """
SELECT channel, state, failure, delivered_at IS NOT NULL FROM communications
WHERE merchant_id = $1 ORDER BY planned_at, place
"""
_OUTCOMES = """
SELECT outcome FROM delivery_reports
WHERE $1 > 0 ORDER BY received_at, provider_message_id
"""
_SUPPRESSED = "SELECT channel, reason FROM suppressions WHERE merchant_id = $1"
_STEP = {**DOCUMENT["steps"][0], "channel": "SMS", "fallbacks": ["EMAIL"], "send": "IMMEDIATE"}


def a_provider(address: str, **changes: Any) -> KannelProvider:
    """Return the operator's delivery provider with this address and the test's changes."""
    installation = check_installation(parse_yaml(_INSTALLATION.read_text()))
    provider = (installation.delivery_providers or {})[NAME]
    assert isinstance(provider, KannelProvider)
    usual: dict[str, Any] = {"server": address, "pace": ProviderPace(), "stop_confirmation": None}
    return msgspec.structs.replace(provider, **usual | changes)


@dataclass
class SmsHarness:
    """A merchant whose workflow sends an SMS and then, as the next channel, a scripted e-mail."""

    harness: Harness
    kannel: Kannel
    served: ServedApplication
    line: KannelChannel

    async def send(self, **changes: Any) -> int:
        [claim_id] = await self.harness.create(**{"mobileNumber": NUMBER, **changes})
        await self.harness.run()
        return claim_id

    async def contacts(self) -> list[tuple[object, ...]]:
        """Return channel, state, failure and whether the message was reported as delivered."""
        return [tuple(row) for row in await self.harness.rows(_CONTACTS)]

    async def reports(self) -> list[str | None]:
        return [row["outcome"] for row in await self.harness.rows(_OUTCOMES)]

    async def suppressed(self) -> list[tuple[str, str]]:
        return [tuple(row) for row in await self.harness.rows(_SUPPRESSED)]

    async def join(self) -> None:
        await process_reports(self.harness.resources)
        await self.harness.run()

    async def wait_for_reports(self, count: int) -> None:
        await wait_until(self._has_reports(count))

    def _has_reports(self, count: int) -> Callable[[], Awaitable[bool]]:
        async def has_them() -> bool:
            return len(await self.reports()) >= count

        return has_them


async def wait_until(holds: Callable[[], Awaitable[bool]], seconds: float = 15) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0.02)


@asynccontextmanager
async def open_sms_harness(
    resources: Resources, clock: MovableClock, folder: Path, **changes: str
) -> AsyncIterator[SmsHarness]:
    async with serve(resources) as served, a_kannel(
        folder, public_url=served.origin, **changes
    ) as kannel:  # fmt: skip
        own = served.resources
        provider = a_provider(kannel.address)
        await apply_installation(own, Installation(delivery_providers={NAME: provider}), SECRETS)
        await served.installation.refresh()
        channel = build_delivery_provider(NAME, provider, SECRETS, own)
        assert isinstance(channel, KannelChannel)
        harness = await a_sending_harness(own, clock, channel)
        yield SmsHarness(harness, kannel, served, channel)
        await channel.close()


async def a_sending_harness(
    resources: Resources, clock: MovableClock, channel: Any, **given: Any
) -> Harness:
    """Return a merchant that sends SMS by the delivery provider and then e-mail."""
    setups: Any = {
        "EMAIL": ChannelSetup(adapter="outbox", sender="claims@nordwind.example"),
        "SMS": ChannelSetup(provider=channel.name, sender="Nordwind"),
    }
    configuration = msgspec.structs.replace(CONFIGURATION, channels=setups)
    definition = a_definition(
        steps=[_STEP, *DOCUMENT["steps"][1:]], templates={"reminder": TEMPLATE}
    )
    return await a_harness(
        replace(resources, clock=clock), clock, definition, configuration=configuration,
        channels=[ScriptedChannel()], delivery_providers={channel.name: channel}, **given,
    )  # fmt: skip


@pytest.fixture
async def sms_harness(
    resources: Resources, clock: MovableClock, tmp_path: Path
) -> AsyncIterator[SmsHarness]:
    async with open_sms_harness(resources, clock, tmp_path) as sms:
        yield sms


@pytest.fixture
async def kannel(tmp_path: Path) -> AsyncIterator[Kannel]:
    async with a_kannel(tmp_path) as running:
        yield running
