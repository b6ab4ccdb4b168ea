"""Webhooks that are delivered, signed and logged, compared with a simple loop that posts the same
bodies."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

import aiohttp

from bench.children import instant_receiver
from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale, alternate
from dunwell.core.events.body import EventActionStep
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import Event, EventHead, escalated
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import DispatchLimits, WebhookDispatcher
from dunwell.platform.clock import SystemClock

_EVENTS = 20_000
_EVENTS_BESIDE = 5_000
_SET = 500
_FIRST_SILENT = 50_000_000
_DELIVERED = "SELECT count(*) FROM delivery_attempts WHERE status = 204 AND merchant_id = $1"


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    count = scale.rows(_EVENTS)
    # The endpoint that does not respond is measured first, because afterwards its deliveries are
    # due again.
    hanging = await _measure_hanging(ground, scale)
    bodies: list[bytes] = []
    async with instant_receiver(ground) as url:
        made = await make_merchant(ground, None, url)
        # Leases use real time.
        bench = replace(made, resources=ground.resources(SystemClock()))
        ours, reference = await alternate(
            scale,
            [partial(_deliver, ground, bench, count, bodies), partial(_post_bare, url, bodies)],
        )
    return [
        Line(
            work="webhooks: delivered to one endpoint, signed and logged", unit="deliveries/s",
            ours=ours, beside="a bare aiohttp loop, as many in flight", reference=reference,
            reference_unit="posts/s", at_least=0.5,
        ),
        hanging,
    ]  # fmt: skip


async def _measure_hanging(ground: Ground, scale: Scale) -> Line:
    """Compare an endpoint that responds with the same one while another merchant's endpoint accepts
    connections and never responds. A fifth slower is 0.83 of the rate."""
    count = scale.rows(_EVENTS_BESIDE)
    async with instant_receiver(ground) as url, _silent_receiver() as silent_url:
        made = await make_merchant(ground, None, url)
        well = replace(made, resources=ground.resources(SystemClock()))
        made = await make_merchant(ground, None, silent_url)
        silent = replace(made, resources=ground.resources(SystemClock()))
        beside, alone = await alternate(
            scale,
            [
                partial(_deliver_beside, ground, well, count, silent),
                partial(_deliver_beside, ground, well, count, None),
            ],
        )
    return Line(
        work="webhooks: one endpoint, while another hangs", unit="deliveries/s", ours=beside,
        beside="nobody hangs", reference=alone, at_least=0.83,
    )  # fmt: skip


@asynccontextmanager
async def _silent_receiver() -> AsyncIterator[str]:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            pass
        writer.close()

    server = await asyncio.start_server(say_nothing, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    server.close()


async def _deliver_beside(
    ground: Ground, bench: BenchMerchant, count: int, silent: BenchMerchant | None
) -> float:
    """Return the deliveries per second to the endpoint that responds."""
    await ground.clear_claims()
    await _raise_events(ground, bench, count)
    if silent is not None:
        await _raise_events(ground, silent, count, _FIRST_SILENT)
    await ground.settle()
    async with open_webhook_sender(allow_loopback=True) as sender:
        dispatcher = WebhookDispatcher(bench.resources, sender)
        started = time.perf_counter()
        delivering = asyncio.create_task(dispatcher.run(asyncio.Event()))
        while True:
            await asyncio.sleep(0.05)
            if await _count_delivered(ground, bench) >= count:
                break
        seconds = time.perf_counter() - started
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)
    return count / seconds


async def _count_delivered(ground: Ground, bench: BenchMerchant) -> int:
    async with ground.database.connection() as connection:
        counted: int = await connection.fetchval(_DELIVERED, bench.merchant.merchant_id)
    return counted


async def _deliver(ground: Ground, bench: BenchMerchant, count: int, bodies: list[bytes]) -> float:
    """Return the deliveries per second, and put the delivered bodies in place of `bodies`."""
    await ground.clear_claims()
    bodies[:] = [event.body.encode() for event in await _raise_events(ground, bench, count)]
    await ground.settle()
    async with open_webhook_sender(allow_loopback=True) as sender:
        dispatcher = WebhookDispatcher(bench.resources, sender)
        started = time.perf_counter()
        attempts = await dispatcher.run_once()
        seconds = time.perf_counter() - started
    async with ground.database.connection() as connection:
        logged = await connection.fetchval(
            "SELECT count(*) FROM delivery_attempts WHERE status = 204"
        )
    assert attempts == logged == count
    return count / seconds


async def _raise_events(
    ground: Ground, bench: BenchMerchant, count: int, first_number: int = 0
) -> list[Event]:
    await submit_claims(bench, count, first_number)
    async with ground.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT claim_id, reference_number FROM claims WHERE merchant_id = $1",
            bench.merchant.merchant_id,
        )
    events = [_make_event(bench, row["claim_id"], row["reference_number"]) for row in rows]
    now = bench.resources.clock.now()
    for start in range(0, count, _SET):
        async with ground.database.transaction() as tx:
            await save_events(tx, bench.merchant.merchant_id, events[start : start + _SET], now)
    return events


def _make_event(bench: BenchMerchant, claim_id: int, reference: str) -> Event:
    ids, now = bench.resources.ids, bench.resources.clock.now()
    merchant_id = bench.merchant.merchant_id
    head = EventHead(ids.new(now), merchant_id, claim_id, 1, now, reference, "K-4711")
    return escalated(head, EventActionStep(1, "First reminder"), "EMAIL", ids.new(now))


async def _post_bare(url: str, bodies: Sequence[bytes]) -> float:
    """Return the posts per second, with as many in flight as an endpoint may have."""
    left = iter(bodies)
    async with aiohttp.ClientSession() as session:

        async def post_all() -> None:
            for body in left:
                async with session.post(
                    url, data=body, headers={"Content-Type": "application/json"}
                ) as response:
                    await response.read()

        started = time.perf_counter()
        await asyncio.gather(*(post_all() for _ in range(DispatchLimits().in_flight_per_endpoint)))
        return len(bodies) / (time.perf_counter() - started)
