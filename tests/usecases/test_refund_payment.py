"""Refunds through the provider: ordered once, sent with one key, and booked when the provider lists
them."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.cases.payments.provider import MoneyMovement, MovementKind, PaymentProviderRefused
from dunwell.cases.payments.refunds.refund_payment import (
    RefundOrder,
    decide_refund,
    list_refunds,
)
from dunwell.cases.payments.refunds.store import (
    RefundEffect,
    RefundState,
    save_refund_state,
)
from dunwell.cases.payments.requests.store import lock_request
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.cases.payments.statement_of_account import get_statement_of_account
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import lock_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, a_payment_harness
from tests.support.refunds import (
    list_movement,
    order,
    pay,
    read_balance,
    send,
)

_PAYMENTS = "SELECT payment_id FROM payments WHERE merchant_id = $1"
_RETURNED = """
SELECT transaction_id, returned_cents FROM payments WHERE merchant_id = $1 ORDER BY transaction_id
"""
_DUE = "SELECT next_check_at FROM payment_requests WHERE merchant_id = $1"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def test_the_surplus_is_refunded_by_default(payments: PaymentHarness) -> None:
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    assert (refund.amount_cents, refund.effect) == (1760, RefundEffect.SURPLUS)
    assert await send(payments) == 1
    assert payments.provider.refunds == {refund.refund_id: 1760}
    # Only the movement changes the balance.
    assert await read_balance(payments) == (Status.COLLECTED, 0, 1760)
    await list_movement(payments, refund)
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)
    assert await send(payments) == 0


async def test_an_amount_that_is_waived_is_not_owed_again(payments: PaymentHarness) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)
    await send(payments)
    await list_movement(payments, refund)
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)
    assert (await payments.harness.read(payments.claim_id)).balance.total_cents == 10000
    async with payments.harness.work() as work:
        today = payments.now.date()
        account = await get_statement_of_account(work, payments.claim_id, today)
        [listed] = await list_refunds(work, payments.claim_id)
    assert [(each.kind, each.cents) for each in account.entries] == [
        ("PRIMARY", 10240), ("PAYMENT", -10240), ("REVERSAL", 240), ("REDUCTION", -240),
    ]  # fmt: skip
    assert listed.state is RefundState.BOOKED


async def test_the_whole_amount_can_be_waived(payments: PaymentHarness) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, effect=RefundEffect.REDUCE_CLAIM)
    await send(payments)
    await list_movement(payments, refund)
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)
    assert (await payments.harness.read(payments.claim_id)).balance.total_cents == 0


async def test_a_waived_amount_is_owed_again_when_the_refund_fails(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)
    await send(payments)
    await list_movement(payments, refund)
    await list_movement(payments, refund, MovementKind.REFUND_FAILED)
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)
    assert (await payments.harness.read(payments.claim_id)).balance.total_cents == 10240


async def test_a_refund_and_its_failure_are_published(payments: PaymentHarness) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REOPEN)
    await send(payments)
    assert await payments.harness.additions(payments.claim_id) == []
    for kind in (MovementKind.REFUNDED, MovementKind.REFUND_FAILED):
        await list_movement(payments, refund, kind)
    bodies = await payments.harness.additions(payments.claim_id)
    assert [body["type"] for body in bodies] == ["PAYMENT_REFUNDED"] * 2
    assert [body["claim"]["refund"] for body in bodies] == [
        {
            "paymentId": str(payment_id),
            "providerName": "sandbox",
            "transactionId": "psp-1",
            "paymentRequestId": str(refund.request_id),
            "movementId": f"refund-{refund.refund_id}",
            "amount": 240,
            "currency": "EUR",
            "status": status,
            "refundId": str(refund.refund_id),
            "effect": "REOPEN",
        }
        for status in ("REFUNDED", "REFUND_FAILED")
    ]


async def test_a_reopened_amount_is_owed_again(payments: PaymentHarness) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REOPEN)
    await send(payments)
    await list_movement(payments, refund)
    assert await read_balance(payments) == (Status.CREATED, 240, 0)


async def test_a_movement_that_arrives_before_the_answer_has_the_ordered_effect(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)
    await list_movement(payments, refund)
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_an_order_without_an_answer_is_repeated_with_its_key(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    payments.provider.is_away = True
    assert [await send(payments), await send(payments)] == [1, 0]
    payments.provider.is_away = False
    clock.advance(timedelta(minutes=5) - timedelta(microseconds=1))
    assert await send(payments) == 0
    clock.advance(timedelta(microseconds=1))
    assert await send(payments) == 1
    assert payments.provider.refunds == {refund.refund_id: 1760}
    [row] = await payments.harness.rows(_DUE)
    assert row["next_check_at"] == clock.now()


async def test_a_refused_order_ends_and_frees_its_amount(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = await pay(payments, 12000)
    await order(payments, payment_id)

    async def refuse(*_: object) -> str:
        raise PaymentProviderRefused("No.")

    monkeypatch.setattr(payments.provider, "refund", refuse)
    assert [await send(payments), await send(payments)] == [1, 0]
    assert (await order(payments, payment_id)).amount_cents == 1760


async def test_a_refund_of_a_payment_that_was_reversed_by_hand_is_no_longer_pending(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    await send(payments)
    async with payments.harness.work() as work:
        await reverse_payment(work, payments.claim_id, payment_id)
    await list_movement(payments, refund)
    async with payments.harness.work() as work:
        [listed] = await list_refunds(work, payments.claim_id)
    assert listed.state is RefundState.BOOKED
    assert await read_balance(payments) == (Status.CREATED, 10240, 0)


async def test_the_second_payment_of_a_checkout_can_be_refunded(payments: PaymentHarness) -> None:
    request_id = (await payments.start()).request_id
    payments.pays()
    payments.moves(MoneyMovement("psp-2", MovementKind.PAID, 1000, "EUR", payments.now))
    await payments.settle(request_id)
    [second] = await payments.harness.rows(f"{_PAYMENTS} AND transaction_id = 'psp-2'")
    refund = await order(payments, second["payment_id"])
    assert await send(payments) == 1
    assert payments.provider.refunds == {refund.refund_id: 1000}
    # The refund is booked on this payment, although the first one has more left.
    await list_movement(payments, refund)
    rows = await payments.harness.rows(_RETURNED)
    assert [tuple(row) for row in rows] == [("psp-1", 0), ("psp-2", 1000)]
    with pytest.raises(InvalidState):
        await order(payments, second["payment_id"])


async def test_the_answer_to_an_order_and_its_booking_do_not_block_each_other(
    payments: PaymentHarness,
) -> None:
    """The provider's notification may arrive while the answer is stored. Both change the request
    and the refund."""
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    async with payments.resources.database.transaction() as tx:
        await lock_claim(tx, payments.merchant_id, payments.claim_id)
        await lock_request(tx, payments.merchant_id, refund.request_id)
        sending = asyncio.create_task(send(payments))
        while not payments.provider.refunds:  # noqa: ASYNC110 - the provider is called soon
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)  # The answer waits for the claim's lock.
        await save_refund_state(
            tx, payments.merchant_id, refund.refund_id, RefundState.BOOKED, "refund-1"
        )
    assert await sending == 1


async def test_an_answer_that_cannot_be_stored_does_not_stop_the_refunds_of_other_payments(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that answers with the same id for two refunds violates a unique key."""
    request_id = (await payments.start()).request_id
    payments.pays()
    payments.moves(MoneyMovement("psp-2", MovementKind.PAID, 1000, "EUR", payments.now))
    await payments.settle(request_id)
    paid = await payments.harness.rows(f"{_PAYMENTS} ORDER BY amount_cents")
    second, first = [row["payment_id"] for row in paid]
    orders = [
        await order(payments, payment_id, amount_cents=cents, effect=RefundEffect.REOPEN)
        for payment_id, cents in ((first, 100), (first, 200), (second, 300))
    ]

    async def refund(checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:
        return "re-1" if cents < 300 else "re-3"

    monkeypatch.setattr(payments.provider, "refund", refund)
    assert await send(payments) == 3
    async with payments.harness.work() as work:
        listed = {
            each.refund_id: each.state for each in await list_refunds(work, payments.claim_id)
        }
    assert [listed[each.refund_id] for each in orders].count(RefundState.ACCEPTED) == 2


async def test_of_two_equal_orders_the_one_with_the_movements_key_is_booked(
    payments: PaymentHarness,
) -> None:
    """The first was not sent yet, and the answer to the second is not stored yet."""
    payment_id = await pay(payments, 12000)
    first, second = [
        await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REOPEN)
        for _ in range(2)
    ]
    payments.moves(
        MoneyMovement(
            "re-2", MovementKind.REFUNDED, 240, "EUR", payments.now, refund_key=second.refund_id
        )
    )
    await payments.settle(second.request_id)
    async with payments.harness.work() as work:
        listed = {
            each.refund_id: each.state for each in await list_refunds(work, payments.claim_id)
        }
    assert listed[first.refund_id] is RefundState.CREATED
    assert listed[second.refund_id] is RefundState.BOOKED


