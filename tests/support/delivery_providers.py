"""A merchant that uses delivery providers of an installation file."""

from typing import Any

import msgspec

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.report import Reference, Report
from dunwell.contact.sending.store import save_report
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import TEMPLATE
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, ScriptedChannel, ScriptedDeliveryProvider, a_harness
from tests.support.merchants import CONFIGURATION


async def a_harness_with_a_provider(
    resources: Resources, clock: MovableClock, provider: ScriptedDeliveryProvider
) -> Harness:
    """Return a merchant that sends e-mails by the provider and SMS by the outbox."""
    setups: Any = {
        "EMAIL": ChannelSetup(provider=provider.name, sender="claims@nordwind.example"),
        "SMS": ChannelSetup(adapter="outbox", sender="Nordwind"),
    }
    configuration = msgspec.structs.replace(CONFIGURATION, channels=setups)
    steps = [{**DOCUMENT["steps"][0], "fallbacks": ["SMS"]}, *DOCUMENT["steps"][1:]]
    definition = a_definition(steps=steps, templates={"reminder": TEMPLATE})
    channels = [ScriptedChannel(channel="SMS")]
    return await a_harness(
        resources, clock, definition,
        configuration=configuration, channels=channels,
        delivery_providers={provider.name: provider},
    )  # fmt: skip


async def plan_texts(resources: Resources, clock: MovableClock, count: int) -> Harness:
    """Plan SMS of one batch, for an adapter that receives them all at once."""
    harness = await a_harness_with_a_provider(
        resources, clock, ScriptedDeliveryProvider(pace=ProviderPace(at_once=count))
    )
    for number in range(count):
        await harness.create(f"S-{number}", email=None, mobileNumber=f"+4915112345{number:03}")
    await Engine(resources).run_once()
    return harness


async def report(harness: Harness, sent_by: ScriptedDeliveryProvider, **changes: Any) -> bool:
    """Record a delivery report of the first message that the provider sent. Return whether it is
    new."""
    contact_id = sent_by.sent[0].communication_id
    usual: dict[str, Any] = {
        "provider": sent_by.name, "provider_message_id": "1", "state": "FAILED",
        "happened_at": harness.clock.now(),
        "reference": Reference(harness.merchant.merchant_id, contact_id), "reason": "5.1.1",
        "cause": "OTHER", "raw": b"as it came",
    }  # fmt: skip
    resources = harness.resources
    async with resources.database.transaction() as tx:
        reported = Report(**usual | changes)
        return await save_report(tx, reported, real_now=harness.clock.now(), ids=resources.ids)
