"""Items and fees that are added and deleted after a claim was created."""

from datetime import date
from uuid import uuid4

import pytest

from dunwell.cases.payments.change_items import (
    ItemAddition,
    ItemDeletion,
    NewItem,
    add_fee,
    add_item,
    delete_item,
)
from dunwell.cases.payments.reverse_payment import reverse_payment
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.house import House, a_house

_SURPLUS = """
INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency, transaction_id,
                      paid_at, recorded_at)
VALUES ($1, $2, $3, $4, 'EUR', 'tx-x', now(), now())
RETURNING payment_id
"""


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock, a_definition())


async def add(house: House, claim_id: int, cents: int = 500) -> ItemAddition:
    async with house.work() as work:
        return await add_item(work, claim_id, NewItem("PRIMARY", cents, "INV-2"))


async def fee(house: House, claim_id: int, item_id: int | None = None) -> ItemAddition:
    async with house.work() as work:
        return await add_fee(work, claim_id, NewItem("COLLECTION_FEE", 250, fee_of=item_id))


async def delete(house: House, claim_id: int, item_id: int) -> ItemDeletion:
    async with house.work() as work:
        return await delete_item(work, claim_id, item_id)


async def first_item(house: House, claim_id: int) -> int:
    return (await house.read(claim_id)).items[0].item_id


async def test_a_new_item_increases_the_outstanding_amount(house: House) -> None:
    [claim_id] = await house.create()
    added = await add(house, claim_id)
    claim = await house.read(claim_id)
    assert claim.items[1] == added.item
    assert (claim.balance, claim.status) == (added.balance, added.status)
    assert (added.balance.outstanding_cents, added.status) == (10740, Status.CREATED)
    assert [each.position for each in claim.items] == [0, 1]


async def test_a_fee_has_the_current_date_and_raises_no_event(house: House) -> None:
    [claim_id] = await house.create()
    item_id = await first_item(house, claim_id)
    added = await fee(house, claim_id, item_id)
    assert (added.item.item_on, added.item.fee_of) == (date(2026, 3, 2), item_id)
    assert (await house.read(claim_id)).items[1] == added.item
    assert await house.events(claim_id) == []


async def test_a_fee_for_an_item_of_another_claim_is_refused(house: House) -> None:
    claim_id, other_id = await house.create("A-1", "A-2")
    with pytest.raises(ValidationError):
        await fee(house, claim_id, await first_item(house, other_id))
    assert len((await house.read(claim_id)).items) == 1


async def test_an_item_is_deleted_with_its_fees(house: House) -> None:
    [claim_id] = await house.create()
    item_id = (await add(house, claim_id)).item.item_id
    fees = [(await fee(house, claim_id, item_id)).item.item_id for _ in range(2)]
    kept = (await fee(house, claim_id)).item.item_id
    deleted = await delete(house, claim_id, item_id)
    assert [each.item_id for each in deleted.items] == [item_id, *fees]
    claim = await house.read(claim_id)
    assert [each.item_id for each in claim.items[1:]] == [kept]
    assert (deleted.balance, claim.balance.outstanding_cents) == (claim.balance, 10490)
    with pytest.raises(NotFound):
        await delete(house, claim_id, item_id)


async def test_an_item_with_a_payment_cannot_be_deleted(house: House) -> None:
    [claim_id] = await house.create()
    item_id = (await add(house, claim_id)).item.item_id
    fee_id = (await fee(house, claim_id, item_id)).item.item_id
    await house.pay(claim_id, 100)
    before = await house.read(claim_id)
    assert [each.item_id for each in before.items if each.allocated_cents] == [fee_id]
    for paid in (item_id, fee_id):
        with pytest.raises(InvalidState):
            await delete(house, claim_id, paid)
    assert await house.read(claim_id) == before


async def test_the_last_primary_item_cannot_be_deleted(house: House) -> None:
    [claim_id] = await house.create()
    await fee(house, claim_id)
    with pytest.raises(InvalidState):
        await delete(house, claim_id, await first_item(house, claim_id))
    assert len((await house.read(claim_id)).items) == 2


async def test_deleting_the_only_unpaid_item_collects_the_claim(house: House) -> None:
    [claim_id] = await house.create()
    item_id = (await add(house, claim_id)).item.item_id
    await Engine(house.resources).run_once()
    paid = await house.pay(claim_id, 10240)
    assert paid.status is Status.IN_PROCESS
    deleted = await delete(house, claim_id, item_id)
    assert (deleted.status, deleted.balance.outstanding_cents) == (Status.COLLECTED, 0)
    claim = await house.read(claim_id)
    assert (claim.status, claim.next_step_at) == (Status.COLLECTED, None)
    await house.run()
    assert house.channels[0].sent == []
    async with house.work() as work:
        await reverse_payment(work, claim_id, paid.payment.payment_id)
    assert (await house.read(claim_id)).status is Status.IN_PROCESS
    await house.run()
    assert len(house.channels[0].sent) == 1


async def test_an_added_item_is_paid_from_surplus_payments(house: House) -> None:
    [claim_id] = await house.create()
    await house.pay(claim_id, 10240 - 1)
    await house.rows(_SURPLUS, uuid4(), claim_id, 300)
    added = await add(house, claim_id)
    assert (added.balance.outstanding_cents, added.balance.overpaid_cents) == (201, 0)
    assert (await house.read(claim_id)).balance == added.balance


@pytest.mark.parametrize("end", ["collected", "withdrawn"])
async def test_items_of_an_ended_claim_cannot_change(house: House, end: str) -> None:
    [claim_id] = await house.create()
    item_id = (await fee(house, claim_id)).item.item_id
    if end == "collected":
        await house.pay(claim_id, 10490)
    else:
        async with house.work() as work:
            await withdraw_claim(work, claim_id)
    before = await house.read(claim_id)
    for refused in (
        add(house, claim_id), fee(house, claim_id), delete(house, claim_id, item_id)
    ):  # fmt: skip
        with pytest.raises(InvalidState):
            await refused
    assert await house.read(claim_id) == before


async def test_claims_and_items_of_another_merchant_are_not_found(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_house(resources, clock, key="hansen")
    [own], [theirs] = await house.create(), await hansen.create()
    await add(hansen, theirs)
    item_id = await first_item(hansen, theirs)
    for absent in (
        add(house, theirs), fee(house, theirs), delete(house, theirs, item_id),
        delete(house, own, item_id),
    ):  # fmt: skip
        with pytest.raises(NotFound):
            await absent
    assert len((await hansen.read(theirs)).items) == 2
