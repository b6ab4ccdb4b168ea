"""Recording a provider's answer: once, and only for the requested amount, whoever asks and how
often."""

import asyncio
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from dunwell.cases.payments.provider import (
    CheckoutCancelled,
    CheckoutFailed,
    CheckoutOpen,
    CheckoutPending,
    CheckoutSucceeded,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.requests.request_states import LOAD_RECEIPT, PaymentRequestState
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Row
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from tests.support.payments import Till, a_till

_PAYMENT = """
SELECT amount_cents, currency, transaction_id, provider_name, paid_at, request_id
FROM payments WHERE merchant_id = $1
"""
_CHECKS = "SELECT next_check_at FROM payment_requests WHERE merchant_id = $1"


@pytest.fixture
async def till(resources: Resources, clock: MovableClock) -> Till:
    return await a_till(resources, clock)


async def test_a_success_is_one_payment_and_collects_the_claim(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    till.pays()
    clock.advance(timedelta(minutes=2))
    assert await till.settle(started.request_id) is PaymentRequestState.COMPLETED
    [payment] = await till.house.rows(_PAYMENT)
    paid_at = clock.now() - timedelta(minutes=2)
    assert tuple(payment) == (10240, "EUR", "psp-1", "sandbox", paid_at, started.request_id)
    assert (await till.house.read(till.claim_id)).status is Status.COLLECTED
    [row] = await till.house.rows(_CHECKS)
    assert row["next_check_at"] is None


async def test_a_completed_payment_raises_the_documented_event(till: Till) -> None:
    started = await till.start()
    till.pays()
    await till.settle(started.request_id)
    event = (await till.house.events(till.claim_id))[-1]
    assert (event["type"], event["source"]) == ("PAYMENT_COMPLETED", None)
    assert event["claim"]["payment"] == {
        "providerName": "sandbox",
        "amount": 10240,
        "currency": "EUR",
        "transactionId": "psp-1",
        "paymentRequestId": str(started.request_id),
    }


async def test_concurrent_notice_sweep_and_return_record_one_payment_and_event(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    till.pays()
    clock.advance(timedelta(minutes=1))
    meeting = asyncio.Barrier(4)
    till.provider.during_fetch = lambda: _meet(meeting)
    async with asyncio.timeout(20):
        settled = await asyncio.gather(
            *(till.settle(started.request_id) for _ in range(3)), till.sweep()
        )
    assert settled == [PaymentRequestState.COMPLETED] * 3 + [1]
    assert await till.count("payments") == 1
    assert await till.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]
    assert await till.audited("paymentRequest.mismatch") == 0


async def _meet(meeting: asyncio.Barrier) -> None:
    """Wait until all callers have the provider's answer, before the first one records it."""
    await meeting.wait()


async def test_a_repeated_notice_changes_nothing(till: Till) -> None:
    started = await till.start()
    till.pays()
    for _ in range(2):
        assert await till.settle(started.request_id) is PaymentRequestState.COMPLETED
    assert len(till.provider.fetched) == 1
    assert (await till.count("payments"), await till.audited("payment.record")) == (1, 1)


@pytest.mark.parametrize(("cents", "currency"), [(10239, "EUR"), (10241, "EUR"), (10240, "USD")])
async def test_another_amount_or_currency_changes_nothing_and_is_audited(
    till: Till, cents: int, currency: str
) -> None:
    started = await till.start()
    till.pays(cents, currency)
    assert await till.settle(started.request_id) is PaymentRequestState.OPEN
    assert (await till.states(), await till.count("payments")) == (["OPEN"], 0)
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]
    assert (await till.house.read(till.claim_id)).status is Status.CREATED
    assert await till.audited("paymentRequest.mismatch") == 1


async def test_an_unavailable_provider_changes_nothing(till: Till) -> None:
    started = await till.start()
    till.provider.is_away = True
    with pytest.raises(PaymentProviderUnavailable):
        await till.settle(started.request_id)
    assert (await till.states(), await till.count("payments")) == (["OPEN"], 0)


@pytest.mark.parametrize("answer", [CheckoutFailed(), CheckoutCancelled()])
async def test_a_failed_payment_only_ends_the_request(
    till: Till, answer: CheckoutFailed | CheckoutCancelled
) -> None:
    started = await till.start()
    till.provider.answer = answer
    state = await till.settle(started.request_id)
    assert str(state) == type(answer).__name__.removeprefix("Checkout").upper()
    assert (await till.count("payments"), await till.count("holds")) == (0, 0)
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_pending_payment_holds_the_claim_for_at_most_five_days(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    till.provider.answer = CheckoutPending()
    assert await till.settle(started.request_id) is PaymentRequestState.PENDING
    [hold] = (await till.house.read(till.claim_id)).holds
    assert (hold.kind, hold.until) == (
        HoldKind.PAYMENT_PENDING,
        clock.now() + timedelta(days=5),
    )


@pytest.mark.parametrize("answer", [CheckoutFailed(), CheckoutOpen()])
async def test_the_hold_ends_when_the_payment_fails_and_is_not_opened_again(
    till: Till, answer: CheckoutFailed | CheckoutOpen
) -> None:
    started = await till.start()
    for each in (CheckoutPending(), answer):
        till.provider.answer = each
        await till.settle(started.request_id)
    assert (await till.house.read(till.claim_id)).holds == []
    till.provider.answer = CheckoutOpen()
    again = await till.start()
    till.provider.answer = CheckoutPending()
    assert await till.settle(again.request_id) is PaymentRequestState.PENDING
    # A debtor can have one such hold in 30 days (CONTRACT 4).
    assert (await till.house.read(till.claim_id)).holds == []
    assert await till.count("holds") == 1


async def test_an_older_answer_does_not_undo_a_newer_one(till: Till) -> None:
    started = await till.start()

    async def money_sets_out() -> None:
        till.provider.during_fetch = None
        till.provider.answer = CheckoutPending()
        await till.settle(started.request_id)

    till.provider.during_fetch = money_sets_out
    assert await till.settle(started.request_id) is PaymentRequestState.PENDING
    assert await till.states() == ["PENDING"]
    assert len((await till.house.read(till.claim_id)).holds) == 1


async def test_a_payment_recorded_in_between_makes_the_claim_overpaid(till: Till) -> None:
    started = await till.start()
    await till.house.pay(till.claim_id, 10240, "bank-1")
    till.pays()
    assert await till.settle(started.request_id) is PaymentRequestState.COMPLETED
    balance = (await till.house.read(till.claim_id)).balance
    assert (balance.outstanding_cents, balance.overpaid_cents) == (0, 10240)
    assert await till.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_concurrent_payments_pay_no_item_twice(till: Till) -> None:
    claim_ids = await till.house.create(*(f"INV-4{n}" for n in range(20)))
    tills = [Till(till.house, till.provider, claim_id) for claim_id in claim_ids]
    requests = [(await each.start()).request_id for each in tills]
    till.provider.answers = {
        f"ref-{each}": CheckoutSucceeded(f"psp-{each}", 10240, "EUR", till.now) for each in requests
    }
    await asyncio.gather(
        *(till.settle(each) for each in requests),
        *(till.house.pay(each, 10240, "bank-1") for each in claim_ids),
    )
    for claim_id in claim_ids:
        claim = await till.house.read(claim_id)
        assert [item.outstanding_cents for item in claim.items] == [0]
        assert (claim.status, claim.balance.overpaid_cents) == (Status.COLLECTED, 10240)


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_a_payment_for_an_ended_claim_is_recorded_without_changing_the_state(
    till: Till, status: str
) -> None:
    started = await till.start()
    await till.end_claim(status)
    till.pays()
    assert await till.settle(started.request_id) is PaymentRequestState.COMPLETED
    claim = await till.house.read(till.claim_id)
    assert (claim.status, claim.balance.outstanding_cents) == (Status(status), 0)


async def test_a_transaction_that_the_merchant_has_recorded_is_one_payment(till: Till) -> None:
    started = await till.start()
    await till.house.pay(till.claim_id, 10240, "psp-1")
    till.pays(number="psp-1")
    assert await till.settle(started.request_id) is PaymentRequestState.COMPLETED
    [payment] = await till.house.rows(_PAYMENT)
    assert payment["request_id"] == started.request_id
    assert (await till.house.read(till.claim_id)).balance.overpaid_cents == 0
    assert await till.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_a_transaction_recorded_with_another_amount_is_left_to_a_person(till: Till) -> None:
    started = await till.start()
    await till.house.pay(till.claim_id, 240, "psp-1")
    till.pays(number="psp-1")
    assert await till.settle(started.request_id) is PaymentRequestState.OPEN
    assert (await till.count("payments"), await till.audited("paymentRequest.mismatch")) == (1, 1)


async def test_unknown_requests_and_those_of_other_merchants_are_not_found(
    till: Till, resources: Resources, clock: MovableClock
) -> None:
    other = await a_till(resources, clock, key="hansen")
    started = await till.start()
    for request_id in (started.request_id, uuid4()):
        with pytest.raises(NotFound):
            await other.settle(request_id)
    assert (other.provider.fetched, till.provider.fetched) == ([], [])


async def test_a_sandbox_merchants_payment_is_made_at_its_own_time(
    resources: Resources, clock: MovableClock
) -> None:
    till = await a_till(resources, clock, sandbox=True)
    started = await till.start()
    standing = clock.now()
    clock.advance(timedelta(days=2))
    till.pays()
    await till.settle(started.request_id)
    [payment] = await till.house.rows(_PAYMENT)
    assert payment["paid_at"] == standing
    assert (await till.house.events(till.claim_id))[-1]["date"] == "2026-03-02T09:00:00Z"


async def test_a_providers_clock_that_runs_ahead_makes_no_payment_in_the_future(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    till.provider.answer = CheckoutSucceeded(
        "psp-1", 10240, "EUR", clock.now() + timedelta(minutes=3)
    )
    await till.settle(started.request_id)
    [payment] = await till.house.rows(_PAYMENT)
    assert payment["paid_at"] == clock.now()


async def _load_receipt(till: Till, request_id: UUID) -> Row:
    async with till.house.work() as work:
        return await work.tx.fetchrow(LOAD_RECEIPT, work.merchant_id, till.claim_id, request_id)


async def test_the_receipt_has_the_paid_amount(till: Till) -> None:
    started = await till.start()
    before = await _load_receipt(till, started.request_id)
    assert (before["state"], before["payment"]) == ("OPEN", None)
    till.pays()
    await till.settle(started.request_id)
    after = await _load_receipt(till, started.request_id)
    assert (after["state"], after["amount_cents"]) == ("COMPLETED", 10240)
    paid = after["payment"]
    assert (paid["transaction_id"], paid["amount_cents"]) == ("psp-1", 10240)
