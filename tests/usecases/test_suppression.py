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
    load_suppressed,
    load_suppressions,
    suppress,
)
from dunwell.contact.sending.channel import Permanent
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, sent_by, three_channels
from tests.support.guards import a_guarded_house, contact_days
from tests.support.house import House

EMAIL, NUMBER = "erika@example.org", REACHABLE["mobileNumber"]
HOME = "Heidestraße 17, 51147 Köln"
_CONTACTS = """
SELECT channel, state, failure FROM communications WHERE merchant_id = $1 ORDER BY place
"""


async def stop(house: House, channel: Channel, address: str) -> bool:
    async with house.work() as work:
        return await suppress(work, house.resources.keys, channel, address, "DEBTOR")


async def lift(house: House, channel: Channel, address: str) -> None:
    async with house.work() as work:
        await lift_suppression(work, house.resources.keys, channel, address)


async def contacts(house: House) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await house.rows(_CONTACTS)]


async def a_three_channel_house(resources: Resources, clock: MovableClock, **given: Any) -> House:
    channels = given.pop("channels", None) or three_channels()
    return await a_guarded_house(
        resources, clock, fallbacks=["SMS", "LETTER"], channels=channels, **given
    )


async def test_the_list_shows_who_suppressed_what_with_masked_addresses(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_three_channel_house(resources, clock)
    assert await stop(house, "EMAIL", " Erika@Example.org ")
    assert not await stop(house, "EMAIL", EMAIL)
    assert await stop(house, "SMS", "+49 151 12345678")
    assert await stop(house, "LETTER", HOME)
    async with house.work() as work:
        listed = await load_suppressions(work.tx, work.merchant_id)
    by = (clock.now(), "CREDENTIAL", "erp")
    assert listed == [
        SuppressionEntry("EMAIL", "E***@Example.org", "DEBTOR", *by),
        SuppressionEntry("LETTER", "H***, 51147 Köln", "DEBTOR", *by),
        SuppressionEntry("SMS", "+49***678", "DEBTOR", *by),
    ]
    audit = await house.rows(
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
    house = await a_three_channel_house(resources, clock)
    with pytest.raises(ValidationError):
        await stop(house, channel, address)
    with pytest.raises(ValidationError):
        await lift(house, channel, address)
    assert await house.rows("SELECT FROM suppressions WHERE merchant_id = $1") == []


async def test_only_a_suppressed_address_can_be_lifted_and_is_contacted_again(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_three_channel_house(resources, clock)
    with pytest.raises(NotFound):
        await lift(house, "EMAIL", EMAIL)
    await stop(house, "EMAIL", EMAIL)
    with pytest.raises(NotFound):
        await lift(house, "EMAIL", "other@example.org")
    await lift(house, "EMAIL", EMAIL.upper())
    await house.create(**REACHABLE)
    await house.run()
    assert await sent_by(house) == {"EMAIL": 1}


async def test_suppressions_apply_to_one_merchant(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_three_channel_house(resources, clock)
    other = await a_three_channel_house(resources, clock, key="hansen")
    await stop(other, "EMAIL", EMAIL)
    asked: list[tuple[Channel, str]] = [("EMAIL", EMAIL), ("SMS", NUMBER)]
    for each, found in ((house, set()), (other, {("EMAIL", EMAIL)})):
        async with each.work() as work:
            assert found == await load_suppressed(work.tx, resources.keys, work.merchant_id, asked)
    await house.create(**REACHABLE)
    await house.run()
    assert await sent_by(house) == {"EMAIL": 1}


async def test_a_suppressed_address_is_skipped_when_the_contact_is_planned(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_three_channel_house(resources, clock)
    await stop(house, "EMAIL", EMAIL)
    await stop(house, "SMS", NUMBER)
    await house.create(**REACHABLE)
    await house.run()
    assert await contacts(house) == [("LETTER", "ACCEPTED", None)]


async def test_nobody_is_reachable_when_every_address_is_suppressed(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_three_channel_house(resources, clock)
    await stop(house, "EMAIL", EMAIL)
    await stop(house, "SMS", NUMBER)
    await stop(house, "LETTER", "HEIDESTRASSE 17,51147 Köln")
    await house.create(**REACHABLE)
    await house.run()
    history = await house.rows(
        "SELECT outcome, reason FROM step_history WHERE merchant_id = $1 AND step_id = 1"
    )
    assert [tuple(row) for row in history] == [("FAILED", "NOBODY_REACHABLE")]
    assert await contacts(house) == []


async def test_a_suppressed_address_is_skipped_by_a_fallback(
    resources: Resources, clock: MovableClock
) -> None:
    channels = three_channels()
    channels[0].answers = [Permanent("mailbox unknown")]
    house = await a_three_channel_house(resources, clock, channels=channels)
    await stop(house, "SMS", NUMBER)
    await house.create(**REACHABLE)
    await house.run()
    assert await contacts(house) == [
        ("EMAIL", "FAILED", "mailbox unknown"), ("LETTER", "ACCEPTED", None),
    ]  # fmt: skip


async def test_a_suppressed_address_is_skipped_after_a_late_failure(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_three_channel_house(resources, clock)
    await house.create(**REACHABLE)
    await house.run()
    await stop(house, "SMS", NUMBER)
    [message] = house.channels[0].sent
    async with house.work(SYSTEM) as work:
        await report_failure(work, resources.keys, message.communication_id, "bounced")
    await house.run()
    assert await sent_by(house) == {"EMAIL": 1, "LETTER": 1}


async def test_an_address_suppressed_after_planning_is_refused_at_sending(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_three_channel_house(resources, clock)
    await house.create(**REACHABLE)
    await Engine(resources).run_once()
    await stop(house, "EMAIL", EMAIL)
    await house.run()
    assert await contacts(house) == [
        ("EMAIL", "FAILED", "suppressed"), ("SMS", "ACCEPTED", None),
    ]  # fmt: skip
    # Only sent messages count: the SMS was sent on the same day.
    assert await contact_days(house) == [[clock.now().date()]] * 2
    assert await sent_by(house) == {"SMS": 1}
