"""Contact limits, quiet hours and contact hours between planning and sending."""

from datetime import UTC, datetime, timedelta

import pytest

from dunwell.accounts.merchants.configuration import Guards, QuietHours
from dunwell.accounts.merchants.set_up_merchant import change_configuration
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.guards.store import free_contact_days
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.channels import ADDRESS, three_channels
from tests.support.guards import a_guarded_house, contact_days, guarded, held_contacts
from tests.support.house import House, ScriptedChannel

DAY = timedelta(days=1)
ERIKA = "erika@example.org"
# A Monday, 10:00 in Berlin.
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OPENING = datetime(2026, 3, 3, 8, 0, tzinfo=UTC)


def sent(house: House, channel: int = 0) -> int:
    return len(house.channels[channel].sent)


async def test_a_person_is_contacted_once_a_day_across_claims_and_the_rest_follows_later(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock)
    claims = await house.create("A", "B", "C", "D", email=ERIKA)
    await house.run()
    assert sent(house) == 1
    assert await held_contacts(house) == [("GUARD_DAY", OPENING)] * 3
    # Sent on Monday, Tuesday and Wednesday; the fourth contact only on the next Monday.
    await house.run_until(START + 3 * DAY)
    assert sent(house) == 3
    assert await held_contacts(house) == [("GUARD_WEEK", OPENING + 6 * DAY)]
    await house.run_until(START + 20 * DAY)
    assert sorted(message.claim_id for message in house.channels[0].sent) == claims
    assert await contact_days(house) == [[START.date() + n * DAY for n in (0, 1, 2, 7)]]


async def test_held_contacts_are_sent_in_the_order_of_planning(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock)
    first = await house.create("A", email=ERIKA)
    await house.run()
    clock.advance(timedelta(hours=1))
    second = await house.create("B", email=ERIKA)
    await house.run()
    clock.advance(timedelta(hours=1))
    third = await house.create("C", email=ERIKA)
    await house.run_until(START + 2 * DAY)
    assert [message.claim_id for message in house.channels[0].sent] == [*first, *second, *third]


async def test_a_shared_mobile_or_customer_number_identifies_one_person(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock)
    await house.create("A", email=ERIKA, customerNumber="K-1")
    await house.create(
        "B", email="e.m@work.example", customerNumber=" k-1", mobileNumber="+4930123456"
    )
    await house.create("C", email="third@example.org", mobileNumber="+4930123456")
    await house.create("D", email="ERIKA@Example.org")
    await house.create("E", email="other@example.org")
    await house.run()
    # B shares a customer number with A and is held, so it does not count against C.
    assert {message.recipient for message in house.channels[0].sent} == {
        ERIKA, "third@example.org", "other@example.org",
    }  # fmt: skip


async def test_a_debtor_with_only_a_postal_address_is_counted_per_claim(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock, channel="LETTER", channels=three_channels())
    await house.create("A", "B", email=None, address=ADDRESS)
    await house.run()
    assert sent(house, 2) == 2
    assert await contact_days(house) == [[START.date()]] * 2


async def test_two_merchants_do_not_count_each_others_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    houses = [
        await a_guarded_house(resources, clock, key=key, channels=[ScriptedChannel()])
        for key in ("nordwind", "hansen")
    ]
    for house in houses:
        await house.create(email=ERIKA)
    await houses[0].run()
    await houses[1].run()
    digests = [
        {row["identity_digest"] for row in await house.rows(
            "SELECT identity_digest FROM contact_guards WHERE merchant_id = $1")}
        for house in houses
    ]  # fmt: skip
    assert len(digests[0]) == 1
    assert digests[0].isdisjoint(digests[1])
    states = "SELECT state FROM communications WHERE merchant_id = $1"
    assert [[r["state"] for r in await h.rows(states)] for h in houses] == [["ACCEPTED"]] * 2


