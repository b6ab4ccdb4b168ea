"""Reversed payments: once and exact to the cent, in each status."""

import asyncio
from datetime import timedelta

import pytest

from dunwell.cases.payments.record_payment import RecordedPayment
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, a_payment_harness

_SEQUENCE = "SELECT event_sequence FROM claims WHERE merchant_id = $1"
_MOVEMENTS = "SELECT movement_id FROM payment_movements WHERE merchant_id = $1"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def reverse(payments: PaymentHarness, recorded: RecordedPayment) -> RecordedPayment:
    async with payments.harness.work() as work:
        return await reverse_payment(work, payments.claim_id, recorded.payment.payment_id)


async def balance_of(payments: PaymentHarness) -> tuple[int, int]:
    """Return the outstanding and the overpaid amount."""
    balance = (await payments.harness.read(payments.claim_id)).balance
    return balance.outstanding_cents, balance.overpaid_cents


async def test_a_collected_claim_returns_to_its_previous_status_and_continues(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    paid = await payments.harness.pay(payments.claim_id, 10240)
    clock.advance(timedelta(days=3))
    reversed_ = await reverse(payments, paid)
    assert (reversed_.status, reversed_.is_new) == (Status.CREATED, True)
    assert reversed_.payment.reversed_at == clock.now()
    assert await balance_of(payments) == (10240, 0)
    claim = await payments.harness.read(payments.claim_id)
    assert (claim.status, claim.next_step_at) == (Status.CREATED, clock.now())


async def test_a_reversal_is_published_without_a_number(payments: PaymentHarness) -> None:
    paid = await payments.harness.pay(payments.claim_id, 4000)
    before = await payments.harness.rows(_SEQUENCE)
    for _ in range(2):
        await reverse(payments, paid)
    [body] = await payments.harness.additions(payments.claim_id)
    [movement] = await payments.harness.rows(_MOVEMENTS)
    assert body["type"] == "PAYMENT_REVERSED"
    assert body["claim"]["reversal"] == {
        "paymentId": str(paid.payment.payment_id),
        "providerName": None,
        "transactionId": "tx-1",
        "movementId": movement["movement_id"],
        "amount": 4000,
        "currency": "EUR",
        "status": "REVERSED",
    }
    assert await payments.harness.rows(_SEQUENCE) == before


async def test_reversing_a_payment_again_returns_the_same_result(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    paid = await payments.harness.pay(payments.claim_id, 10240)
    first = await reverse(payments, paid)
    clock.advance(timedelta(days=1))
    again = await reverse(payments, paid)
    assert again.payment == first.payment
    assert (again.is_new, again.status, again.balance) == (False, first.status, first.balance)
    assert await payments.audited("payment.reverse") == 1


async def test_concurrent_reversals_reverse_once(payments: PaymentHarness) -> None:
    paid = await payments.harness.pay(payments.claim_id, 10240)
    answers = await asyncio.gather(*(reverse(payments, paid) for _ in range(8)))
    assert sorted(each.is_new for each in answers) == [False] * 7 + [True]
    assert await balance_of(payments) == (10240, 0)
    assert await payments.audited("payment.reverse") == 1


async def test_a_reversed_partial_payment_is_owed_again_and_leaves_the_workflow_unchanged(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    paid = await payments.harness.pay(payments.claim_id, 4000)
    before = await payments.harness.read(payments.claim_id)
    clock.advance(timedelta(minutes=5))
    assert (await reverse(payments, paid)).status is Status.CREATED
    assert await balance_of(payments) == (10240, 0)
    assert (await payments.harness.read(payments.claim_id)).next_step_at == before.next_step_at


async def test_the_surplus_of_another_payment_replaces_a_reversed_one(
    payments: PaymentHarness,
) -> None:
    first = await payments.harness.pay(payments.claim_id, 10240, "tx-1")
    await payments.harness.pay(payments.claim_id, 10300, "tx-2")
    assert await balance_of(payments) == (0, 10300)
    assert (await reverse(payments, first)).status is Status.COLLECTED
    assert await balance_of(payments) == (0, 60)


async def test_the_surplus_may_not_cover_the_reversed_amount(payments: PaymentHarness) -> None:
    first = await payments.harness.pay(payments.claim_id, 10240, "tx-1")
    await payments.harness.pay(payments.claim_id, 240, "tx-2")
    assert (await reverse(payments, first)).status is Status.CREATED
    assert await balance_of(payments) == (10000, 0)
    again = await payments.harness.pay(payments.claim_id, 10000, "tx-3")
    assert (again.status, again.balance.overpaid_cents) == (Status.COLLECTED, 0)


async def test_a_payment_that_was_only_surplus_can_be_reversed(payments: PaymentHarness) -> None:
    await payments.harness.pay(payments.claim_id, 10240, "tx-1")
    second = await payments.harness.pay(payments.claim_id, 500, "tx-2")
    assert (await reverse(payments, second)).status is Status.COLLECTED
    assert await balance_of(payments) == (0, 0)


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_in_a_final_state_only_the_balance_changes(
    payments: PaymentHarness, status: str
) -> None:
    await payments.end_claim(status)
    paid = await payments.harness.pay(payments.claim_id, 10240)
    assert (await reverse(payments, paid)).status is Status(status)
    assert await balance_of(payments) == (10240, 0)
    assert (await payments.harness.read(payments.claim_id)).next_step_at is None


async def test_a_providers_payment_is_reversed_and_can_be_paid_again(
    payments: PaymentHarness,
) -> None:
    first = await payments.start()
    payments.pays(number="psp-1")
    await payments.settle(first.request_id)
    [row] = await payments.harness.rows("SELECT payment_id FROM payments WHERE merchant_id = $1")
    async with payments.harness.work() as work:
        await reverse_payment(work, payments.claim_id, row["payment_id"])
    assert await payments.settle(first.request_id) is PaymentRequestState.COMPLETED
    assert await balance_of(payments) == (10240, 0)
    second = await payments.start()
    payments.pays(number="psp-2")
    await payments.settle(second.request_id)
    assert await balance_of(payments) == (0, 0)
    assert await payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"] * 2


async def test_a_claim_without_a_workflow_is_owed_again_and_nothing_is_due(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await a_payment_harness(resources, clock, key="hansen", definition=None)
    paid = await payments.harness.pay(payments.claim_id, 10240)
    assert (await reverse(payments, paid)).status is Status.CREATED
    assert (await payments.harness.read(payments.claim_id)).next_step_at is None
