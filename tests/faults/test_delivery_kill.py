"""A dispatcher is killed with SIGKILL: every event still arrives, with the same id."""

import asyncio
import os
import signal
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from multiprocessing.context import ForkServerProcess

from aiohttp import web

from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import DispatchLimits, WebhookDispatcher
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.resources import Resources
from tests.support.processes import a_process
from tests.support.receiver import a_receiver, answers, wait_until
from tests.support.webhooks import Outbox, an_outbox


def a_dispatcher(settings: Settings) -> AbstractContextManager[ForkServerProcess]:
    return a_process(settings, "tests.support.dispatcher_process")


async def deliver_after_the_lease(outbox: Outbox) -> int:
    """Deliver what becomes due once the leases of the killed dispatcher have expired."""
    clock = MovableClock(datetime.now(UTC) + timedelta(seconds=31))
    resources = replace(outbox.resources, clock=clock)
    async with open_webhook_sender(allow_loopback=True) as sender:
        return await WebhookDispatcher(resources, sender).run_once()


async def test_a_delivery_not_recorded_before_a_kill_is_repeated_with_its_id(
    resources: Resources,
) -> None:
    outbox = await an_outbox(resources)
    pids: list[int] = []

    async def kill_the_sender(_request: web.Request) -> web.StreamResponse:
        if pids:
            os.kill(pids.pop(), signal.SIGKILL)
        return web.Response(status=204)

    async with a_receiver(kill_the_sender) as receiver:
        await outbox.add_endpoint(receiver.url)
        [event] = await outbox.raise_events()
        with a_dispatcher(resources.settings) as process:
            assert process.pid is not None
            pids.append(process.pid)
            await asyncio.to_thread(process.join, 30)
            assert process.exitcode == -signal.SIGKILL
        assert await outbox.deliveries() == [(event.event_id, "PENDING", 0)]
        assert await deliver_after_the_lease(outbox) == 1
    assert receiver.event_ids == [str(event.event_id)] * 2
    assert receiver.received[0].body == receiver.received[1].body
    assert await outbox.deliveries() == [(event.event_id, "DELIVERED", 1)]


async def test_repeated_kills_lose_no_delivery_and_repeat_few(
    resources: Resources,
) -> None:
    outbox = await an_outbox(resources)
    kills, seen = 3, 0
    async with a_receiver(answers(204)) as receiver:
        await outbox.add_endpoint(receiver.url)
        events = await outbox.raise_events(3000)
        for _ in range(kills):
            with a_dispatcher(resources.settings):
                seen += 150
                await wait_until(lambda: len(receiver.received) >= seen)  # noqa: B023 - at once
        # Deliveries leased by the killed processes become due again; the others are due already.
        await deliver_after_the_lease(outbox)
    assert {state for _, state, _ in await outbox.deliveries()} == {"DELIVERED"}
    times = Counter(receiver.event_ids)
    assert set(times) == {str(event.event_id) for event in events}
    doubled = sum(times.values()) - len(times)
    # Deliveries that were in flight, or finished but not yet recorded, at each kill.
    assert doubled <= kills * 3 * DispatchLimits().in_flight_per_endpoint
