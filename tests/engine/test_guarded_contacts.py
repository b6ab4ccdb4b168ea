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
from tests.support.guards import a_guarded_harness, contact_days, guarded, held_contacts
from tests.support.harness import Harness, ScriptedChannel

DAY = timedelta(days=1)
ERIKA = "erika@example.org"
# A Monday, 10:00 in Berlin.
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
OPENING = datetime(2026, 3, 3, 8, 0, tzinfo=UTC)


def sent(harness: Harness, channel: int = 0) -> int:
    return len(harness.channels[channel].sent)


async def test_a_person_is_contacted_once_a_day_across_claims_and_the_rest_follows_later(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    claims = await harness.create("A", "B", "C", "D", email=ERIKA)
    await harness.run()
    assert sent(harness) == 1
    assert await held_contacts(harness) == [("GUARD_DAY", OPENING)] * 3
    # Sent on Monday, Tuesday and Wednesday; the fourth contact only on the next Monday.
    await harness.run_until(START + 3 * DAY)
    assert sent(harness) == 3
    assert await held_contacts(harness) == [("GUARD_WEEK", OPENING + 6 * DAY)]
    await harness.run_until(START + 20 * DAY)
    assert sorted(message.claim_id for message in harness.channels[0].sent) == claims
    assert await contact_days(harness) == [[START.date() + n * DAY for n in (0, 1, 2, 7)]]


async def test_held_contacts_are_sent_in_the_order_of_planning(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    first = await harness.create("A", email=ERIKA)
    await harness.run()
    clock.advance(timedelta(hours=1))
    second = await harness.create("B", email=ERIKA)
    await harness.run()
    clock.advance(timedelta(hours=1))
    third = await harness.create("C", email=ERIKA)
    await harness.run_until(START + 2 * DAY)
    assert [message.claim_id for message in harness.channels[0].sent] == [*first, *second, *third]


async def test_a_shared_mobile_or_customer_number_identifies_one_person(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    await harness.create("A", email=ERIKA, customerNumber="K-1")
    await harness.create(
        "B", email="e.m@work.example", customerNumber=" k-1", mobileNumber="+4930123456"
    )
    await harness.create("C", email="third@example.org", mobileNumber="+4930123456")
    await harness.create("D", email="ERIKA@Example.org")
    await harness.create("E", email="other@example.org")
    await harness.run()
    # B shares a customer number with A and is held, so it does not count against C.
    assert {message.recipient for message in harness.channels[0].sent} == {
        ERIKA, "third@example.org", "other@example.org",
    }  # fmt: skip


async def test_a_debtor_with_only_a_postal_address_is_counted_per_claim(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock, channel="LETTER", channels=three_channels())
    await harness.create("A", "B", email=None, address=ADDRESS)
    await harness.run()
    assert sent(harness, 2) == 2
    assert await contact_days(harness) == [[START.date()]] * 2


async def test_two_merchants_do_not_count_each_others_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    harnesses = [
        await a_guarded_harness(resources, clock, key=key, channels=[ScriptedChannel()])
        for key in ("nordwind", "hansen")
    ]
    for harness in harnesses:
        await harness.create(email=ERIKA)
    await harnesses[0].run()
    await harnesses[1].run()
    digests = [
        {row["identity_digest"] for row in await harness.rows(
            "SELECT identity_digest FROM contact_guards WHERE merchant_id = $1")}
        for harness in harnesses
    ]  # fmt: skip
    assert len(digests[0]) == 1
    assert digests[0].isdisjoint(digests[1])
    states = "SELECT state FROM communications WHERE merchant_id = $1"
    assert [[r["state"] for r in await h.rows(states)] for h in harnesses] == [["ACCEPTED"]] * 2


@pytest.mark.parametrize("answer", [Temporary(60), Permanent("no such number")])
async def test_a_contact_that_was_not_sent_does_not_count_for_the_day(
    resources: Resources, clock: MovableClock, answer: Temporary | Permanent
) -> None:
    channels = three_channels()
    channels[0].answers = [answer]
    harness = await a_guarded_harness(resources, clock, fallbacks=["SMS"], channels=channels)
    await harness.create(mobileNumber="+4930123456")
    await harness.run()
    clock.advance(timedelta(seconds=60))
    await harness.run()
    again = isinstance(answer, Temporary)
    assert [sent(harness, 0), sent(harness, 1)] == ([2, 0] if again else [1, 1])
    assert await contact_days(harness) == [[START.date()]] * 2


async def test_releasing_a_contact_day_twice_releases_it_once(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock, Guards(max_contacts_per_day=2))
    await harness.create("A", "B", email=ERIKA)
    await harness.run()
    assert await contact_days(harness) == [[START.date()] * 2]
    ids = await harness.rows("SELECT communication_id FROM communications WHERE merchant_id = $1")
    for _ in range(2):
        async with harness.work() as work:
            await free_contact_days(work.tx, work.merchant_id, [ids[0]["communication_id"]])
    assert await contact_days(harness) == [[START.date()]]


async def test_quiet_hours_hold_back_immediate_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    clock.move_to(datetime(2026, 3, 2, 21, 0, tzinfo=UTC))
    guards = Guards(quiet_hours=QuietHours("21:00", "08:00"))
    harness = await a_guarded_harness(resources, clock, guards, send="IMMEDIATE")
    await harness.create()
    await harness.run()
    morning = datetime(2026, 3, 3, 7, 0, tzinfo=UTC)
    assert sent(harness) == 0
    assert await held_contacts(harness) == [("QUIET_HOURS", morning)]
    clock.move_to(morning)
    await harness.run()
    assert sent(harness) == 1
    rows = await harness.rows("SELECT held_by FROM communications WHERE merchant_id = $1")
    assert [row["held_by"] for row in rows] == [None]


async def test_a_contact_planned_in_time_and_sent_late_waits_for_contact_hours(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    await harness.create()
    await Engine(resources).run_once()
    clock.move_to(datetime(2026, 3, 2, 17, 0, tzinfo=UTC))
    await harness.run()
    assert sent(harness) == 0
    assert await held_contacts(harness) == [("CONTACT_HOURS", OPENING)]
    await harness.run_until(OPENING)
    assert sent(harness) == 1


async def test_a_held_contact_of_a_claim_that_is_paid_is_never_sent(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    _, second = await harness.create("A", "B", email=ERIKA)
    await harness.run()
    await harness.pay(second, 10240)
    await harness.run_until(START + 3 * DAY)
    assert sent(harness) == 1
    rows = await harness.rows("SELECT state, held_by FROM communications WHERE merchant_id = $1")
    assert sorted((row["state"], row["held_by"]) for row in rows) == [
        ("ACCEPTED", None), ("CANCELLED", None),
    ]  # fmt: skip


async def test_lowered_limits_apply_from_then_on(resources: Resources, clock: MovableClock) -> None:
    harness = await a_guarded_harness(resources, clock, Guards(3, 3))
    await harness.create("A", "B", "C", email=ERIKA)
    await harness.run()
    assert sent(harness) == 3
    async with harness.work() as work:
        await change_configuration(work, work.merchant.name, guarded(Guards(1, 4)))
    await harness.create("D", "E", email=ERIKA)
    clock.advance(DAY)
    await harness.run()
    assert sent(harness) == 4
    assert [held for held, _ in await held_contacts(harness)] == ["GUARD_WEEK"]


async def test_a_held_message_shows_the_amount_at_the_time_of_sending(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_guarded_harness(resources, clock)
    _, second = await harness.create("A", "B", email=ERIKA)
    await harness.run()
    await harness.pay(second, 240)
    clock.advance(DAY)
    await harness.run()
    [_, late] = harness.channels[0].sent
    assert late.claim_id == second
    assert "100,00" in late.body_text
