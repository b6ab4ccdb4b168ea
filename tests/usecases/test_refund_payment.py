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
    order_refund,
)
from dunwell.cases.payments.refunds.store import (
    RefundEffect,
    RefundState,
    StoredRefund,
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
from tests.support.payments import PaymentHarness, a_payment_harness, send_refunds

_PAYMENTS = "SELECT payment_id FROM payments WHERE merchant_id = $1"
_REVIEWS = """
SELECT kind, review_reason FROM payment_movements
WHERE merchant_id = $1 AND review_reason IS NOT NULL
"""
_DUE = "SELECT next_check_at FROM payment_requests WHERE merchant_id = $1"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def _pay(payments: PaymentHarness, cents: int = 10240) -> UUID:
    """Pay through the provider, and return the payment's id."""
    started = await payments.start()
    payments.pays(cents)
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows(_PAYMENTS)
    payment_id: UUID = row["payment_id"]
    return payment_id


async def _order(payments: PaymentHarness, payment_id: UUID, **order: object) -> StoredRefund:
    async with payments.harness.work() as work:
        return await order_refund(work, payments.claim_id, payment_id, RefundOrder(**order))  # type: ignore[arg-type]


async def _send(payments: PaymentHarness) -> int:
    return await send_refunds(payments.resources, payments.providers)


async def _book(
    payments: PaymentHarness, refund: StoredRefund, kind: MovementKind = MovementKind.REFUNDED
) -> None:
    """Let the provider list the refund's movement, and check the payment."""
    number = f"refund-{refund.refund_id}"
    payments.moves(MoneyMovement(number, kind, refund.amount_cents, "EUR", payments.now))
    await payments.settle(refund.request_id)


async def _read(payments: PaymentHarness) -> tuple[Status, int, int]:
    claim = await payments.harness.read(payments.claim_id)
    return claim.status, claim.balance.outstanding_cents, claim.balance.overpaid_cents


async def test_the_surplus_is_refunded_by_default(payments: PaymentHarness) -> None:
    payment_id = await _pay(payments, 12000)
    refund = await _order(payments, payment_id)
    assert (refund.amount_cents, refund.effect) == (1760, RefundEffect.SURPLUS)
    assert await _send(payments) == 1
    assert payments.provider.refunds == {refund.refund_id: 1760}
    # Only the movement changes the balance.
    assert await _read(payments) == (Status.COLLECTED, 0, 1760)
    await _book(payments, refund)
    assert await _read(payments) == (Status.COLLECTED, 0, 0)
    assert await _send(payments) == 0


async def test_an_amount_that_is_given_up_is_not_owed_again(payments: PaymentHarness) -> None:
    payment_id = await _pay(payments)
    refund = await _order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)
    await _send(payments)
    await _book(payments, refund)
    assert await _read(payments) == (Status.COLLECTED, 0, 0)
    assert (await payments.harness.read(payments.claim_id)).balance.total_cents == 10000
    async with payments.harness.work() as work:
        today = payments.now.date()
        account = await get_statement_of_account(work, payments.claim_id, today)
        [listed] = await list_refunds(work, payments.claim_id)
    assert [(each.kind, each.cents) for each in account.entries] == [
        ("PRIMARY", 10240), ("PAYMENT", -10240), ("REVERSAL", 240), ("REDUCTION", -240),
    ]  # fmt: skip
    assert listed.state is RefundState.BOOKED


async def test_everything_can_be_given_up(payments: PaymentHarness) -> None:
    payment_id = await _pay(payments)
    refund = await _order(payments, payment_id, effect=RefundEffect.REDUCE_CLAIM)
    await _send(payments)
    await _book(payments, refund)
    assert await _read(payments) == (Status.COLLECTED, 0, 0)
    assert (await payments.harness.read(payments.claim_id)).balance.total_cents == 0


async def test_a_given_up_amount_is_owed_again_when_the_refund_fails(
    payments: PaymentHarness,
) -> None:
    payment_id = await _pay(payments)
    refund = await _order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)
    await _send(payments)
    await _book(payments, refund)
    await _book(payments, refund, MovementKind.REFUND_FAILED)
    assert await _read(payments) == (Status.COLLECTED, 0, 0)
    assert (await payments.harness.read(payments.claim_id)).balance.total_cents == 10240


async def test_a_refund_and_its_failure_are_published(payments: PaymentHarness) -> None:
    payment_id = await _pay(payments)
    refund = await _order(payments, payment_id, amount_cents=240, effect=RefundEffect.REOPEN)
    await _send(payments)
    assert await payments.harness.additions(payments.claim_id) == []
    for kind in (MovementKind.REFUNDED, MovementKind.REFUND_FAILED):
        await _book(payments, refund, kind)
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
    payment_id = await _pay(payments)
    refund = await _order(payments, payment_id, amount_cents=240, effect=RefundEffect.REOPEN)
    await _send(payments)
    await _book(payments, refund)
    assert await _read(payments) == (Status.CREATED, 240, 0)


