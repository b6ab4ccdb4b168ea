"""Refunds that are not made wait for staff, with the reason, until staff has dealt with them."""

from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.cases.payments.list_movements import MovementFilter, list_movements
from dunwell.cases.payments.provider import MoneyMovement, MovementKind, PaymentProviderRefused
from dunwell.cases.payments.refunds.store import RefundEffect, RefundState
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.cases.payments.review_money import (
    RefundReview,
    decide_refund_review,
    list_refunds_to_review,
    review_refund,
)
from dunwell.operations.dashboards.overview import AttentionKind, count_attention_items
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from tests.support.durations import JUST
from tests.support.payments import PaymentHarness, a_payment_harness
from tests.support.refunds import list_movement, list_refund_states, order, pay, send

_ONE_WEEK = timedelta(days=7)


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def _list(payments: PaymentHarness) -> list[tuple[int, RefundReview | None, str | None]]:
    """Return the amount, the reason and the provider's words of each refund to review."""
    async with payments.harness.work() as work:
        found = (await list_refunds_to_review(work, limit=10)).items
        counted = (await count_attention_items(work))[AttentionKind.REFUNDS_TO_REVIEW]
        assert counted.count.number == len(found)
        return [
            (
                each.refund.amount_cents,
                decide_refund_review(each.refund, work.real_now),
                each.refund.refusal_text,
            )
            for each in found
        ]


async def _count_movements(payments: PaymentHarness) -> int:
    async with payments.harness.work() as work:
        wanted = MovementFilter(needs_review=True)
        return len((await list_movements(work, limit=10, wanted=wanted)).items)


async def _let_refuse(payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object) -> str:
        raise PaymentProviderRefused("The payment provider refused: The charge\nis disputed.")

    with monkeypatch.context() as patched:
        patched.setattr(payments.provider, "refund", refuse)
        await send(payments)


async def _order(payments: PaymentHarness, payment_id: UUID, cents: int) -> None:
    await order(payments, payment_id, amount_cents=cents, effect=RefundEffect.REOPEN)


async def test_a_refused_refund_waits_for_staff_with_the_providers_words(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _order(payments, await pay(payments), 500)
    assert await _list(payments) == []
    await _let_refuse(payments, monkeypatch)
    expected = (500, RefundReview.PROVIDER, "The charge is disputed.")
    assert await _list(payments) == [expected]


async def test_a_refund_that_was_not_sent_because_nothing_is_left_waits_for_staff(
    payments: PaymentHarness,
) -> None:
    await _order(payments, await pay(payments), 500)
    payments.moves(MoneyMovement("cb-1", MovementKind.CHARGED_BACK, 10240, "EUR", payments.now))
    [row] = await payments.harness.rows("SELECT request_id FROM payments WHERE merchant_id = $1")
    await payments.settle(row["request_id"])
    await send(payments)
    assert await _list(payments) == [(500, RefundReview.NOTHING_LEFT, None)]


async def test_a_refund_that_is_not_made_for_a_week_waits_for_staff_until_it_is_made(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=500, effect=RefundEffect.REOPEN)
    await send(payments)
    clock.advance(_ONE_WEEK)
    assert await _list(payments) == []
    clock.advance(JUST)
    assert await _list(payments) == [(500, RefundReview.OVERDUE, None)]
    await list_movement(payments, refund)
    assert await _list(payments) == []


async def test_a_reviewed_refund_is_not_listed_and_audited_once(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    refund = await order(
        payments, await pay(payments), amount_cents=500, effect=RefundEffect.REOPEN
    )
    await _let_refuse(payments, monkeypatch)
    for _ in range(2):
        async with payments.harness.work() as work:
            await review_refund(work, refund.refund_id)
    assert await _list(payments) == []
    assert await payments.audited("payment.reviewRefund") == 1
    assert await list_refund_states(payments) == [RefundState.REFUSED]


async def test_a_refund_that_was_reviewed_while_it_was_late_is_listed_when_it_is_refused(
    payments: PaymentHarness, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    refund = await order(
        payments, await pay(payments), amount_cents=500, effect=RefundEffect.REOPEN
    )
    clock.advance(_ONE_WEEK + timedelta(hours=1))
    async with payments.harness.work() as work:
        await review_refund(work, refund.refund_id)
    assert await _list(payments) == []
    await _let_refuse(payments, monkeypatch)
    assert [reason for _, reason, _ in await _list(payments)] == [RefundReview.PROVIDER]


@pytest.mark.parametrize(("cents", "left"), [(500, []), (1500, []), (499, [500])])
async def test_a_refused_refund_needs_no_review_once_its_amount_is_refunded_again(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch, cents: int, left: list[int]
) -> None:
    payment_id = await pay(payments)
    await _order(payments, payment_id, 500)
    await _let_refuse(payments, monkeypatch)
    await _order(payments, payment_id, cents)
    assert [amount for amount, _, _ in await _list(payments)] == left


async def test_only_the_refunds_that_a_new_one_covers_need_no_review(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = await pay(payments)
    for cents in (500, 700):
        await _order(payments, payment_id, cents)
    await _let_refuse(payments, monkeypatch)
    assert [amount for amount, _, _ in await _list(payments)] == [500, 700]
    await _order(payments, payment_id, 700)
    assert [amount for amount, _, _ in await _list(payments)] == [700]


async def test_a_failed_refund_needs_no_review_once_its_amount_is_refunded_again(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=500, effect=RefundEffect.REOPEN)
    await send(payments)
    await list_movement(payments, refund)
    await list_movement(payments, refund, MovementKind.REFUND_FAILED)
    assert await _count_movements(payments) == 1
    await _order(payments, payment_id, 499)
    assert await _count_movements(payments) == 1
    await _order(payments, payment_id, 500)
    assert await _count_movements(payments) == 0
    assert await payments.audited("payment.reviewMovement") == 1


async def test_refunds_need_no_review_once_the_payment_is_reversed(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = await pay(payments)
    await _order(payments, payment_id, 500)
    await _let_refuse(payments, monkeypatch)
    async with payments.harness.work() as work:
        await reverse_payment(work, payments.claim_id, payment_id, "Transferred by us")
    assert await _list(payments) == []


async def test_another_merchants_refunds_are_neither_listed_nor_reviewed(
    payments: PaymentHarness, resources: Resources, clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    refund = await order(
        payments, await pay(payments), amount_cents=500, effect=RefundEffect.REOPEN
    )
    await _let_refuse(payments, monkeypatch)
    hansen = await a_payment_harness(resources, clock, key="hansen")
    assert await _list(hansen) == []
    with pytest.raises(NotFound):
        async with hansen.harness.work() as work:
            await review_refund(work, refund.refund_id)
    assert len(await _list(payments)) == 1
