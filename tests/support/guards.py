"""Merchants with their own contact limits, and the database's record of contacts per debtor."""

from datetime import date
from typing import Any

import msgspec

from dunwell.accounts.merchants.configuration import ChannelSetup, Configuration, Guards
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import CHANNELS, TEMPLATE
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION


def guarded(guards: Guards, base: Configuration = CONFIGURATION) -> Configuration:
    setups: Any = {name: ChannelSetup(adapter="outbox") for name in CHANNELS}
    return msgspec.structs.replace(base, guards=guards, channels=setups)


async def a_guarded_harness(
    resources: Resources, clock: MovableClock, guards: Guards | None = None, **given: Any
) -> Harness:
    """Return a merchant whose workflow has a single contact. `given` holds properties of the step
    and arguments of a_harness."""
    names = ("channel", "fallbacks", "send")
    changes = {name: given.pop(name) for name in names if name in given}
    step = {**DOCUMENT["steps"][0], **changes}
    definition = a_definition(
        steps=[step, {"id": 9, "name": "Wait", "kind": "WAIT", "days": 30}],
        templates={"reminder": TEMPLATE},
    )
    configuration = guarded(guards or Guards())
    return await a_harness(resources, clock, definition, configuration=configuration, **given)


async def contact_days(harness: Harness) -> list[list[date]]:
    """Return the contact days of every known identity, in no order."""
    rows = await harness.rows("SELECT contacted_on FROM contact_guards WHERE merchant_id = $1")
    return sorted(row["contacted_on"] for row in rows)


async def held_contacts(harness: Harness) -> list[tuple[str, Any]]:
    """Return the reason why each planned contact is held and the end of the hold, in the order of
    planning."""
    rows = await harness.rows(
        "SELECT held_by, not_before FROM communications"
        " WHERE merchant_id = $1 AND state = 'PLANNED' ORDER BY not_before, planned_at, claim_id"
    )
    return [(row["held_by"], row["not_before"]) for row in rows]
