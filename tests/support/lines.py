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
from tests.support.house import House, ScriptedChannel, ScriptedLine, a_house
from tests.support.merchants import CONFIGURATION


async def a_house_with_a_line(
    resources: Resources, clock: MovableClock, line: ScriptedLine
) -> House:
    """Return a merchant that sends e-mails by the provider and SMS by the outbox."""
    setups: Any = {
        "EMAIL": ChannelSetup(provider=line.name, sender="claims@nordwind.example"),
        "SMS": ChannelSetup(adapter="outbox", sender="Nordwind"),
    }
    configuration = msgspec.structs.replace(CONFIGURATION, channels=setups)
    steps = [{**DOCUMENT["steps"][0], "fallbacks": ["SMS"]}, *DOCUMENT["steps"][1:]]
    definition = a_definition(steps=steps, templates={"reminder": TEMPLATE})
    channels = [ScriptedChannel(channel="SMS")]
    return await a_house(
        resources, clock, definition,
        configuration=configuration, channels=channels, lines={line.name: line},
    )  # fmt: skip


async def plan_texts(resources: Resources, clock: MovableClock, count: int) -> House:
    """Plan SMS of one batch, for an adapter that receives them all at once."""
    house = await a_house_with_a_line(
        resources, clock, ScriptedLine(pace=ProviderPace(at_once=count))
    )
    for number in range(count):
        await house.create(f"S-{number}", email=None, mobileNumber=f"+4915112345{number:03}")
    await Engine(resources).run_once()
    return house


async def report(house: House, sent_by: ScriptedLine, **changes: Any) -> bool:
    """Record a delivery report of the first message that the provider sent. Return whether it is
    new."""
    contact_id = sent_by.sent[0].communication_id
    usual: dict[str, Any] = {
        "provider": sent_by.name, "provider_message_id": "1", "state": "FAILED",
        "happened_at": house.clock.now(),
        "reference": Reference(house.merchant.merchant_id, contact_id), "reason": "5.1.1",
        "cause": "OTHER", "raw": b"as it came",
    }  # fmt: skip
    resources = house.resources
    async with resources.database.transaction() as tx:
        reported = Report(**usual | changes)
        return await save_report(tx, reported, real_now=house.clock.now(), ids=resources.ids)
