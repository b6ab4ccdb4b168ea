"""Starting a payment at a provider: one checkout, however often and whenever it is requested."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.cases.payments.provider import (
    CheckoutCancelled,
    CheckoutPending,
    CheckoutSucceeded,
    PaymentProviderUnavailable,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.merchants import CONFIGURATION
from tests.support.payments import Died, ScriptedProvider, Till, a_till


@pytest.fixture
async def till(resources: Resources, clock: MovableClock) -> Till:
    return await a_till(resources, clock)


async def test_the_provider_gets_the_outstanding_amount_and_no_name(till: Till) -> None:
    started = await till.start(language="en")
    [asked] = till.provider.started
    assert started.url == f"https://pay.example/{started.request_id}"
    assert (asked.amount_cents, asked.currency, asked.language) == (10240, "EUR", "en")
    assert asked.reference == "INV-1001"
    assert asked.description == "Nordwind Schuhe GmbH, INV-1001"
    assert asked.return_url == f"http://127.0.0.1:8000/claim/pay/{started.request_id}"
    assert asked.notice_url == "http://127.0.0.1:8000/callbacks/payments/sandbox"
    assert "Mustermann" not in repr(asked)


async def test_starting_a_payment_raises_the_documented_event_once(till: Till) -> None:
    started = await till.start()
    [event] = await till.house.events(till.claim_id)
    assert event["type"] == "PAYMENT_IN_PROGRESS"
    assert event["source"] is None
    assert event["claim"]["payment"] == {
        "providerName": "sandbox",
        "amount": 10240,
        "currency": "EUR",
        "reference": "INV-1001",
        "paymentRequestId": str(started.request_id),
    }


async def test_twenty_concurrent_clicks_make_one_request_event_and_address(till: Till) -> None:
    together = asyncio.Barrier(2)

    async def meet() -> None:
        # At least two callers are inside the provider's call at the same time.
        if together.n_waiting or len(till.provider.started) == 1:
            await together.wait()

    till.provider.during_start = meet
    started = await asyncio.gather(*(till.start() for _ in range(20)))
    assert len({(each.request_id, each.url) for each in started}) == 1
    assert await till.states() == ["OPEN"]
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]
    assert len({asked.request_id for asked in till.provider.started}) == 1
    assert len(till.provider.started) > 1


async def test_a_second_click_gets_the_same_address_and_no_second_event(till: Till) -> None:
    first = await till.start()
    assert await till.start() == first
    assert len(till.provider.started) == 1
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]


async def test_an_open_checkout_is_reused_while_the_provider_is_unavailable(till: Till) -> None:
    first = await till.start()
    till.provider.is_away = True
    assert await till.start() == first


async def test_a_retry_after_an_unavailable_provider_uses_the_same_key(
    till: Till,
) -> None:
    till.provider.is_away = True
    with pytest.raises(PaymentProviderUnavailable):
        await till.start()
    assert (await till.states(), await till.events()) == (["CREATED"], [])
    till.provider.is_away = False
    started = await till.start()
    assert [asked.request_id for asked in till.provider.started] == [started.request_id] * 2
    assert (await till.states(), await till.events()) == (["OPEN"], ["PAYMENT_IN_PROGRESS"])


async def test_a_provider_that_fails_counts_as_unavailable(till: Till) -> None:
    async def breaks() -> None:
        raise ConnectionResetError

    till.provider.during_start = breaks
    with pytest.raises(PaymentProviderUnavailable):
        await till.start()
    assert await till.states() == ["CREATED"]


async def test_the_next_click_after_a_crash_finds_the_same_checkout(
    till: Till,
) -> None:
    async def dies() -> None:
        raise Died

    till.provider.during_start = dies
    with pytest.raises(Died):
        await till.start()
    assert (await till.states(), await till.events()) == (["CREATED"], [])
    till.provider.during_start = None
    started = await till.start()
    assert {asked.request_id for asked in till.provider.started} == {started.request_id}
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_checkout_that_was_cancelled_is_followed_by_a_new_one(till: Till) -> None:
    first = await till.start()
    till.provider.answer = CheckoutCancelled()
    second = await till.start()
    assert second.request_id != first.request_id
    assert await till.states() == ["CANCELLED", "OPEN"]
    assert await till.events() == ["PAYMENT_IN_PROGRESS"] * 2


async def test_no_payment_can_start_while_another_is_pending(till: Till) -> None:
    await till.start()
    till.provider.answer = CheckoutPending()
    with pytest.raises(InvalidState) as refusal:
        await till.start()
    assert refusal.value.details == {"state": "PENDING"}
    assert await till.states() == ["PENDING"]


async def test_a_paid_claim_cannot_be_paid_again(till: Till) -> None:
    await till.start()
    till.pays()
    with pytest.raises(InvalidState) as refusal:
        await till.start()
    assert refusal.value.details == {"state": "COLLECTED"}
    assert (await till.states(), await till.count("payments")) == (["COMPLETED"], 1)


@pytest.mark.parametrize("cents", [10239, 10241, 1])
async def test_an_amount_other_than_the_outstanding_one_is_refused(till: Till, cents: int) -> None:
    with pytest.raises(ValidationError) as refusal:
        await till.start(cents)
    assert [(each.path, each.code) for each in refusal.value.faults] == [
        ("/amount", "AMOUNT_CHANGED")
    ]
    assert (await till.states(), till.provider.started) == ([], [])


async def test_a_request_for_an_outdated_amount_is_replaced(till: Till) -> None:
    first = await till.start()
    await till.house.pay(till.claim_id, 240, "bank-1")
    second = await till.start(10000)
    assert second.request_id != first.request_id
    assert await till.states() == ["CANCELLED", "OPEN"]
    # The old checkout can still be paid, so it is still checked.
    paid = CheckoutSucceeded("psp-1", 10240, "EUR", till.now)
    till.provider.answers = {f"ref-{first.request_id}": paid}
    till.house.clock.advance(timedelta(minutes=1))
    assert await till.sweep() == 2
    assert await till.states() == ["COMPLETED", "OPEN"]
    claim = await till.house.read(till.claim_id)
    assert (claim.balance.outstanding_cents, claim.balance.overpaid_cents) == (0, 240)


async def test_a_claim_paid_while_the_provider_was_called_is_not_handed_off(till: Till) -> None:
    async def paid_meanwhile() -> None:
        await till.house.pay(till.claim_id, 10240, "bank-1")

    till.provider.during_start = paid_meanwhile
    with pytest.raises(InvalidState) as refusal:
        await till.start()
    assert refusal.value.details == {"state": "COLLECTED"}
    assert (await till.states(), await till.events()) == (["CANCELLED"], [])


async def test_ended_and_foreign_claims_cannot_be_paid(
    till: Till, resources: Resources, clock: MovableClock
) -> None:
    other = await a_till(resources, clock, key="hansen")
    other.claim_id = till.claim_id
    with pytest.raises(NotFound):
        await other.start()
    await till.end_claim("WITHDRAWN")
    with pytest.raises(InvalidState):
        await till.start()
    assert (await till.states(), till.provider.started) == ([], [])


async def test_only_providers_that_the_merchant_offers_can_be_chosen(
    resources: Resources, clock: MovableClock
) -> None:
    till = await a_till(resources, clock, configuration=CONFIGURATION)
    for name in ("sandbox", "elsewhere"):
        with pytest.raises(ValidationError) as refusal:
            await till.start(provider=name)
        assert [each.path for each in refusal.value.faults] == ["/provider"]
    assert await till.states() == []


async def test_sandbox_and_real_payments_are_kept_apart(
    resources: Resources, clock: MovableClock
) -> None:
    production = replace(resources, settings=replace(resources.settings, profile="production"))
    live = await a_till(production, clock)
    with pytest.raises(InvalidState):
        await live.start()
    sandbox = await a_till(production, clock, key="rehearsal", sandbox=True)
    await sandbox.start()
    provider = ScriptedProvider(moves_money=True)
    rehearsal = await a_till(resources, clock, key="third", sandbox=True, provider=provider)
    with pytest.raises(InvalidState):
        await rehearsal.start()
    assert (await live.states(), await rehearsal.states()) == ([], [])


async def test_a_sandbox_merchants_request_runs_in_real_time_and_its_event_in_its_own(
    resources: Resources, clock: MovableClock
) -> None:
    till = await a_till(resources, clock, sandbox=True)
    clock.advance(timedelta(days=3))
    await till.start()
    [event] = await till.house.events(till.claim_id)
    assert event["date"] == "2026-03-02T09:00:00Z"
    [row] = await till.house.rows(
        "SELECT created_at, next_check_at FROM payment_requests WHERE merchant_id = $1"
    )
    assert tuple(row) == (clock.now(), clock.now() + timedelta(minutes=1))