async def test_pending_orders_together_do_not_exceed_the_payment(payments: PaymentHarness) -> None:
    payment_id = await pay(payments)
    for _ in range(2):
        await order(payments, payment_id, amount_cents=5000, effect=RefundEffect.REOPEN)
    with pytest.raises(ValidationError):
        await order(payments, payment_id, amount_cents=241, effect=RefundEffect.REOPEN)


async def test_a_surplus_is_ordered_once(payments: PaymentHarness) -> None:
    payment_id = await pay(payments, 12000)
    await order(payments, payment_id)
    with pytest.raises(ValidationError) as caught:
        await order(payments, payment_id, amount_cents=1760)
    assert [each.code for each in caught.value.faults] == ["REQUIRED"]


async def test_a_payment_made_elsewhere_is_not_refunded(payments: PaymentHarness) -> None:
    await payments.harness.pay(payments.claim_id, 12000, "bank-1")
    [row] = await payments.harness.rows(_PAYMENTS)
    with pytest.raises(InvalidState) as caught:
        await order(payments, row["payment_id"])
    assert caught.value.details == {"state": "NOT_REFUNDABLE"}


@pytest.mark.parametrize(
    ("order", "code"),
    [
        (RefundOrder(10241, effect=RefundEffect.REOPEN), "TOO_LARGE"),
        (RefundOrder(101), "REQUIRED"),
        (RefundOrder(101, effect=RefundEffect.SURPLUS), "NOT_ALLOWED"),
    ],
)
def test_an_impossible_order_is_refused_with_its_reason(order: RefundOrder, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        decide_refund(order, left_cents=10240, surplus_cents=100)
    assert [each.code for each in caught.value.faults] == [code]


@pytest.mark.parametrize(
    ("order", "decided"),
    [
        (RefundOrder(), (100, RefundEffect.SURPLUS)),
        (RefundOrder(100), (100, RefundEffect.SURPLUS)),
        (RefundOrder(100, effect=RefundEffect.REOPEN), (100, RefundEffect.REOPEN)),
        (RefundOrder(101, effect=RefundEffect.REDUCE_CLAIM), (101, RefundEffect.REDUCE_CLAIM)),
    ],
)
def test_an_order_gets_its_amount_and_effect(
    order: RefundOrder, decided: tuple[int, RefundEffect]
) -> None:
    assert decide_refund(order, left_cents=10240, surplus_cents=100) == decided


def test_nothing_left_cannot_be_refunded() -> None:
    with pytest.raises(InvalidState):
        decide_refund(RefundOrder(), left_cents=0, surplus_cents=100)
