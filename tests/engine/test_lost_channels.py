"""A planned contact loses its channel before it is sent: the fallback is used if there is one,
and the workflow continues."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.set_up_merchant import change_configuration
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.suppression import suppress
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import ADDRESS, REACHABLE, TEMPLATE, a_harness_with_channels, sent_by
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness

HOUR = timedelta(hours=1)
_CONTACTS = """
SELECT channel, state, failure FROM communications WHERE merchant_id = $1 ORDER BY place
"""
_NEXT = "SELECT next_step_id FROM claims WHERE merchant_id = $1"
_LEDGER = "SELECT outcome FROM contact_ledger WHERE merchant_id = $1"


async def _contacts(harness: Harness) -> list[tuple[str, str, str | None]]:
    return [tuple(row) for row in await harness.rows(_CONTACTS)]


async def _plan(resources: Resources, clock: MovableClock, *fallbacks: Any) -> tuple[Harness, int]:
    """Plan a contact by e-mail without sending it."""
    harness = await a_harness_with_channels(resources, clock, "EMAIL", fallbacks)
    [claim_id] = await harness.create(**REACHABLE)
    await Engine(resources).run_once()
    return harness, claim_id


async def _change(harness: Harness, claim_id: int, **patch: Any) -> None:
    async with harness.work() as work:
        await change_contact_data(work, claim_id, patch)


async def test_a_removed_address_leads_to_the_next_channel(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await _plan(resources, clock, "SMS")
    await _change(harness, claim_id, email=None)
    await harness.run()
    assert await sent_by(harness) == {"SMS": 1}
    assert await _contacts(harness) == [
        ("EMAIL", "FAILED", "the debtor can no longer be reached by EMAIL"),
        ("SMS", "ACCEPTED", None),
    ]


@pytest.mark.parametrize("patch", [{"address": None}, {"address": {**ADDRESS, "street": None}}])
async def test_the_workflow_continues_after_a_letter_without_an_address(
    resources: Resources, clock: MovableClock, patch: dict[str, Any]
) -> None:
    harness = await a_harness_with_channels(resources, clock, "LETTER")
    [claim_id] = await harness.create(**REACHABLE)
    await Engine(resources).run_once()
    await _change(harness, claim_id, **patch)
    await harness.run()
    assert await sent_by(harness) == {}
    # The step after the following wait.
    assert [row["next_step_id"] for row in await harness.rows(_NEXT)] == [3]


async def test_a_minor_version_without_a_channels_template_leads_to_the_next_channel(
    resources: Resources, clock: MovableClock
) -> None:
    harness, _ = await _plan(resources, clock, "SMS")
    step = {**DOCUMENT["steps"][0], "channel": "SMS"}
    template = {channel: TEMPLATE[channel] for channel in ("SMS", "LETTER")}
    steps = [step, *DOCUMENT["steps"][1:]]
    version = await harness.publish(a_definition(steps=steps, templates={"reminder": template}))
    assert version.name == "v1.1"
    await harness.run()
    assert await sent_by(harness) == {"SMS": 1}
    assert await _contacts(harness) == [
        ("EMAIL", "FAILED", "the step no longer has a template for EMAIL"),
        ("SMS", "ACCEPTED", None),
    ]


async def test_a_channel_that_the_merchant_disabled_leads_to_the_next_one(
    resources: Resources, clock: MovableClock
) -> None:
    harness, _ = await _plan(resources, clock, "SMS")
    async with harness.work() as work:
        configuration = work.merchant.configuration
        left = {name: each for name, each in configuration.channels.items() if name != "EMAIL"}
        changed = msgspec.structs.replace(configuration, channels=left)
        await change_configuration(work, work.merchant.name, changed)
    await harness.run()
    assert await sent_by(harness) == {"SMS": 1}


async def test_an_interrupted_message_is_not_repeated_to_a_suppressed_address(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL", ["SMS"])
    await harness.create(**REACHABLE)
    harness.channels[0].answers.append(ConnectionResetError())
    await harness.run()
    async with harness.work() as work:
        await suppress(work, resources.keys, "EMAIL", "erika@example.org", "DEBTOR")
    clock.advance(HOUR)
    await harness.run()
    assert await sent_by(harness) == {"EMAIL": 1}
    assert await _contacts(harness) == [("EMAIL", "UNKNOWN", None)]
    assert [row["outcome"] for row in await harness.rows(_LEDGER)] == ["UNKNOWN"]
