"""After a death is reported, the person is not contacted about any claim of the merchant until a
clerk decides."""

from datetime import date, timedelta

import pytest

from dunwell.cases.disputes.answer_dispute import confirm_right_person
from dunwell.contact.messages.suppression import list_stopped_claims
from dunwell.contact.notices.occasions.facts import DisputeReceivedFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import ACCEPTED, answer, dispute, withdraw
from tests.support.guards import a_guarded_harness, held_contacts
from tests.support.harness import ERP, Harness
from tests.support.notice_sending import a_notice_writer, send_due_notices

ERIKA = "erika@example.org"
DAY = timedelta(days=1)
OTHERS = {
    "the same e-mail in capitals": {"email": ERIKA.upper()},
    "the same customer": {"email": "new@example.org", "customerNumber": "K-7"},
    "the same number": {"email": "new@example.org", "mobileNumber": "+4915112345678"},
}


async def a_harness(resources: Resources, clock: MovableClock) -> tuple[Harness, int]:
    """Return a harness with a claim whose debtor is reported dead before anything was sent."""
    harness = await a_guarded_harness(resources, clock)
    [claim_id] = await harness.create(
        "A", email=ERIKA, customerNumber="K-7", mobileNumber="+4915112345678"
    )
    return harness, claim_id


def sent_to(harness: Harness, claim_id: int) -> int:
    return sum(each.claim_id == claim_id for each in harness.channels[0].sent)


@pytest.mark.parametrize("debtor", OTHERS.values(), ids=list(OTHERS))
async def test_a_reported_death_stops_contacts_about_all_claims_until_a_clerk_decides(
    resources: Resources, clock: MovableClock, debtor: dict[str, str]
) -> None:
    harness, claim_id = await a_harness(resources, clock)
    dispute_of_death = await dispute(harness, claim_id, "PERSON_DIED")
    [later] = await harness.create("B", **debtor)
    [stranger] = await harness.create("C", email="max@example.org")

    await harness.run_until(clock.now() + 9 * DAY)

    assert (sent_to(harness, claim_id), sent_to(harness, later), sent_to(harness, stranger)) == (
        0,
        0,
        1,
    )
    assert [held for held, _ in await held_contacts(harness)] == ["PERSON_DIED"]
    async with harness.work(ERP) as work:
        await confirm_right_person(work, claim_id, dispute_of_death.dispute_id)
    await harness.run_until(clock.now() + 9 * DAY)
    assert sent_to(harness, later) == 1


async def test_an_accepted_death_report_stops_contact_and_a_withdrawn_one_does_not(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await a_harness(resources, clock)
    dispute_of_death = await dispute(harness, claim_id, "PERSON_DIED")
    await answer(harness, dispute_of_death, ACCEPTED, end_claim=False)
    await harness.run_until(clock.now() + 9 * DAY)
    assert sent_to(harness, claim_id) == 0

    [other] = await harness.create("B", email="max@example.org")
    taken_back = await dispute(harness, other, "PERSON_DIED")
    await withdraw(harness, taken_back)
    await harness.run()
    assert sent_to(harness, other) == 1


async def test_a_contact_stop_holds_notices_and_does_not_affect_other_merchants(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await a_harness(resources, clock)
    [second] = await harness.create("B", email=ERIKA)
    await dispute(harness, claim_id, "PERSON_DIED")
    async with harness.work() as work:
        facts = DisputeReceivedFacts("B", "7K3M-9QXA", date(2026, 3, 20))
        await notify_debtor(work, second, "one", facts)
    await send_due_notices(harness)
    assert harness.channels[0].sent == []
    assert await harness.rows("SELECT FROM debtor_notices WHERE merchant_id = $1") == []

    elsewhere = await a_guarded_harness(resources, clock, key="elsewhere")
    [other] = await elsewhere.create("A", email=ERIKA)
    await elsewhere.run()
    assert sent_to(elsewhere, other) == 1
    async with harness.work() as work:
        key, foreign = harness.merchant.merchant_id, elsewhere.merchant.merchant_id
        asked = [(key, claim_id), (key, second), (foreign, other)]
        stopped = await list_stopped_claims(work.tx, resources.keys, asked)
    assert stopped == {(key, claim_id), (key, second)}


async def test_a_notice_planned_before_the_contact_stop_is_not_sent(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await a_harness(resources, clock)
    await dispute(harness, claim_id, "AMOUNT_WRONG", "ten too much")
    assert await send_due_occasions(resources, a_notice_writer(harness)) == 1
    await dispute(harness, claim_id, "PERSON_DIED")
    await send_due_notices(harness)
    assert harness.channels[0].sent == []


async def test_a_stopped_contact_is_checked_again_and_sent_after_a_day(
    resources: Resources, clock: MovableClock
) -> None:
    harness, claim_id = await a_harness(resources, clock)
    [later] = await harness.create("B", email=ERIKA)
    dispute_of_death = await dispute(harness, claim_id, "PERSON_DIED")
    await harness.run()
    stopped_at = clock.now()
    async with harness.work(ERP) as work:
        await confirm_right_person(work, claim_id, dispute_of_death.dispute_id)

    await harness.run_until(stopped_at + DAY - timedelta(minutes=1))
    assert sent_to(harness, later) == 0
    await harness.run_until(stopped_at + DAY)
    assert sent_to(harness, later) == 1
