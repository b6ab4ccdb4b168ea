"""The refunds of one payment are ordered one after the other, by clerks and by workers, and never
exceed what was paid."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.cases.direct_debit.provider_records.store import lease_debits, lease_mandates
from dunwell.cases.payments.provider import (
    MoneyMovement,
    MovementKind,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.refunds.refund_payment import RefundOrder, order_refund
from dunwell.cases.payments.refunds.store import (
    RefundEffect,
    RefundState,
    StoredRefund,
    insert_refund,
    lease_due_refunds,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, ScriptedPaymentProvider, a_payment_harness
from tests.support.plans import Explaining, walk
from tests.support.refunds import list_refund_states, order, pay, send

_PAYMENTS = "SELECT payment_id FROM payments WHERE merchant_id = $1 ORDER BY amount_cents"
_LATER = timedelta(minutes=5)


class SlowProvider(ScriptedPaymentProvider):
    """Takes time for a refund, and refuses it if another refund of the same payment is made in the
    meantime, as GoCardless does."""

    most_at_once = 0
    _at_once = 0
    # How many calls must be there before the first is answered.
    waits_for = 1

    def __init__(self) -> None:
        super().__init__()
        # The refunded cents of each payment.
        self.refunded: dict[str, int] = {}

    async def refund(self, checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        payment = movement.movement_id
        confirmed = self.refunded.get(payment, 0)
        async with asyncio.timeout(20):
            while self.most_at_once < self.waits_for:  # noqa: ASYNC110 - the other comes soon
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        self._at_once -= 1
        if self.refunded.get(payment, 0) != confirmed:
            raise PaymentProviderRefused("The total amount is wrong.")
        self.refunded[payment] = confirmed + cents
        return await super().refund(checkout_id, movement, cents, key)


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock, provider=SlowProvider())


async def _order_parts(payments: PaymentHarness, *cents: int) -> list[StoredRefund]:
    payment_id = await pay(payments)
    return [
        await order(payments, payment_id, amount_cents=each, effect=RefundEffect.REOPEN)
        for each in cents
    ]


async def test_two_workers_send_the_refunds_of_a_payment_one_after_the_other(
    payments: PaymentHarness,
) -> None:
    await _order_parts(payments, 100, 200, 300)
    while sum(await asyncio.gather(send(payments), send(payments))):
        pass
    assert await list_refund_states(payments) == [RefundState.ACCEPTED] * 3
    assert isinstance(payments.provider, SlowProvider)
    assert payments.provider.most_at_once == 1
    assert [*payments.provider.refunds.values()] == [100, 200, 300]


async def test_two_workers_send_refunds_of_different_payments_at_the_same_time(
    payments: PaymentHarness,
) -> None:
    request_id = (await payments.start()).request_id
    payments.pays()
    payments.moves(MoneyMovement("psp-2", MovementKind.PAID, 1000, "EUR", payments.now))
    await payments.settle(request_id)
    for row in await payments.harness.rows(_PAYMENTS):
        await order(payments, row["payment_id"], amount_cents=100, effect=RefundEffect.REOPEN)
    assert isinstance(payments.provider, SlowProvider)
    payments.provider.waits_for = 2
    await asyncio.gather(send(payments), send(payments))
    assert await list_refund_states(payments) == [RefundState.ACCEPTED] * 2


@pytest.mark.parametrize("lease", [lease_due_refunds, lease_mandates, lease_debits])
async def test_the_part_of_a_lease_that_locks_rows_runs_once(
    payments: PaymentHarness, lease: Callable[..., Awaitable[object]]
) -> None:
    """As the inner side of a nested loop it would run for each row of the outer side, lock another
    row each time, and lease more than the limit."""
    async with payments.resources.database.transaction() as tx:
        explaining = Explaining(tx)
        await lease(explaining, "sandbox", payments.now, duration=_LATER, limit=2)
    [locking] = [node for node in explaining.nodes if "CTE due" in node.get("Subplan Name", "")]
    assert "LockRows" in [each["Node Type"] for each in walk(locking)]


async def test_a_refund_waits_until_the_one_before_it_is_answered(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    first, second = await _order_parts(payments, 100, 200)
    payments.provider.is_away = True
    assert await send(payments) == 1
    payments.provider.is_away = False
    # The first may have been executed, and is sent again in five minutes.
    assert await send(payments) == 0
    clock.advance(_LATER)
    assert await send(payments) == 2
    assert [*payments.provider.refunds] == [first.refund_id, second.refund_id]


async def test_a_refund_that_commits_late_is_not_leased_next_to_one_that_is_being_sent(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """The clocks of web processes differ, so an order can be older than one that was stored before
    it. The database refuses the second lease."""
    clock.advance(_LATER)
    (first,) = await _order_parts(payments, 100)
    database, now = payments.resources.database, clock.now()
    async with database.transaction() as leasing:
        leased = await lease_due_refunds(leasing, "sandbox", now, duration=_LATER, limit=1)
        assert [each.refund_id for _, each in leased] == [first.refund_id]
        async with database.transaction() as tx:
            older = StoredRefund(
                refund_id=payments.resources.ids.new(now), claim_id=first.claim_id,
                payment_id=first.payment_id, request_id=first.request_id, amount_cents=200,
                currency="EUR", effect=RefundEffect.REOPEN, reason=None,
                state=RefundState.CREATED, provider="sandbox", provider_refund_id=None,
                actor_kind="SYSTEM", actor_id=None, created_at=first.created_at - _LATER,
            )  # fmt: skip
            await insert_refund(tx, payments.merchant_id, older, older.created_at)
        sending = asyncio.create_task(send(payments))
        await asyncio.sleep(0.3)  # It waits for the unique index.
    assert await sending == 0
    assert payments.provider.refunds == {}


@pytest.mark.parametrize("cents", [(6000, 6000), (10_240, 1)])
async def test_two_clerks_cannot_order_more_than_was_paid(
    payments: PaymentHarness, cents: tuple[int, int]
) -> None:
    payment_id = await pay(payments)

    async def order_slowly(amount_cents: int) -> None:
        async with payments.harness.work() as work:
            wanted = RefundOrder(amount_cents, effect=RefundEffect.REOPEN)
            await order_refund(work, payments.claim_id, payment_id, wanted)
            # The other clerk orders before this transaction ends.
            await asyncio.sleep(0.3)

    results = await asyncio.gather(*map(order_slowly, cents), return_exceptions=True)
    refusals = (ValidationError, InvalidState)
    assert [isinstance(each, refusals) for each in results].count(True) == 1
    assert len(await list_refund_states(payments)) == 1


async def test_a_refund_that_seemed_refused_and_was_made_is_booked_with_its_effect(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch, clock: MovableClock
) -> None:
    """The order was executed, its answer was lost, and the provider then refused the repetition."""
    payment_id = await pay(payments)
    refund = await order(payments, payment_id, amount_cents=240, effect=RefundEffect.REDUCE_CLAIM)

    async def lose(*_: object) -> str:
        raise PaymentProviderUnavailable("No answer.")

    async def refuse(*_: object) -> str:
        raise PaymentProviderRefused("It was refunded.")

    for behaviour in (lose, refuse):
        monkeypatch.setattr(payments.provider, "refund", behaviour)
        assert await send(payments) == 1
        clock.advance(_LATER)
    assert await list_refund_states(payments) == [RefundState.REFUSED]
    payments.moves(
        MoneyMovement(
            "re-1", MovementKind.REFUNDED, 240, "EUR", payments.now, refund_key=refund.refund_id
        )
    )
    await payments.settle(refund.request_id)
    assert await list_refund_states(payments) == [RefundState.BOOKED]
    claim = await payments.harness.read(payments.claim_id)
    assert (claim.balance.total_cents, claim.balance.outstanding_cents) == (10_000, 0)