@pytest.mark.parametrize("answer", [Temporary(60), Permanent("no such number")])
async def test_a_contact_that_was_not_sent_does_not_count_for_the_day(
    resources: Resources, clock: MovableClock, answer: Temporary | Permanent
) -> None:
    channels = three_channels()
    channels[0].answers = [answer]
    house = await a_guarded_house(resources, clock, fallbacks=["SMS"], channels=channels)
    await house.create(mobileNumber="+4930123456")
    await house.run()
    clock.advance(timedelta(seconds=60))
    await house.run()
    again = isinstance(answer, Temporary)
    assert [sent(house, 0), sent(house, 1)] == ([2, 0] if again else [1, 1])
    assert await contact_days(house) == [[START.date()]] * 2


async def test_releasing_a_contact_day_twice_releases_it_once(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock, Guards(max_contacts_per_day=2))
    await house.create("A", "B", email=ERIKA)
    await house.run()
    assert await contact_days(house) == [[START.date()] * 2]
    ids = await house.rows("SELECT communication_id FROM communications WHERE merchant_id = $1")
    for _ in range(2):
        async with house.work() as work:
            await free_contact_days(work.tx, work.merchant_id, [ids[0]["communication_id"]])
    assert await contact_days(house) == [[START.date()]]


async def test_quiet_hours_hold_back_immediate_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    clock.move_to(datetime(2026, 3, 2, 21, 0, tzinfo=UTC))
    guards = Guards(quiet_hours=QuietHours("21:00", "08:00"))
    house = await a_guarded_house(resources, clock, guards, send="IMMEDIATE")
    await house.create()
    await house.run()
    morning = datetime(2026, 3, 3, 7, 0, tzinfo=UTC)
    assert sent(house) == 0
    assert await held_contacts(house) == [("QUIET_HOURS", morning)]
    clock.move_to(morning)
    await house.run()
    assert sent(house) == 1
    rows = await house.rows("SELECT held_by FROM communications WHERE merchant_id = $1")
    assert [row["held_by"] for row in rows] == [None]


async def test_a_contact_planned_in_time_and_sent_late_waits_for_contact_hours(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock)
    await house.create()
    await Engine(resources).run_once()
    clock.move_to(datetime(2026, 3, 2, 17, 0, tzinfo=UTC))
    await house.run()
    assert sent(house) == 0
    assert await held_contacts(house) == [("CONTACT_HOURS", OPENING)]
    await house.run_until(OPENING)
    assert sent(house) == 1


async def test_a_held_contact_of_a_claim_that_is_paid_is_never_sent(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock)
    _, second = await house.create("A", "B", email=ERIKA)
    await house.run()
    await house.pay(second, 10240)
    await house.run_until(START + 3 * DAY)
    assert sent(house) == 1
    rows = await house.rows("SELECT state, held_by FROM communications WHERE merchant_id = $1")
    assert sorted((row["state"], row["held_by"]) for row in rows) == [
        ("ACCEPTED", None), ("CANCELLED", None),
    ]  # fmt: skip


async def test_lowered_limits_apply_from_then_on(resources: Resources, clock: MovableClock) -> None:
    house = await a_guarded_house(resources, clock, Guards(3, 3))
    await house.create("A", "B", "C", email=ERIKA)
    await house.run()
    assert sent(house) == 3
    async with house.work() as work:
        await change_configuration(work, work.merchant.name, guarded(Guards(1, 4)))
    await house.create("D", "E", email=ERIKA)
    clock.advance(DAY)
    await house.run()
    assert sent(house) == 4
    assert [held for held, _ in await held_contacts(house)] == ["GUARD_WEEK"]


async def test_a_held_message_shows_the_amount_at_the_time_of_sending(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_guarded_house(resources, clock)
    _, second = await house.create("A", "B", email=ERIKA)
    await house.run()
    await house.pay(second, 240)
    clock.advance(DAY)
    await house.run()
    [_, late] = house.channels[0].sent
    assert late.claim_id == second
    assert "100,00" in late.body_text
