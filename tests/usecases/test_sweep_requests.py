"""Checking requests whose notice never arrived."""

import asyncio
from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.payments import Died, Till, a_till

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
async def till(resources: Resources, clock: MovableClock) -> Till:
    return await a_till(resources, clock)


async def test_without_a_notice_the_payment_is_found_after_a_minute(
    till: Till, clock: MovableClock
) -> None:
    await till.start()
    till.pays()
    clock.advance(MINUTE - timedelta(seconds=1))
    assert await till.sweep() == 0
    clock.advance(timedelta(seconds=1))
    assert await till.sweep() == 1
    assert (await till.states(), await till.count("payments")) == (["COMPLETED"], 1)
    assert await till.sweep() == 0


async def test_delays_between_checks_grow_and_the_request_expires_after_a_day(
    till: Till, clock: MovableClock
) -> None:
    await till.start()
    looks, start = [], clock.now()
    while clock.now() < start + timedelta(days=2):
        clock.advance(MINUTE)
        if await till.sweep():
            looks.append((clock.now() - start) / MINUTE)
    assert looks == [1, 6, 21, 81, 441, 1440]
    assert await till.states() == ["EXPIRED"]


async def test_an_expired_request_that_is_paid_later_is_recorded(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    clock.advance(24 * HOUR)
    await till.sweep()
    assert await till.states() == ["EXPIRED"]
    till.pays()
    await till.settle(started.request_id)
    assert (await till.states(), await till.count("payments")) == (["COMPLETED"], 1)


async def test_an_unavailable_provider_is_queried_again_after_the_usual_delay(
    till: Till, clock: MovableClock
) -> None:
    await till.start()
    till.provider.is_away = True
    clock.advance(MINUTE)
    assert await till.sweep() == 1
    till.provider.is_away = False
    till.pays()
    assert await till.sweep() == 0
    clock.advance(5 * MINUTE)
    assert await till.sweep() == 1
    assert await till.states() == ["COMPLETED"]


async def test_a_failed_check_of_one_request_does_not_affect_others(
    till: Till, resources: Resources, clock: MovableClock
) -> None:
    [other_id] = await till.house.create("INV-1002")
    other = Till(till.house, till.provider, other_id)
    await till.start()
    await other.start()
    till.pays()
    calls = iter([ConnectionResetError(), None])

    async def first_breaks() -> None:
        error = next(calls)
        if error is not None:
            raise error

    till.provider.during_fetch = first_breaks
    clock.advance(MINUTE)
    assert await till.sweep() == 2
    assert sorted(await till.states()) == ["COMPLETED", "OPEN"]


async def test_concurrent_sweeps_check_each_request_once(till: Till, clock: MovableClock) -> None:
    for number in range(30):
        [claim_id] = await till.house.create(f"INV-2{number}")
        await Till(till.house, till.provider, claim_id).start()
    clock.advance(MINUTE)
    looked_at = await asyncio.gather(*(till.sweep() for _ in range(4)))
    assert sum(looked_at) == 30
    assert len(till.provider.fetched) == len(set(till.provider.fetched)) == 30


async def test_a_request_without_a_redirect_expires_after_a_day(
    till: Till, clock: MovableClock
) -> None:
    async def dies() -> None:
        raise Died

    till.provider.during_start = dies
    with pytest.raises(Died):
        await till.start()
    clock.advance(MINUTE)
    assert await till.sweep() == 1
    assert await till.states() == ["CREATED"]
    clock.advance(24 * HOUR)
    await till.sweep()
    assert (await till.states(), await till.events()) == (["EXPIRED"], [])
    assert till.provider.fetched == []


async def test_a_request_with_a_mismatch_is_checked_again(till: Till, clock: MovableClock) -> None:
    await till.start()
    till.pays(1)
    for hours in (1, 24, 48, 72):
        clock.advance(hours * HOUR)
        assert await till.sweep() == 1
    assert (await till.states(), await till.count("payments")) == (["OPEN"], 0)
    assert await till.audited("paymentRequest.mismatch") == 4
