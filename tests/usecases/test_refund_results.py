"""What becomes of refunds: they succeed, fail, are made in another currency, or come beside a
chargeback."""

from datetime import timedelta

import pytest

from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.refunds.store import (
    RefundEffect,
    RefundState,
)
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, a_payment_harness
from tests.support.refunds import (
    list_movement,
    list_refund_states,
    list_review_reasons,
    order,
    pay,
    read_balance,
    send,
)

_REQUESTS = "SELECT request_id FROM payment_requests WHERE merchant_id = $1"
_DUE = "SELECT next_check_at FROM payment_requests WHERE merchant_id = $1"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def test_a_refund_is_not_sent_if_a_chargeback_has_taken_the_money_before(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=5000, effect=RefundEffect.REOPEN)
    payments.moves(MoneyMovement("cb-1", MovementKind.CHARGED_BACK, 10240, "EUR", payments.now))
    await payments.settle(refund.request_id)
    assert await send(payments) == 1
    assert payments.provider.refunds == {}
    assert await list_refund_states(payments) == [RefundState.REFUSED]


async def test_an_order_that_may_have_been_executed_is_repeated_despite_a_chargeback(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """Otherwise the refund would be shown as refused although the money went out."""
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=5000, effect=RefundEffect.REOPEN)
    payments.provider.is_away = True
    assert await send(payments) == 1
    payments.provider.is_away = False
    payments.moves(MoneyMovement("cb-1", MovementKind.CHARGED_BACK, 10240, "EUR", payments.now))
    await payments.settle(refund.request_id)
    clock.advance(timedelta(minutes=5))
    assert await send(payments) == 1
    assert payments.provider.refunds == {refund.refund_id: 5000}


async def test_a_refund_beside_a_chargeback_ends_even_if_nothing_is_left(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=5000, effect=RefundEffect.REOPEN)
    await send(payments)
    payments.moves(MoneyMovement("cb-1", MovementKind.CHARGED_BACK, 10240, "EUR", payments.now))
    await payments.settle(refund.request_id)
    await list_movement(payments, refund)
    assert await list_refund_states(payments) == [RefundState.BOOKED]
    assert await list_review_reasons(payments) == [("REFUNDED", "NOTHING_TO_RETURN")]
    assert await read_balance(payments) == (Status.CREATED, 10240, 0)


async def test_the_rest_of_a_payment_is_refunded_after_an_older_refund_of_a_part(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    payments.moves(MoneyMovement("re-1", MovementKind.REFUNDED, 4000, "EUR", payments.now))
    [row] = await payments.harness.rows(_REQUESTS)
    await payments.settle(row["request_id"])
    with pytest.raises(ValidationError):
        await order(payments, payment_id, amount_cents=6241, effect=RefundEffect.REOPEN)
    refund = await order(payments, payment_id, effect=RefundEffect.REOPEN)
    assert refund.amount_cents == 6240
    await send(payments)
    await list_movement(payments, refund)
    assert await read_balance(payments) == (Status.CREATED, 10240, 0)
    with pytest.raises(InvalidState):
        await order(payments, payment_id, effect=RefundEffect.REOPEN)


async def test_a_refund_in_another_currency_ends_and_is_left_to_staff(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    await send(payments)
    number = f"refund-{refund.refund_id}"
    payments.moves(MoneyMovement(number, MovementKind.REFUNDED, 1900, "USD", payments.now))
    for _ in range(2):
        await payments.settle(refund.request_id)
    assert await list_refund_states(payments) == [RefundState.NOT_BOOKED]
    # Nothing is booked, and a clerk is asked to look at it.
    assert await read_balance(payments) == (Status.COLLECTED, 0, 1760)
    assert await list_review_reasons(payments) == [("REFUNDED", "OTHER_CURRENCY")]
    payments.moves(MoneyMovement(number, MovementKind.REFUND_FAILED, 1900, "USD", payments.now))
    await payments.settle(refund.request_id)
    assert await list_refund_states(payments) == [RefundState.FAILED]
    assert await read_balance(payments) == (Status.COLLECTED, 0, 1760)


async def test_a_refund_that_fails_is_shown_as_failed_and_left_to_staff(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    await send(payments)
    await list_movement(payments, refund)
    assert await list_refund_states(payments) == [RefundState.BOOKED]
    await list_movement(payments, refund, MovementKind.REFUND_FAILED)
    assert await list_refund_states(payments) == [RefundState.FAILED]
    assert await list_review_reasons(payments) == [("REFUND_FAILED", "REFUND_FAILED")]
    # The surplus can be refunded again.
    assert (await order(payments, payment_id)).amount_cents == 1760


async def test_an_answer_that_arrives_after_the_refund_failed_does_not_make_it_pending_again(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    number = f"refund-{refund.refund_id}"
    for kind in (MovementKind.REFUNDED, MovementKind.REFUND_FAILED):
        payments.moves(
            MoneyMovement(number, kind, 1760, "EUR", payments.now, refund_key=refund.refund_id)
        )
    await payments.settle(refund.request_id)
    await payments.harness.rows(
        "UPDATE payment_refunds SET next_attempt_at = created_at WHERE merchant_id = $1"
    )
    assert await send(payments) == 1
    assert await list_refund_states(payments) == [RefundState.FAILED]


async def test_an_accepted_refund_is_looked_for_often_until_it_succeeds_or_fails(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """Nothing is notified; the periodic check finds what happened."""
    payment_id = await pay(payments, 12000)
    clock.advance(timedelta(days=3))
    refund = await order(payments, payment_id)
    await send(payments)
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
    assert await list_refund_states(payments) == [RefundState.BOOKED]
    # A refund that succeeded may still fail, which is found within a minute at first.
    payments.moves(MoneyMovement(number, MovementKind.REFUND_FAILED, 1760, "EUR", payments.now))
    clock.advance(timedelta(minutes=1))
    assert await payments.sweep() == 1
    assert await list_refund_states(payments) == [RefundState.FAILED]


async def test_a_waived_amount_is_owed_again_if_a_chargeback_took_the_money_of_a_failed_refund(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)
    await send(payments)
    await list_movement(payments, refund)
    totals = []
    for number, kind, cents in (
        ("cb-1", MovementKind.CHARGED_BACK, 10240),
        (f"refund-{refund.refund_id}", MovementKind.REFUND_FAILED, 240),
        ("cb-1", MovementKind.CHARGEBACK_REVERSED, 10240),
    ):
        payments.moves(MoneyMovement(number, kind, cents, "EUR", payments.now))
        await payments.settle(refund.request_id)
        total_cents = (await payments.harness.read(payments.claim_id)).balance.total_cents
        totals.append((total_cents, *await read_balance(payments)))
    assert totals == [
        (10000, Status.CREATED, 10000, 0), (10240, Status.CREATED, 10240, 0),
        (10240, Status.COLLECTED, 0, 0),
    ]  # fmt: skip


async def test_a_refund_ordered_at_the_provider_is_looked_for_often_as_well(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    payments.moves(MoneyMovement("re-1", MovementKind.REFUNDED, 240, "EUR", payments.now))
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows(_DUE)
    assert row["next_check_at"] == clock.now() + timedelta(minutes=1)
