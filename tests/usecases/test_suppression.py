"""Suppressed addresses: digests, not contacted at planning, at fallbacks or at sending."""

from typing import Any

import pytest

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.contact.messages.suppression import (
    SuppressionEntry,
    lift_suppression,
    list_all_suppressions,
    load_suppressed_addresses,
    suppress,
)
from dunwell.contact.sending.channel import Permanent
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, sent_by, three_channels
from tests.support.guards import a_guarded_harness, contact_days
from tests.support.harness import Harness

EMAIL, NUMBER = "erika@example.org", REACHABLE["mobileNumber"]
HOME = "Heidestraße 17, 51147 Köln"
_CONTACTS = """
SELECT channel, state, failure FROM communications WHERE merchant_id = $1 ORDER BY place
"""


async def add_suppression(harness: Harness, channel: Channel, address: str) -> bool:
    async with harness.work() as work:
        return await suppress(work, harness.resources.keys, channel, address, "DEBTOR")


async def remove_suppression(harness: Harness, channel: Channel, address: str) -> None:
    async with harness.work() as work:
        await lift_suppression(work, harness.resources.keys, channel, address)


async def contacts(harness: Harness) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await harness.rows(_CONTACTS)]


async def a_three_channel_harness(
    resources: Resources, clock: MovableClock, **given: Any
) -> Harness:
    channels = given.pop("channels", None) or three_channels()
    return await a_guarded_harness(
        resources, clock, fallbacks=["SMS", "LETTER"], channels=channels, **given
    )


async def test_the_list_shows_who_suppressed_what_with_masked_addresses(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    assert await add_suppression(harness, "EMAIL", " Erika@Example.org ")
    assert not await add_suppression(harness, "EMAIL", EMAIL)
    assert await add_suppression(harness, "SMS", "+49 151 12345678")
    assert await add_suppression(harness, "LETTER", HOME)
    async with harness.work() as work:
        listed = await list_all_suppressions(work.tx, work.merchant_id)
    by = (clock.now(), "CREDENTIAL", "erp")
    assert listed == [
        SuppressionEntry("EMAIL", "E***@Example.org", "DEBTOR", *by),
        SuppressionEntry("LETTER", "H***, 51147 Köln", "DEBTOR", *by),
        SuppressionEntry("SMS", "+49***678", "DEBTOR", *by),
    ]
    audit = await harness.rows(
        "SELECT count(*) FROM audit_log WHERE merchant_id = $1 AND action = 'address.suppress'"
    )
    assert audit[0]["count"] == 3


@pytest.mark.parametrize(
    ("channel", "address"),
    [("EMAIL", "erika"), ("SMS", "0151 123"), ("LETTER", "Köln"), ("EMAIL", ""), ("SMS", "")],
)
async def test_an_invalid_address_is_refused(
    resources: Resources, clock: MovableClock, channel: Channel, address: str
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    with pytest.raises(ValidationError):
        await add_suppression(harness, channel, address)
    with pytest.raises(ValidationError):
        await remove_suppression(harness, channel, address)
    assert await harness.rows("SELECT FROM suppressions WHERE merchant_id = $1") == []


async def test_only_a_suppressed_address_can_be_lifted_and_is_contacted_again(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    with pytest.raises(NotFound):
        await remove_suppression(harness, "EMAIL", EMAIL)
    await add_suppression(harness, "EMAIL", EMAIL)
    with pytest.raises(NotFound):
        await remove_suppression(harness, "EMAIL", "other@example.org")
    await remove_suppression(harness, "EMAIL", EMAIL.upper())
    await harness.create(**REACHABLE)
    await harness.run()
    assert await sent_by(harness) == {"EMAIL": 1}


async def test_suppressions_apply_to_one_merchant(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    other = await a_three_channel_harness(resources, clock, key="hansen")
    await add_suppression(other, "EMAIL", EMAIL)
    asked: list[tuple[Channel, str]] = [("EMAIL", EMAIL), ("SMS", NUMBER)]
    for each, found in ((harness, set()), (other, {("EMAIL", EMAIL)})):
        async with each.work() as work:
            assert found == await load_suppressed_addresses(
                work.tx, resources.keys, work.merchant_id, asked
            )
    await harness.create(**REACHABLE)
    await harness.run()
    assert await sent_by(harness) == {"EMAIL": 1}


async def test_a_suppressed_address_is_skipped_when_the_contact_is_planned(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    await add_suppression(harness, "EMAIL", EMAIL)
    await add_suppression(harness, "SMS", NUMBER)
    await harness.create(**REACHABLE)
    await harness.run()
    assert await contacts(harness) == [("LETTER", "ACCEPTED", None)]


async def test_a_debtor_is_unreachable_when_every_address_is_suppressed(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    await add_suppression(harness, "EMAIL", EMAIL)
    await add_suppression(harness, "SMS", NUMBER)
    await add_suppression(harness, "LETTER", "HEIDESTRASSE 17,51147 Köln")
    await harness.create(**REACHABLE)
    await harness.run()
    history = await harness.rows(
        "SELECT outcome, reason FROM step_history WHERE merchant_id = $1 AND step_id = 1"
    )
    assert [tuple(row) for row in history] == [("FAILED", "NOBODY_REACHABLE")]
    assert await contacts(harness) == []


async def test_a_suppressed_address_is_skipped_by_a_fallback(
    resources: Resources, clock: MovableClock
) -> None:
    channels = three_channels()
    channels[0].answers = [Permanent("mailbox unknown")]
    harness = await a_three_channel_harness(resources, clock, channels=channels)
    await add_suppression(harness, "SMS", NUMBER)
    await harness.create(**REACHABLE)
    await harness.run()
    assert await contacts(harness) == [
        ("EMAIL", "FAILED", "mailbox unknown"), ("LETTER", "ACCEPTED", None),
    ]  # fmt: skip


async def test_a_suppressed_address_is_skipped_after_a_late_failure(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    await harness.create(**REACHABLE)
    await harness.run()
    await add_suppression(harness, "SMS", NUMBER)
    [message] = harness.channels[0].sent
    async with harness.work(SYSTEM) as work:
        await report_failure(work, resources.keys, message.communication_id, "bounced")
    await harness.run()
    assert await sent_by(harness) == {"EMAIL": 1, "LETTER": 1}


async def test_an_address_suppressed_after_planning_is_refused_at_sending(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_three_channel_harness(resources, clock)
    await harness.create(**REACHABLE)
    await Engine(resources).run_once()
    await add_suppression(harness, "EMAIL", EMAIL)
    await harness.run()
    assert await contacts(harness) == [
        ("EMAIL", "FAILED", "suppressed"), ("SMS", "ACCEPTED", None),
    ]  # fmt: skip
    # Only sent messages count: the SMS was sent on the same day.
    assert await contact_days(harness) == [[clock.now().date()]] * 2
    assert await sent_by(harness) == {"SMS": 1}
