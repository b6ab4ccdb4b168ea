"""A bad endpoint does not affect others, and two dispatchers share the work."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.core.events.webhooks.delivery import WebhookSender, open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import DispatchLimits, WebhookDispatcher
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.resources import Resources
from tests.support.receiver import a_receiver, answers, hangs, wait_until
from tests.support.webhooks import an_outbox


@pytest.fixture
async def sender() -> AsyncIterator[WebhookSender]:
    async with open_webhook_sender(allow_loopback=True) as opened:
        yield opened


async def test_one_hanging_endpoint_of_ten_delays_no_other(
    resources: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(resources)
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        bad = await stack.enter_async_context(a_receiver(hangs))
        good = [await stack.enter_async_context(a_receiver(answers(204))) for _ in range(9)]
        for receiver in (bad, *good):
            await outbox.add_endpoint(receiver.url)
        await outbox.raise_events(100)
        dispatcher = WebhookDispatcher(resources, sender, DispatchLimits(in_flight=40))
        running = asyncio.create_task(dispatcher.run(stop))
        await wait_until(lambda: sum(len(each.received) for each in good) == 900)
        assert 1 <= bad.in_flight <= 10  # Still hanging when all others are done.
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert [len(set(each.event_ids)) for each in good] == [100] * 9
    assert all(each.most_in_flight <= 10 for each in good)


async def test_many_hanging_endpoints_leave_slots_for_a_healthy_one(
    resources: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(resources)
    async with a_receiver(hangs) as bad, a_receiver(answers(204)) as good:
        for number in range(30):
            await outbox.add_endpoint(f"{bad.url}/{number}")
        await outbox.rows(
            "UPDATE webhook_endpoints SET first_failure_at = created_at WHERE merchant_id = $1"
        )
        await outbox.raise_events(20)
        await outbox.add_endpoint(good.url)
        await outbox.raise_events(20)
        dispatcher = WebhookDispatcher(resources, sender, DispatchLimits(in_flight=20))
        running = asyncio.create_task(dispatcher.run(asyncio.Event()))
        await wait_until(lambda: len(good.received) == 20)
        assert bad.in_flight <= 5
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_two_dispatchers_deliver_nothing_twice(
    resources: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(replace(resources, clock=SystemClock()))
    limits = DispatchLimits(max_batch_size=20)
    async with a_receiver(answers(204)) as first, a_receiver(answers(204)) as second:
        await outbox.add_endpoint(first.url)
        await outbox.add_endpoint(second.url)
        await outbox.raise_events(500)
        pair = [WebhookDispatcher(outbox.resources, sender, limits) for _ in range(2)]
        shares = [0, 0]
        while sum(shares) < 1000:
            done = await asyncio.gather(*(each.run_once() for each in pair))
            shares = [share + attempts for share, attempts in zip(shares, done, strict=True)]
    assert sum(shares) == 1000
    for receiver in (first, second):
        assert set(Counter(receiver.event_ids).values()) == {1}
        assert len(receiver.received) == 500
    assert min(shares) > 0


async def test_deliveries_that_were_leased_and_not_started_are_released_on_stop(
    resources: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(resources)
    stop, gate = asyncio.Event(), asyncio.Event()

    async def wait_for_gate(_request: object) -> object:
        await gate.wait()
        return await answers(204)(_request)  # type: ignore[arg-type]

    async with a_receiver(wait_for_gate) as receiver:  # type: ignore[arg-type]
        await outbox.add_endpoint(receiver.url)
        await outbox.raise_events(50)
        dispatcher = WebhookDispatcher(resources, sender)
        running = asyncio.create_task(dispatcher.run(stop))
        await wait_until(lambda: len(receiver.received) == 2)
        stop.set()
        await wait_until(lambda: all(queue._is_stopped for queue in dispatcher._queues.values()))
        gate.set()
        await running
    states = Counter(state for _, state, _ in await outbox.deliveries())
    assert states == {"DELIVERED": 2, "PENDING": 48}
    rows = await outbox.rows(
        "SELECT FROM deliveries WHERE merchant_id = $1 AND state = 'PENDING'"
        " AND due_at <= $2 AND lease_id IS NULL",
        outbox.now,
    )
    assert len(rows) == 48


async def test_an_attempt_whose_lease_expired_records_nothing(
    resources: Resources, clock: MovableClock, sender: WebhookSender
) -> None:
    outbox = await an_outbox(resources)
    gate = asyncio.Event()
    calls: list[object] = []

    async def slow_once(request: object) -> object:
        calls.append(request)
        if len(calls) == 1:
            await gate.wait()
        return await answers(204 if len(calls) > 1 else 500)(request)  # type: ignore[arg-type]

    async with a_receiver(slow_once) as receiver:  # type: ignore[arg-type]
        await outbox.add_endpoint(receiver.url)
        [event] = await outbox.raise_events()
        first = asyncio.create_task(WebhookDispatcher(resources, sender).run_once())
        await wait_until(lambda: len(calls) == 1)
        clock.advance(timedelta(seconds=31))
        assert await WebhookDispatcher(resources, sender).run_once() == 1
        gate.set()
        await first
    assert receiver.event_ids == [str(event.event_id)] * 2
    assert await outbox.deliveries() == [(event.event_id, "DELIVERED", 1)]
    attempts = await outbox.rows(
        "SELECT attempt, status FROM delivery_attempts WHERE merchant_id = $1"
    )
    assert [tuple(row) for row in attempts] == [(1, 204)]
