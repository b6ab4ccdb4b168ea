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
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

_SURPLUS = """
INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency, transaction_id,
                      paid_at, recorded_at)
VALUES ($1, $2, $3, $4, 'EUR', 'tx-x', now(), now())
RETURNING payment_id
"""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def add(harness: Harness, claim_id: int, cents: int = 500) -> ItemAddition:
    async with harness.work() as work:
        return await add_item(work, claim_id, NewItem("PRIMARY", cents, "INV-2"))


async def fee(harness: Harness, claim_id: int, item_id: int | None = None) -> ItemAddition:
    async with harness.work() as work:
        return await add_fee(work, claim_id, NewItem("COLLECTION_FEE", 250, fee_of=item_id))


async def delete(harness: Harness, claim_id: int, item_id: int) -> ItemDeletion:
    async with harness.work() as work:
        return await delete_item(work, claim_id, item_id)


async def first_item(harness: Harness, claim_id: int) -> int:
    return (await harness.read(claim_id)).items[0].item_id


async def test_a_new_item_increases_the_outstanding_amount(harness: Harness) -> None:
    [claim_id] = await harness.create()
    added = await add(harness, claim_id)
    claim = await harness.read(claim_id)
    assert claim.items[1] == added.item
    assert (claim.balance, claim.status) == (added.balance, added.status)
    assert (added.balance.outstanding_cents, added.status) == (10740, Status.CREATED)
    assert [each.position for each in claim.items] == [0, 1]


async def test_a_fee_has_the_current_date_and_raises_no_event(harness: Harness) -> None:
    [claim_id] = await harness.create()
    item_id = await first_item(harness, claim_id)
    added = await fee(harness, claim_id, item_id)
    assert (added.item.item_on, added.item.fee_of) == (date(2026, 3, 2), item_id)
    assert (await harness.read(claim_id)).items[1] == added.item
    assert await harness.events(claim_id) == []


async def test_a_fee_for_an_item_of_another_claim_is_refused(harness: Harness) -> None:
    claim_id, other_id = await harness.create("A-1", "A-2")
    with pytest.raises(ValidationError):
        await fee(harness, claim_id, await first_item(harness, other_id))
    assert len((await harness.read(claim_id)).items) == 1


async def test_an_item_is_deleted_with_its_fees(harness: Harness) -> None:
    [claim_id] = await harness.create()
    item_id = (await add(harness, claim_id)).item.item_id
    fees = [(await fee(harness, claim_id, item_id)).item.item_id for _ in range(2)]
    kept = (await fee(harness, claim_id)).item.item_id
    deleted = await delete(harness, claim_id, item_id)
    assert [each.item_id for each in deleted.items] == [item_id, *fees]
    claim = await harness.read(claim_id)
    assert [each.item_id for each in claim.items[1:]] == [kept]
    assert (deleted.balance, claim.balance.outstanding_cents) == (claim.balance, 10490)
    with pytest.raises(NotFound):
        await delete(harness, claim_id, item_id)


async def test_an_item_with_a_payment_cannot_be_deleted(harness: Harness) -> None:
    [claim_id] = await harness.create()
    item_id = (await add(harness, claim_id)).item.item_id
    fee_id = (await fee(harness, claim_id, item_id)).item.item_id
    await harness.pay(claim_id, 100)
    before = await harness.read(claim_id)
    assert [each.item_id for each in before.items if each.allocated_cents] == [fee_id]
    for paid in (item_id, fee_id):
        with pytest.raises(InvalidState):
            await delete(harness, claim_id, paid)
    assert await harness.read(claim_id) == before


async def test_the_last_primary_item_cannot_be_deleted(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await fee(harness, claim_id)
    with pytest.raises(InvalidState):
        await delete(harness, claim_id, await first_item(harness, claim_id))
    assert len((await harness.read(claim_id)).items) == 2


async def test_deleting_the_only_unpaid_item_collects_the_claim(harness: Harness) -> None:
    [claim_id] = await harness.create()
    item_id = (await add(harness, claim_id)).item.item_id
    await Engine(harness.resources).run_once()
    paid = await harness.pay(claim_id, 10240)
    assert paid.status is Status.IN_PROCESS
    deleted = await delete(harness, claim_id, item_id)
    assert (deleted.status, deleted.balance.outstanding_cents) == (Status.COLLECTED, 0)
    claim = await harness.read(claim_id)
    assert (claim.status, claim.next_step_at) == (Status.COLLECTED, None)
    await harness.run()
    assert harness.channels[0].sent == []
    async with harness.work() as work:
        await reverse_payment(work, claim_id, paid.payment.payment_id)
    assert (await harness.read(claim_id)).status is Status.IN_PROCESS
    await harness.run()
    assert len(harness.channels[0].sent) == 1


async def test_an_added_item_is_paid_from_surplus_payments(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await harness.pay(claim_id, 10240 - 1)
    await harness.rows(_SURPLUS, uuid4(), claim_id, 300)
    added = await add(harness, claim_id)
    assert (added.balance.outstanding_cents, added.balance.overpaid_cents) == (201, 0)
    assert (await harness.read(claim_id)).balance == added.balance


@pytest.mark.parametrize("end", ["collected", "withdrawn"])
async def test_items_of_an_ended_claim_cannot_change(harness: Harness, end: str) -> None:
    [claim_id] = await harness.create()
    item_id = (await fee(harness, claim_id)).item.item_id
    if end == "collected":
        await harness.pay(claim_id, 10490)
    else:
        async with harness.work() as work:
            await withdraw_claim(work, claim_id)
    before = await harness.read(claim_id)
    for refused in (
        add(harness, claim_id), fee(harness, claim_id), delete(harness, claim_id, item_id)
    ):  # fmt: skip
        with pytest.raises(InvalidState):
            await refused
    assert await harness.read(claim_id) == before
