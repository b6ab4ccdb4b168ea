"""The answer of a payment provider is recorded once, with the amount that was paid, however many
processes ask for it."""

import asyncio
from datetime import timedelta
from uuid import UUID

import pytest

from dunwell.cases.payments.provider import (
    CheckoutState,
    CheckoutStatus,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.requests.request_states import LOAD_RECEIPT, PaymentRequestState
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Row
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, a_paid_checkout, a_payment_harness

_PAYMENT = """
SELECT amount_cents, currency, transaction_id, provider_name, paid_at, request_id
FROM payments WHERE merchant_id = $1
"""
_MOVEMENTS = """
SELECT kind, amount_cents, booked_cents, review_reason
FROM payment_movements WHERE merchant_id = $1 ORDER BY recorded_at, kind
"""
_CHECKS = "SELECT next_check_at FROM payment_requests WHERE merchant_id = $1"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def test_a_success_is_one_payment_and_collects_the_claim(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    clock.advance(timedelta(minutes=2))
    assert await payments.settle(started.request_id) is PaymentRequestState.COMPLETED
    [payment] = await payments.harness.rows(_PAYMENT)
    paid_at = clock.now() - timedelta(minutes=2)
    assert tuple(payment) == (10240, "EUR", "psp-1", "sandbox", paid_at, started.request_id)
    assert (await payments.harness.read(payments.claim_id)).status is Status.COLLECTED
    # Refunds and chargebacks are looked for.
    [row] = await payments.harness.rows(_CHECKS)
    assert row["next_check_at"] == clock.now() + timedelta(days=7)


async def test_a_completed_payment_raises_the_documented_event(payments: PaymentHarness) -> None:
    started = await payments.start()
    payments.pays()
    await payments.settle(started.request_id)
    event = (await payments.harness.events(payments.claim_id))[-1]
    assert (event["type"], event["source"]) == ("PAYMENT_COMPLETED", None)
    assert event["claim"]["payment"] == {
        "providerName": "sandbox",
        "amount": 10240,
        "currency": "EUR",
        "transactionId": "psp-1",
        "paymentRequestId": str(started.request_id),
    }


async def test_concurrent_notification_check_and_return_record_one_payment_and_event(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    clock.advance(timedelta(minutes=1))
    meeting = asyncio.Barrier(4)
    payments.provider.during_fetch = lambda: _meet(meeting)
    async with asyncio.timeout(20):
        settled = await asyncio.gather(
            *(payments.settle(started.request_id) for _ in range(3)), payments.sweep()
        )
    assert settled == [PaymentRequestState.COMPLETED] * 3 + [1]
    assert await payments.count("payments") == 1
    assert await payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]
    assert await payments.audited("paymentRequest.mismatch") == 0


async def _meet(meeting: asyncio.Barrier) -> None:
    """Wait until all callers have the provider's answer, before the first one records it."""
    await meeting.wait()


async def test_a_repeated_notification_changes_nothing(payments: PaymentHarness) -> None:
    started = await payments.start()
    payments.pays()
    for _ in range(2):
        assert await payments.settle(started.request_id) is PaymentRequestState.COMPLETED
    assert (await payments.count("payments"), await payments.audited("payment.record")) == (1, 1)


@pytest.mark.parametrize(("cents", "outstanding", "overpaid"), [(10239, 1, 0), (10241, 0, 1)])
async def test_another_amount_is_booked_as_it_was_paid(
    payments: PaymentHarness, cents: int, outstanding: int, overpaid: int
) -> None:
    started = await payments.start()
    payments.pays(cents)
    assert await payments.settle(started.request_id) is PaymentRequestState.COMPLETED
    balance = (await payments.harness.read(payments.claim_id)).balance
    assert (balance.outstanding_cents, balance.overpaid_cents) == (outstanding, overpaid)
    event = (await payments.harness.events(payments.claim_id))[-1]
    assert event["claim"]["payment"]["amount"] == cents


async def test_another_currency_is_left_to_staff_and_reported_once(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    payments.pays(10240, "USD")
    for _ in range(2):
        assert await payments.settle(started.request_id) is PaymentRequestState.PENDING
    assert await payments.count("payments") == 0
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]
    assert (await payments.harness.read(payments.claim_id)).status is Status.CREATED
    assert await payments.audited("paymentRequest.mismatch") == 1
    [movement] = await payments.harness.rows(_MOVEMENTS)
    assert tuple(movement) == ("PAID", 10240, 0, "OTHER_CURRENCY")


async def test_an_unavailable_provider_changes_nothing(payments: PaymentHarness) -> None:
    started = await payments.start()
    payments.provider.is_away = True
    with pytest.raises(PaymentProviderUnavailable):
        await payments.settle(started.request_id)
    assert (await payments.states(), await payments.count("payments")) == (["OPEN"], 0)


@pytest.mark.parametrize(
    "answer", [CheckoutState(CheckoutStatus.FAILED), CheckoutState(CheckoutStatus.CANCELLED)]
)
async def test_a_failed_payment_only_ends_the_request(
    payments: PaymentHarness, answer: CheckoutState
) -> None:
    started = await payments.start()
    payments.provider.answer = answer
    state = await payments.settle(started.request_id)
    assert str(state) == str(answer.status)
    assert (await payments.count("payments"), await payments.count("holds")) == (0, 0)
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_pending_payment_holds_the_claim_for_at_most_five_days(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    assert await payments.settle(started.request_id) is PaymentRequestState.PENDING
    [hold] = (await payments.harness.read(payments.claim_id)).holds
    assert (hold.kind, hold.until) == (
        HoldKind.PAYMENT_PENDING,
        clock.now() + timedelta(days=5),
    )


@pytest.mark.parametrize(
    "answer", [CheckoutState(CheckoutStatus.FAILED), CheckoutState(CheckoutStatus.OPEN)]
)
async def test_the_hold_ends_when_the_payment_fails_and_is_not_opened_again(
    payments: PaymentHarness, answer: CheckoutState
) -> None:
    started = await payments.start()
    for each in (CheckoutState(CheckoutStatus.PENDING), answer):
        payments.provider.answer = each
        await payments.settle(started.request_id)
    assert (await payments.harness.read(payments.claim_id)).holds == []
    payments.provider.answer = CheckoutState(CheckoutStatus.OPEN)
    again = await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    assert await payments.settle(again.request_id) is PaymentRequestState.PENDING
    # A debtor can have one such hold in 30 days (CONTRACT 4).
    assert (await payments.harness.read(payments.claim_id)).holds == []
    assert await payments.count("holds") == 1


async def test_an_older_answer_does_not_undo_a_newer_one(payments: PaymentHarness) -> None:
    started = await payments.start()

    async def become_pending() -> None:
        payments.provider.during_fetch = None
        payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
        await payments.settle(started.request_id)

    payments.provider.during_fetch = become_pending
    assert await payments.settle(started.request_id) is PaymentRequestState.PENDING
    assert await payments.states() == ["PENDING"]
    assert len((await payments.harness.read(payments.claim_id)).holds) == 1


async def test_a_payment_recorded_in_between_makes_the_claim_overpaid(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    await payments.harness.pay(payments.claim_id, 10240, "bank-1")
    payments.pays()
    assert await payments.settle(started.request_id) is PaymentRequestState.COMPLETED
    balance = (await payments.harness.read(payments.claim_id)).balance
    assert (balance.outstanding_cents, balance.overpaid_cents) == (0, 10240)
    assert await payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_concurrent_payments_pay_no_item_twice(payments: PaymentHarness) -> None:
    claim_ids = await payments.harness.create(*(f"INV-4{n}" for n in range(20)))
    payment_harnesses = [
        PaymentHarness(payments.harness, payments.provider, claim_id) for claim_id in claim_ids
    ]
    requests = [(await each.start()).request_id for each in payment_harnesses]
    payments.provider.answers = {
        f"ref-{each}": a_paid_checkout(f"psp-{each}", 10240, "EUR", payments.now)
        for each in requests
    }
    await asyncio.gather(
        *(payments.settle(each) for each in requests),
        *(payments.harness.pay(each, 10240, "bank-1") for each in claim_ids),
    )
    for claim_id in claim_ids:
        claim = await payments.harness.read(claim_id)
        assert [item.outstanding_cents for item in claim.items] == [0]
        assert (claim.status, claim.balance.overpaid_cents) == (Status.COLLECTED, 10240)


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_a_payment_for_an_ended_claim_is_recorded_without_changing_the_state(
    payments: PaymentHarness, status: str
) -> None:
    started = await payments.start()
    await payments.end_claim(status)
    payments.pays()
    assert await payments.settle(started.request_id) is PaymentRequestState.COMPLETED
    claim = await payments.harness.read(payments.claim_id)
    assert (claim.status, claim.balance.outstanding_cents) == (Status(status), 0)


async def test_a_transaction_that_the_merchant_has_recorded_is_one_payment(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    await payments.harness.pay(payments.claim_id, 10240, "psp-1")
    payments.pays(number="psp-1")
    assert await payments.settle(started.request_id) is PaymentRequestState.COMPLETED
    [payment] = await payments.harness.rows(_PAYMENT)
    assert payment["request_id"] == started.request_id
    assert (await payments.harness.read(payments.claim_id)).balance.overpaid_cents == 0
    assert await payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_a_transaction_recorded_with_another_amount_is_left_to_a_person(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    await payments.harness.pay(payments.claim_id, 240, "psp-1")
    payments.pays(number="psp-1")
    assert await payments.settle(started.request_id) is PaymentRequestState.PENDING
    assert (
        await payments.count("payments"),
        await payments.audited("paymentRequest.mismatch"),
    ) == (1, 1)


async def test_a_transaction_that_the_merchant_has_reversed_is_left_to_a_person(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    recorded = await payments.harness.pay(payments.claim_id, 10240, "psp-1")
    async with payments.harness.work() as work:
        await reverse_payment(work, payments.claim_id, recorded.payment.payment_id)
    payments.pays(number="psp-1")
    assert await payments.settle(started.request_id) is PaymentRequestState.PENDING
    [movement] = await payments.harness.rows(
        "SELECT booked_cents, review_reason FROM payment_movements "
        "WHERE merchant_id = $1 AND kind = 'PAID'"
    )
    assert tuple(movement) == (0, "OTHER_AMOUNT")


async def test_a_sandbox_merchants_payment_is_made_at_its_own_time(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await a_payment_harness(resources, clock, sandbox=True)
    started = await payments.start()
    standing = clock.now()
    clock.advance(timedelta(days=2))
    payments.pays()
    await payments.settle(started.request_id)
    [payment] = await payments.harness.rows(_PAYMENT)
    assert payment["paid_at"] == standing
    assert (await payments.harness.events(payments.claim_id))[-1]["date"] == "2026-03-02T09:00:00Z"


async def test_a_providers_clock_that_runs_ahead_makes_no_payment_in_the_future(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.provider.answer = a_paid_checkout(
        "psp-1", 10240, "EUR", clock.now() + timedelta(minutes=3)
    )
    await payments.settle(started.request_id)
    [payment] = await payments.harness.rows(_PAYMENT)
    assert payment["paid_at"] == clock.now()


async def _load_receipt(payments: PaymentHarness, request_id: UUID) -> Row:
    async with payments.harness.work() as work:
        return await work.tx.fetchrow(LOAD_RECEIPT, work.merchant_id, payments.claim_id, request_id)


async def test_the_receipt_has_the_paid_amount(payments: PaymentHarness) -> None:
    started = await payments.start()
    before = await _load_receipt(payments, started.request_id)
    assert (before["state"], before["payment"]) == ("OPEN", None)
    payments.pays()
    await payments.settle(started.request_id)
    after = await _load_receipt(payments, started.request_id)
    assert (after["state"], after["amount_cents"]) == ("COMPLETED", 10240)
    paid = after["payment"]
    assert (paid["transaction_id"], paid["amount_cents"]) == ("psp-1", 10240)