async def test_a_movement_that_arrives_before_the_answer_has_the_ordered_effect(
    payments: PaymentHarness,
) -> None:
    payment_id = await _pay(payments)
    refund = await _order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)
    await _book(payments, refund)
    assert await _read(payments) == (Status.COLLECTED, 0, 0)


async def test_an_order_without_an_answer_is_repeated_with_its_key(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    payment_id = await _pay(payments, 12000)
    refund = await _order(payments, payment_id)
    payments.provider.is_away = True
    assert [await _send(payments), await _send(payments)] == [1, 0]
    payments.provider.is_away = False
    clock.advance(timedelta(minutes=5) - timedelta(microseconds=1))
    assert await _send(payments) == 0
    clock.advance(timedelta(microseconds=1))
    assert await _send(payments) == 1
    assert payments.provider.refunds == {refund.refund_id: 1760}
    [row] = await payments.harness.rows(_DUE)
    assert row["next_check_at"] == clock.now()


async def test_a_refused_order_ends_and_frees_its_amount(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = await _pay(payments, 12000)
    await _order(payments, payment_id)

    async def refuse(*_: object) -> str:
        raise PaymentProviderRefused("No.")

    monkeypatch.setattr(payments.provider, "refund", refuse)
    assert [await _send(payments), await _send(payments)] == [1, 0]
    assert (await _order(payments, payment_id)).amount_cents == 1760


async def test_a_refund_of_a_payment_that_was_reversed_by_hand_is_no_longer_pending(
    payments: PaymentHarness,
) -> None:
    payment_id = await _pay(payments, 12000)
    refund = await _order(payments, payment_id)
    await _send(payments)
    async with payments.harness.work() as work:
        await reverse_payment(work, payments.claim_id, payment_id)
    await _book(payments, refund)
    async with payments.harness.work() as work:
        [listed] = await list_refunds(work, payments.claim_id)
    assert listed.state is RefundState.BOOKED
    assert await _read(payments) == (Status.CREATED, 10240, 0)


async def test_the_second_payment_of_a_checkout_can_be_refunded(payments: PaymentHarness) -> None:
    request_id = (await payments.start()).request_id
    payments.pays()
    payments.moves(MoneyMovement("psp-2", MovementKind.PAID, 1000, "EUR", payments.now))
    await payments.settle(request_id)
    [second] = await payments.harness.rows(f"{_PAYMENTS} AND transaction_id = 'psp-2'")
    refund = await _order(payments, second["payment_id"])
    assert await _send(payments) == 1
    assert payments.provider.refunds == {refund.refund_id: 1000}


async def test_the_answer_to_an_order_and_its_booking_do_not_block_each_other(
    payments: PaymentHarness,
) -> None:
    """The provider's notification may arrive while the answer is stored. Both change the request
    and the refund."""
    payment_id = await _pay(payments, 12000)
    refund = await _order(payments, payment_id)
    async with payments.resources.database.transaction() as tx:
        await lock_claim(tx, payments.merchant_id, payments.claim_id)
        await lock_request(tx, payments.merchant_id, refund.request_id)
        sending = asyncio.create_task(_send(payments))
        await asyncio.sleep(0.5)
        await save_refund_state(
            tx, payments.merchant_id, refund.refund_id, RefundState.BOOKED, "refund-1"
        )
    assert await sending == 1


async def test_an_answer_that_cannot_be_stored_does_not_stop_the_other_orders(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider that answers with the same id for two refunds violates a unique key."""
    payment_id = await _pay(payments)
    orders = [
        await _order(payments, payment_id, amount_cents=cents, effect=RefundEffect.REOPEN)
        for cents in (100, 200, 300)
    ]

    async def refund(checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:
        return "re-1" if cents < 300 else "re-3"

    monkeypatch.setattr(payments.provider, "refund", refund)
    assert await _send(payments) == 3
    async with payments.harness.work() as work:
        listed = {
            each.refund_id: each.state for each in await list_refunds(work, payments.claim_id)
        }
    assert [listed[each.refund_id] for each in orders].count(RefundState.ACCEPTED) == 2


async def _list_states(payments: PaymentHarness) -> list[RefundState]:
    async with payments.harness.work() as work:
        return [each.state for each in await list_refunds(work, payments.claim_id)]


async def _list_reasons(payments: PaymentHarness) -> list[tuple[str, str | None]]:
    rows = await payments.harness.rows(_REVIEWS)
    return [(row["kind"], row["review_reason"]) for row in rows]


async def test_a_refund_in_another_currency_ends_and_is_left_to_staff(
    payments: PaymentHarness,
) -> None:
    payment_id = await _pay(payments, 12000)
    refund = await _order(payments, payment_id)
    await _send(payments)
    number = f"refund-{refund.refund_id}"
    payments.moves(MoneyMovement(number, MovementKind.REFUNDED, 1900, "USD", payments.now))
    for _ in range(2):
        await payments.settle(refund.request_id)
    assert await _list_states(payments) == [RefundState.NOT_BOOKED]
    # Nothing is booked, and a clerk is asked to look at it.
    assert await _read(payments) == (Status.COLLECTED, 0, 1760)
    assert await _list_reasons(payments) == [("REFUNDED", "OTHER_CURRENCY")]
    payments.moves(MoneyMovement(number, MovementKind.REFUND_FAILED, 1900, "USD", payments.now))
    await payments.settle(refund.request_id)
    assert await _list_states(payments) == [RefundState.FAILED]
    assert await _read(payments) == (Status.COLLECTED, 0, 1760)


async def test_a_refund_that_fails_is_shown_as_failed_and_left_to_staff(
    payments: PaymentHarness,
) -> None:
    payment_id = await _pay(payments, 12000)
    refund = await _order(payments, payment_id)
    await _send(payments)
    await _book(payments, refund)
    assert await _list_states(payments) == [RefundState.BOOKED]
    await _book(payments, refund, MovementKind.REFUND_FAILED)
    assert await _list_states(payments) == [RefundState.FAILED]
    assert await _list_reasons(payments) == [("REFUND_FAILED", "REFUND_FAILED")]
    # The surplus can be refunded again.
    assert (await _order(payments, payment_id)).amount_cents == 1760


async def test_an_answer_that_arrives_after_the_refund_failed_does_not_make_it_pending_again(
    payments: PaymentHarness,
) -> None:
    payment_id = await _pay(payments, 12000)
    refund = await _order(payments, payment_id)
    number = f"refund-{refund.refund_id}"
    for kind in (MovementKind.REFUNDED, MovementKind.REFUND_FAILED):
        payments.moves(
            MoneyMovement(number, kind, 1760, "EUR", payments.now, refund_key=refund.refund_id)
        )
    await payments.settle(refund.request_id)
    await payments.harness.rows(
        "UPDATE payment_refunds SET next_attempt_at = created_at WHERE merchant_id = $1"
    )
    assert await _send(payments) == 1
    assert await _list_states(payments) == [RefundState.FAILED]


async def test_an_accepted_refund_is_looked_for_often_until_it_succeeds_or_fails(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """Nothing is notified; the periodic check finds what happened."""
    payment_id = await _pay(payments, 12000)
    clock.advance(timedelta(days=3))
    refund = await _order(payments, payment_id)
    await _send(payments)
    fetched = len(payments.provider.fetched)
    for _ in range(24 * 60):
        clock.advance(timedelta(minutes=1))
        await payments.sweep()
    # Once a minute, then every 15 minutes, then every two hours.
    assert 25 < len(payments.provider.fetched) - fetched < 35
    number = f"refund-{refund.refund_id}"
    payments.moves(MoneyMovement(number, MovementKind.REFUNDED, 1760, "EUR", payments.now))
    clock.advance(timedelta(days=1))
    await payments.sweep()
    assert await _list_states(payments) == [RefundState.BOOKED]
    # A refund that succeeded may still fail, which is found within a minute at first.
    payments.moves(MoneyMovement(number, MovementKind.REFUND_FAILED, 1760, "EUR", payments.now))
    clock.advance(timedelta(minutes=1))
    assert await payments.sweep() == 1
    assert await _list_states(payments) == [RefundState.FAILED]


async def test_a_refund_ordered_at_the_provider_is_looked_for_often_as_well(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    payments.moves(MoneyMovement("re-1", MovementKind.REFUNDED, 240, "EUR", payments.now))
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows(_DUE)
    assert row["next_check_at"] == clock.now() + timedelta(minutes=1)


async def test_of_two_equal_orders_the_one_with_the_movements_key_is_booked(
    payments: PaymentHarness,
) -> None:
    """The first was not sent yet, and the answer to the second is not stored yet."""
    payment_id = await _pay(payments, 12000)
    first, second = [
        await _order(payments, payment_id, amount_cents=240, effect=RefundEffect.REOPEN)
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
    payment_id = await _pay(payments)
    for _ in range(2):
        await _order(payments, payment_id, amount_cents=5000, effect=RefundEffect.REOPEN)
    with pytest.raises(ValidationError):
        await _order(payments, payment_id, amount_cents=241, effect=RefundEffect.REOPEN)


async def test_a_surplus_is_ordered_once(payments: PaymentHarness) -> None:
    payment_id = await _pay(payments, 12000)
    await _order(payments, payment_id)
    with pytest.raises(ValidationError) as caught:
        await _order(payments, payment_id, amount_cents=1760)
    assert [each.code for each in caught.value.faults] == ["REQUIRED"]


async def test_a_payment_made_elsewhere_is_not_refunded(payments: PaymentHarness) -> None:
    await payments.harness.pay(payments.claim_id, 12000, "bank-1")
    [row] = await payments.harness.rows(_PAYMENTS)
    with pytest.raises(InvalidState) as caught:
        await _order(payments, row["payment_id"])
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
