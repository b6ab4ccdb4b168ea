"""Starting a payment at a provider: one checkout, however often and whenever it is requested."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.cases.payments.provider import (
    CheckoutCancellation,
    CheckoutState,
    CheckoutStatus,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.requests.start_payment import PaymentIntent, start_payment
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.merchants import CONFIGURATION
from tests.support.payments import (
    DEBTOR,
    RETURN_URL,
    PaymentHarness,
    ProcessDied,
    ScriptedPaymentProvider,
    a_paid_checkout,
    a_payment_harness,
)


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def test_the_provider_gets_the_outstanding_amount_and_no_name(
    payments: PaymentHarness,
) -> None:
    started = await payments.start(language="en")
    [asked] = payments.provider.started
    assert started.url == f"https://pay.example/{started.request_id}"
    assert (asked.amount_cents, asked.currency, asked.language) == (10240, "EUR", "en")
    assert asked.reference == "INV-1001"
    assert asked.description == "Nordwind Schuhe GmbH, INV-1001"
    assert asked.return_url == f"http://127.0.0.1:8000/claim/pay/{started.request_id}"
    assert asked.notification_url == "http://127.0.0.1:8000/callbacks/payments/sandbox"
    assert "Mustermann" not in repr(asked)


async def test_starting_a_payment_raises_the_documented_event_once(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    [event] = await payments.harness.events(payments.claim_id)
    assert event["type"] == "PAYMENT_IN_PROGRESS"
    assert event["source"] is None
    assert event["claim"]["payment"] == {
        "providerName": "sandbox",
        "amount": 10240,
        "currency": "EUR",
        "reference": "INV-1001",
        "paymentRequestId": str(started.request_id),
    }


async def test_twenty_concurrent_clicks_make_one_request_event_and_address(
    payments: PaymentHarness,
) -> None:
    together = asyncio.Barrier(2)

    async def meet() -> None:
        # At least two callers are inside the provider's call at the same time.
        if together.n_waiting or len(payments.provider.started) == 1:
            await together.wait()

    payments.provider.during_start = meet
    started = await asyncio.gather(*(payments.start() for _ in range(20)))
    assert len({(each.request_id, each.url) for each in started}) == 1
    assert await payments.states() == ["OPEN"]
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]
    assert len({asked.request_id for asked in payments.provider.started}) == 1
    assert len(payments.provider.started) > 1


async def test_a_second_click_gets_the_same_address_and_no_second_event(
    payments: PaymentHarness,
) -> None:
    first = await payments.start()
    assert await payments.start() == first
    assert len(payments.provider.started) == 1
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]


async def test_an_open_checkout_is_reused_while_the_provider_is_unavailable(
    payments: PaymentHarness,
) -> None:
    first = await payments.start()
    payments.provider.is_away = True
    assert await payments.start() == first


async def test_a_retry_after_an_unavailable_provider_uses_the_same_key(
    payments: PaymentHarness,
) -> None:
    payments.provider.is_away = True
    with pytest.raises(PaymentProviderUnavailable):
        await payments.start()
    assert (await payments.states(), await payments.events()) == (["CREATED"], [])
    payments.provider.is_away = False
    started = await payments.start()
    assert [asked.request_id for asked in payments.provider.started] == [started.request_id] * 2
    assert (await payments.states(), await payments.events()) == (["OPEN"], ["PAYMENT_IN_PROGRESS"])


async def test_a_provider_that_fails_counts_as_unavailable(payments: PaymentHarness) -> None:
    async def breaks() -> None:
        raise ConnectionResetError

    payments.provider.during_start = breaks
    with pytest.raises(PaymentProviderUnavailable):
        await payments.start()
    assert await payments.states() == ["CREATED"]


async def test_the_next_click_after_a_crash_finds_the_same_checkout(
    payments: PaymentHarness,
) -> None:
    async def dies() -> None:
        raise ProcessDied

    payments.provider.during_start = dies
    with pytest.raises(ProcessDied):
        await payments.start()
    assert (await payments.states(), await payments.events()) == (["CREATED"], [])
    payments.provider.during_start = None
    started = await payments.start()
    assert {asked.request_id for asked in payments.provider.started} == {started.request_id}
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_checkout_that_was_cancelled_is_followed_by_a_new_one(
    payments: PaymentHarness,
) -> None:
    first = await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.CANCELLED)
    second = await payments.start()
    assert second.request_id != first.request_id
    assert await payments.states() == ["CANCELLED", "OPEN"]
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"] * 2


async def test_an_expired_checkout_that_is_still_open_is_cancelled_before_the_next(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """Otherwise the debtor could pay both."""
    first = await payments.start()
    clock.advance(timedelta(hours=24))
    await payments.sweep()
    assert await payments.states() == ["EXPIRED"]
    payments.provider.cancellation = CheckoutCancellation.CANCELLED
    await payments.start()
    assert payments.provider.cancelled == [f"ref-{first.request_id}"]
    # The checkout is closed, and not cancelled again.
    await payments.start()
    assert len(payments.provider.cancelled) == 1
    assert await payments.states() == ["EXPIRED", "OPEN"]


async def test_a_provider_that_hangs_does_not_keep_the_debtor_from_paying_through_another(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dunwell.cases.payments.requests.start_payment._ELSEWHERE_SECONDS", 0.5)
    methods = PaymentSettings(methods=(PaymentMethod("sandbox"), PaymentMethod("other")))
    configuration = msgspec.structs.replace(CONFIGURATION, payment=methods)
    payments = await a_payment_harness(resources, clock, configuration=configuration)
    await payments.start()

    async def hang() -> None:
        await asyncio.Event().wait()

    payments.provider.during_cancel = hang
    other = ScriptedPaymentProvider(name="other")
    intent = PaymentIntent("other", 10240, RETURN_URL)
    async with asyncio.timeout(15):
        await start_payment(
            resources, {**payments.providers, "other": other}, payments.harness.merchant, DEBTOR,
            payments.claim_id, intent,
        )  # fmt: skip
    assert len(other.started) == 1
    assert await payments.states() == ["OPEN", "OPEN"]


async def test_no_payment_can_start_while_another_is_pending(payments: PaymentHarness) -> None:
    await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    with pytest.raises(InvalidState) as refusal:
        await payments.start()
    assert refusal.value.details == {"state": "PENDING"}
    assert await payments.states() == ["PENDING"]


async def test_a_paid_claim_cannot_be_paid_again(payments: PaymentHarness) -> None:
    await payments.start()
    payments.pays()
    with pytest.raises(InvalidState) as refusal:
        await payments.start()
    assert refusal.value.details == {"state": "COLLECTED"}
    assert (await payments.states(), await payments.count("payments")) == (["COMPLETED"], 1)


@pytest.mark.parametrize("cents", [10239, 10241, 1])
async def test_an_amount_other_than_the_outstanding_one_is_refused(
    payments: PaymentHarness, cents: int
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await payments.start(cents)
    assert [(each.path, each.code) for each in refusal.value.faults] == [
        ("/amount", "AMOUNT_CHANGED")
    ]
    assert (await payments.states(), payments.provider.started) == ([], [])


async def test_a_request_for_an_outdated_amount_is_replaced(payments: PaymentHarness) -> None:
    first = await payments.start()
    await payments.harness.pay(payments.claim_id, 240, "bank-1")
    second = await payments.start(10000)
    assert second.request_id != first.request_id
    assert await payments.states() == ["CANCELLED", "OPEN"]
    # The old checkout can still be paid, so it is still checked.
    paid = a_paid_checkout("psp-1", 10240, "EUR", payments.now)
    payments.provider.answers = {f"ref-{first.request_id}": paid}
    payments.harness.clock.advance(timedelta(minutes=1))
    assert await payments.sweep() == 2
    assert await payments.states() == ["COMPLETED", "OPEN"]
    claim = await payments.harness.read(payments.claim_id)
    assert (claim.balance.outstanding_cents, claim.balance.overpaid_cents) == (0, 240)


async def test_a_claim_paid_while_the_provider_was_called_is_not_handed_off(
    payments: PaymentHarness,
) -> None:
    async def paid_meanwhile() -> None:
        await payments.harness.pay(payments.claim_id, 10240, "bank-1")

    payments.provider.during_start = paid_meanwhile
    with pytest.raises(InvalidState) as refusal:
        await payments.start()
    assert refusal.value.details == {"state": "COLLECTED"}
    assert (await payments.states(), await payments.events()) == (["CANCELLED"], [])


async def test_an_ended_claim_cannot_be_paid(payments: PaymentHarness) -> None:
    await payments.end_claim("WITHDRAWN")
    with pytest.raises(InvalidState):
        await payments.start()
    assert (await payments.states(), payments.provider.started) == ([], [])


async def test_only_providers_that_the_merchant_offers_can_be_chosen(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await a_payment_harness(resources, clock, configuration=CONFIGURATION)
    for name in ("sandbox", "elsewhere"):
        with pytest.raises(ValidationError) as refusal:
            await payments.start(provider=name)
        assert [each.path for each in refusal.value.faults] == ["/provider"]
    assert await payments.states() == []


async def test_sandbox_and_real_payments_are_kept_apart(
    resources: Resources, clock: MovableClock
) -> None:
    production = replace(resources, settings=replace(resources.settings, profile="production"))
    live = await a_payment_harness(production, clock)
    with pytest.raises(InvalidState):
        await live.start()
    sandbox = await a_payment_harness(production, clock, key="rehearsal", sandbox=True)
    await sandbox.start()
    provider = ScriptedPaymentProvider(moves_money=True)
    rehearsal = await a_payment_harness(
        resources, clock, key="third", sandbox=True, provider=provider
    )
    with pytest.raises(InvalidState):
        await rehearsal.start()
    assert (await live.states(), await rehearsal.states()) == ([], [])


async def test_a_sandbox_merchants_request_runs_in_real_time_and_its_event_in_its_own(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await a_payment_harness(resources, clock, sandbox=True)
    clock.advance(timedelta(days=3))
    await payments.start()
    [event] = await payments.harness.events(payments.claim_id)
    assert event["date"] == "2026-03-02T09:00:00Z"
    [row] = await payments.harness.rows(
        "SELECT created_at, next_check_at FROM payment_requests WHERE merchant_id = $1"
    )
    assert tuple(row) == (clock.now(), clock.now() + timedelta(minutes=1))
