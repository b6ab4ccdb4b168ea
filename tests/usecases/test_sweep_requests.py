"""Checking payment requests whose notification never arrived."""

import asyncio
from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, ProcessDied, a_payment_harness

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def test_without_a_notification_the_payment_is_found_after_a_minute(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    payments.pays()
    clock.advance(MINUTE - timedelta(seconds=1))
    assert await payments.sweep() == 0
    clock.advance(timedelta(seconds=1))
    assert await payments.sweep() == 1
    assert (await payments.states(), await payments.count("payments")) == (["COMPLETED"], 1)
    assert await payments.sweep() == 0


async def test_delays_between_checks_grow_and_the_request_expires_after_a_day(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    looks, start = [], clock.now()
    while clock.now() < start + timedelta(days=2):
        clock.advance(MINUTE)
        if await payments.sweep():
            looks.append((clock.now() - start) / MINUTE)
    # An expired request is still checked, because its checkout is open.
    assert looks == [1, 6, 21, 81, 441, 1440, 2880]
    assert await payments.states() == ["EXPIRED"]


async def test_an_expired_request_that_is_paid_later_is_recorded(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    clock.advance(24 * HOUR)
    await payments.sweep()
    assert await payments.states() == ["EXPIRED"]
    payments.pays()
    await payments.settle(started.request_id)
    assert (await payments.states(), await payments.count("payments")) == (["COMPLETED"], 1)


async def test_an_unavailable_provider_is_queried_again_after_the_usual_delay(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    payments.provider.is_away = True
    clock.advance(MINUTE)
    assert await payments.sweep() == 1
    payments.provider.is_away = False
    payments.pays()
    assert await payments.sweep() == 0
    clock.advance(5 * MINUTE)
    assert await payments.sweep() == 1
    assert await payments.states() == ["COMPLETED"]


async def test_a_failed_check_of_one_request_does_not_affect_others(
    payments: PaymentHarness, resources: Resources, clock: MovableClock
) -> None:
    [other_id] = await payments.harness.create("INV-1002")
    other = PaymentHarness(payments.harness, payments.provider, other_id)
    await payments.start()
    await other.start()
    payments.pays()
    calls = iter([ConnectionResetError(), None])

    async def first_breaks() -> None:
        error = next(calls)
        if error is not None:
            raise error

    payments.provider.during_fetch = first_breaks
    clock.advance(MINUTE)
    assert await payments.sweep() == 2
    assert sorted(await payments.states()) == ["COMPLETED", "OPEN"]


async def test_concurrent_sweeps_check_each_request_once(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    for number in range(30):
        [claim_id] = await payments.harness.create(f"INV-2{number}")
        await PaymentHarness(payments.harness, payments.provider, claim_id).start()
    clock.advance(MINUTE)
    looked_at = await asyncio.gather(*(payments.sweep() for _ in range(4)))
    assert sum(looked_at) == 30
    assert len(payments.provider.fetched) == len(set(payments.provider.fetched)) == 30


async def test_a_request_without_a_redirect_expires_after_a_day(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    async def dies() -> None:
        raise ProcessDied

    payments.provider.during_start = dies
    with pytest.raises(ProcessDied):
        await payments.start()
    clock.advance(MINUTE)
    assert await payments.sweep() == 1
    assert await payments.states() == ["CREATED"]
    clock.advance(24 * HOUR)
    await payments.sweep()
    assert (await payments.states(), await payments.events()) == (["EXPIRED"], [])
    assert payments.provider.fetched == []


async def test_a_request_with_a_mismatch_is_checked_again(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    payments.pays(1, "USD")
    for hours in (1, 24, 48, 72):
        clock.advance(hours * HOUR)
        assert await payments.sweep() == 1
    assert (await payments.states(), await payments.count("payments")) == (["PENDING"], 0)
    # Staff is notified once.
    assert await payments.audited("paymentRequest.mismatch") == 1
