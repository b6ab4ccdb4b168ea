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
from tests.support.guards import a_guarded_house, held_contacts
from tests.support.house import ERP, House
from tests.support.telling import a_writer, tell

ERIKA = "erika@example.org"
DAY = timedelta(days=1)
OTHERS = {
    "the same e-mail in capitals": {"email": ERIKA.upper()},
    "the same customer": {"email": "new@example.org", "customerNumber": "K-7"},
    "the same number": {"email": "new@example.org", "mobileNumber": "+4915112345678"},
}


async def a_house(resources: Resources, clock: MovableClock) -> tuple[House, int]:
    """Return a house with a claim whose debtor is reported dead before anything was sent."""
    house = await a_guarded_house(resources, clock)
    [claim_id] = await house.create(
        "A", email=ERIKA, customerNumber="K-7", mobileNumber="+4915112345678"
    )
    return house, claim_id


def sent_to(house: House, claim_id: int) -> int:
    return sum(each.claim_id == claim_id for each in house.channels[0].sent)


@pytest.mark.parametrize("debtor", OTHERS.values(), ids=list(OTHERS))
async def test_a_reported_death_stops_contacts_about_all_claims_until_a_clerk_decides(
    resources: Resources, clock: MovableClock, debtor: dict[str, str]
) -> None:
    house, claim_id = await a_house(resources, clock)
    said = await dispute(house, claim_id, "PERSON_DIED")
    [later] = await house.create("B", **debtor)
    [stranger] = await house.create("C", email="max@example.org")

    await house.run_until(clock.now() + 9 * DAY)

    assert (sent_to(house, claim_id), sent_to(house, later), sent_to(house, stranger)) == (0, 0, 1)
    assert [held for held, _ in await held_contacts(house)] == ["PERSON_DIED"]
    async with house.work(ERP) as work:
        await confirm_right_person(work, claim_id, said.dispute_id)
    await house.run_until(clock.now() + 9 * DAY)
    assert sent_to(house, later) == 1


async def test_an_accepted_death_report_stops_contact_and_a_withdrawn_one_does_not(
    resources: Resources, clock: MovableClock
) -> None:
    house, claim_id = await a_house(resources, clock)
    said = await dispute(house, claim_id, "PERSON_DIED")
    await answer(house, said, ACCEPTED, end_claim=False)
    await house.run_until(clock.now() + 9 * DAY)
    assert sent_to(house, claim_id) == 0

    [other] = await house.create("B", email="max@example.org")
    taken_back = await dispute(house, other, "PERSON_DIED")
    await withdraw(house, taken_back)
    await house.run()
    assert sent_to(house, other) == 1


async def test_a_contact_stop_holds_notices_and_does_not_affect_other_merchants(
    resources: Resources, clock: MovableClock
) -> None:
    house, claim_id = await a_house(resources, clock)
    [second] = await house.create("B", email=ERIKA)
    await dispute(house, claim_id, "PERSON_DIED")
    async with house.work() as work:
        facts = DisputeReceivedFacts("B", "7K3M-9QXA", date(2026, 3, 20))
        await notify_debtor(work, second, "one", facts)
    await tell(house)
    assert house.channels[0].sent == []
    assert await house.rows("SELECT FROM debtor_notices WHERE merchant_id = $1") == []

    elsewhere = await a_guarded_house(resources, clock, key="elsewhere")
    [other] = await elsewhere.create("A", email=ERIKA)
    await elsewhere.run()
    assert sent_to(elsewhere, other) == 1
    async with house.work() as work:
        key, foreign = house.merchant.merchant_id, elsewhere.merchant.merchant_id
        asked = [(key, claim_id), (key, second), (foreign, other)]
        stopped = await list_stopped_claims(work.tx, resources.keys, asked)
    assert stopped == {(key, claim_id), (key, second)}


async def test_a_notice_planned_before_the_contact_stop_is_not_sent(
    resources: Resources, clock: MovableClock
) -> None:
    house, claim_id = await a_house(resources, clock)
    await dispute(house, claim_id, "AMOUNT_WRONG", "ten too much")
    assert await send_due_occasions(resources, a_writer(house)) == 1
    await dispute(house, claim_id, "PERSON_DIED")
    await tell(house)
    assert house.channels[0].sent == []


async def test_a_stopped_contact_is_checked_again_and_sent_after_a_day(
    resources: Resources, clock: MovableClock
) -> None:
    house, claim_id = await a_house(resources, clock)
    [later] = await house.create("B", email=ERIKA)
    said = await dispute(house, claim_id, "PERSON_DIED")
    await house.run()
    stopped_at = clock.now()
    async with house.work(ERP) as work:
        await confirm_right_person(work, claim_id, said.dispute_id)

    await house.run_until(stopped_at + DAY - timedelta(minutes=1))
    assert sent_to(house, later) == 0
    await house.run_until(stopped_at + DAY)
    assert sent_to(house, later) == 1
