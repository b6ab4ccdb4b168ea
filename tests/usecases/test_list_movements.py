"""Movements of money are listed with filters, and staff marks those that need a review."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.cases.payments.list_movements import (
    ListedMovement,
    MovementFilter,
    list_claim_movements,
    list_claim_refunds,
    list_movements,
)
from dunwell.cases.payments.list_payments import PaymentFilter, list_payments
from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.refunds.refund_payment import RefundOrder, order_refund
from dunwell.cases.payments.refunds.store import RefundEffect
from dunwell.cases.payments.review_money import review_movement
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, a_payment_harness

_PAYMENTS = "SELECT payment_id FROM payments WHERE merchant_id = $1"
_MATCHED = """
WITH entry AS (
    INSERT INTO bank_transactions (merchant_id, entry_id, number, account, amount_cents, currency,
                                   booked_on, state)
    VALUES ($1, gen_random_uuid(), 1, 'giro', 100, 'EUR', '2026-03-02', 'MATCHED')
    RETURNING entry_id, number
)
INSERT INTO bank_matches (merchant_id, match_id, kind, entry_id, number, claim_id, payment_id,
                          amount_cents, rule, explanation, actor_kind, matched_at)
SELECT $1, gen_random_uuid(), 'MATCHED', entry_id, number, $2, $3, 100, 'REFERENCE', 'x', 'SYSTEM',
       now()
FROM entry
"""
_REVIEWED = "SELECT reviewed_at FROM payment_movements WHERE merchant_id = $1 AND record_id = $2"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def _pay_and_return(payments: PaymentHarness, clock: MovableClock) -> None:
    """Pay through the provider; an hour later, book a refund that is in another currency."""
    started = await payments.start()
    payments.pays()
    await payments.settle(started.request_id)
    clock.advance(timedelta(hours=1))
    payments.moves(MoneyMovement("re-1", MovementKind.REFUNDED, 240, "USD", payments.now))
    await payments.settle(started.request_id)


async def _list(payments: PaymentHarness, **wanted: object) -> Sequence[ListedMovement]:
    async with payments.harness.work() as work:
        page = await list_movements(work, limit=10, wanted=MovementFilter(**wanted))  # type: ignore[arg-type]
    return page.items


async def _list_kinds(payments: PaymentHarness, **wanted: object) -> list[str]:
    return [each.movement.kind for each in await _list(payments, **wanted)]


async def test_movements_are_listed_newest_first_with_filters(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await _pay_and_return(payments, clock)
    assert await _list_kinds(payments) == ["REFUNDED", "PAID"]
    for wanted, kinds in (
        ({"account": "sandbox"}, ["REFUNDED", "PAID"]),
        ({"account": "other"}, []),
        ({"kind": "PAID"}, ["PAID"]),
        ({"needs_review": True}, ["REFUNDED"]),
        ({"needs_review": False}, ["PAID"]),
        ({"since": clock.now()}, ["REFUNDED"]),
        ({"until": clock.now()}, ["PAID"]),
    ):
        assert await _list_kinds(payments, **wanted) == kinds, wanted
    [paid] = await _list(payments, kind="PAID")
    assert (paid.movement.booked_cents, paid.movement.needs_review) == (10240, False)


async def test_the_movements_of_one_claim_are_listed_in_pages(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await _pay_and_return(payments, clock)
    [other] = await payments.harness.create("OTHER-1")
    async with payments.harness.work() as work:
        first = await list_claim_movements(work, payments.claim_id, limit=1)
        rest = await list_claim_movements(
            work, payments.claim_id, limit=1, cursor=first.next_cursor
        )
        empty = await list_claim_movements(work, other, limit=1)
    kinds = [each.movement.kind for each in (*first.items, *rest.items)]
    assert (kinds, rest.next_cursor, empty.items) == (["REFUNDED", "PAID"], None, [])


async def test_payments_are_listed_by_the_account_that_received_them(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await _pay_and_return(payments, clock)
    await payments.harness.pay(payments.claim_id, 100, "bank-1")
    async with payments.harness.work() as work:
        for account, transactions in (("sandbox", ["psp-1"]), ("other", [])):
            page = await list_payments(work, limit=10, wanted=PaymentFilter(account=account))
            assert [each.payment.transaction_id for each in page.items] == transactions


async def test_payments_are_listed_by_the_bank_account_of_their_entry(
    payments: PaymentHarness,
) -> None:
    recorded = await payments.harness.pay(payments.claim_id, 100, "bank-1")
    async with payments.resources.database.transaction() as tx:
        # The entry and its statement are left out.
        await tx.execute("SET LOCAL session_replication_role = replica")
        await tx.execute(
            _MATCHED, payments.merchant_id, payments.claim_id, recorded.payment.payment_id
        )
    async with payments.harness.work() as work:
        for account, count in (("bank:giro", 1), ("bank:savings", 0), ("giro", 0)):
            page = await list_payments(work, limit=10, wanted=PaymentFilter(account=account))
            assert len(page.items) == count, account


async def test_the_refunds_of_a_claim_are_listed_newest_first(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await _pay_and_return(payments, clock)
    [row] = await payments.harness.rows(_PAYMENTS)
    for cents in (100, 200):
        async with payments.harness.work() as work:
            order = RefundOrder(cents, effect=RefundEffect.REOPEN)
            await order_refund(work, payments.claim_id, row["payment_id"], order)
    async with payments.harness.work() as work:
        page = await list_claim_refunds(work, payments.claim_id, limit=10)
        with pytest.raises(NotFound):
            await list_claim_refunds(work, 999_999, limit=10)
    assert [each.refund.amount_cents for each in page.items] == [200, 100]


async def _review(payments: PaymentHarness, record_id: UUID) -> ListedMovement:
    async with payments.harness.work() as work:
        return await review_movement(work, record_id)


async def test_a_movement_is_reviewed_once(payments: PaymentHarness, clock: MovableClock) -> None:
    await _pay_and_return(payments, clock)
    [listed] = await _list(payments, needs_review=True)
    clock.advance(timedelta(minutes=5))
    first = await _review(payments, listed.movement.record_id)
    assert first.movement.reviewed_at == clock.now()
    clock.advance(timedelta(minutes=5))
    assert await _review(payments, listed.movement.record_id) == first
    assert await _list(payments, needs_review=True) == []
    assert await payments.audited("payment.reviewMovement") == 1


async def test_a_movement_that_needs_no_review_is_refused(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await _pay_and_return(payments, clock)
    [listed] = await _list(payments, kind="PAID")
    with pytest.raises(InvalidState):
        await _review(payments, listed.movement.record_id)
    assert await _list(payments, kind="PAID") == [listed]
    assert await payments.audited("payment.reviewMovement") == 0


async def test_another_merchants_movements_are_neither_listed_nor_reviewed(
    payments: PaymentHarness, resources: Resources, clock: MovableClock
) -> None:
    await _pay_and_return(payments, clock)
    [listed] = await _list(payments, needs_review=True)
    hansen = await a_payment_harness(resources, clock, key="hansen")
    assert await _list(hansen) == []
    with pytest.raises(NotFound):
        await _review(hansen, listed.movement.record_id)
    [row] = await payments.harness.rows(_REVIEWED, listed.movement.record_id)
    assert row["reviewed_at"] is None
    with pytest.raises(NotFound):
        async with hansen.harness.work() as work:
            await list_claim_movements(work, payments.claim_id, limit=10)
