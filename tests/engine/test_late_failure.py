"""Failures that channels report late start the fallback, and the WAIT step starts again."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import a_harness_with_channels
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.merchants import CONFIGURATION

DAY = timedelta(days=1)
_CONTACTS = """
SELECT step_id, place, channel, state, failure FROM communications
WHERE merchant_id = $1 ORDER BY planned_at, place
"""


def two_channels() -> list[ScriptedChannel]:
    return [ScriptedChannel(), ScriptedChannel(channel="SMS")]


async def a_harness_with_fallback(resources: Resources, clock: MovableClock) -> Harness:
    """Return a harness whose first message was sent by e-mail; its fallback channel is SMS."""
    setups: Any = {name: ChannelSetup(adapter="outbox") for name in ("EMAIL", "SMS")}
    configuration = msgspec.structs.replace(CONFIGURATION, channels=setups)
    template = {**DOCUMENT["templates"]["reminder"], "SMS": {"body": {"de": "x", "en": "x"}}}
    steps = [{**DOCUMENT["steps"][0], "fallbacks": ["SMS"]}, *DOCUMENT["steps"][1:]]
    definition = a_definition(steps=steps, templates={"reminder": template})
    harness = await a_harness(
        resources, clock, definition, configuration=configuration, channels=two_channels()
    )
    await harness.create(mobileNumber="+4915112345678")
    await harness.run()
    return harness


async def bounce(harness: Harness) -> None:
    [message] = harness.channels[0].sent
    async with harness.work(SYSTEM) as work:
        await report_failure(
            work, harness.resources.keys, message.communication_id, "mailbox unknown"
        )


async def next_step_at(harness: Harness) -> datetime | None:
    [row] = await harness.rows("SELECT due_at FROM claims WHERE merchant_id = $1")
    due_at: datetime | None = row["due_at"]
    return due_at


async def test_a_bounce_starts_the_fallback_and_restarts_the_wait(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_fallback(resources, clock)
    clock.advance(2 * DAY)
    await bounce(harness)
    assert await next_step_at(harness) is None
    await harness.run()
    assert len(harness.channels[1].sent) == 1
    assert await next_step_at(harness) == clock.now() + 7 * DAY
    assert [tuple(row) for row in await harness.rows(_CONTACTS)] == [
        (1, 0, "EMAIL", "FAILED", "mailbox unknown"),
        (1, 1, "SMS", "ACCEPTED", None),
    ]


async def test_the_same_bounce_twice_makes_one_fallback(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_fallback(resources, clock)
    await bounce(harness)
    await harness.run()
    await bounce(harness)
    await harness.run()
    assert len(harness.channels[1].sent) == 1


async def test_a_bounce_during_a_later_wait_restarts_that_wait(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_fallback(resources, clock)
    clock.advance(7 * DAY)
    await harness.run()
    clock.advance(3 * DAY + timedelta(hours=1))
    await bounce(harness)
    await harness.run()
    assert await next_step_at(harness) == clock.now() + 14 * DAY
    [row] = await harness.rows("SELECT count(*) FROM items WHERE merchant_id = $1")
    assert row["count"] == 2


async def test_a_bounce_of_a_paid_claim_starts_no_fallback(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_fallback(resources, clock)
    [claim] = await harness.rows("SELECT claim_id FROM claims WHERE merchant_id = $1")
    await harness.pay(claim["claim_id"], 10240)
    await bounce(harness)
    await harness.run_until(clock.now() + 2 * DAY)
    assert harness.channels[1].sent == []


async def test_a_bounce_starts_a_fallback_that_was_cancelled_before(
    resources: Resources, clock: MovableClock
) -> None:
    """The SMS was planned while there was no e-mail address, and was cancelled by a payment."""
    harness = await a_harness_with_channels(resources, clock, "EMAIL", ["SMS"])
    [claim_id] = await harness.create(email=None, mobileNumber="+4915112345678")
    await Engine(resources).run_once()
    payment = (await harness.pay(claim_id, 10240)).payment
    async with harness.work() as work:
        await reverse_payment(work, claim_id, payment.payment_id)
        await change_contact_data(work, claim_id, {"email": "erika@example.org"})
    await harness.run()
    await bounce(harness)
    await harness.run()
    assert len(harness.channels[1].sent) == 1
    assert await next_step_at(harness) == clock.now() + 7 * DAY
