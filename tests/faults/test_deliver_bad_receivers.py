"""Receivers that hang, drip, redirect, send huge responses or break TLS do not affect others."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

import pytest

from dunwell.core.events.webhooks.delivery import WebhookSender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.platform.http.client import HttpClient, open_http_client
from dunwell.platform.resources import Resources
from tests.support.receiver import (
    Answering,
    a_receiver,
    answers,
    answers_at_length,
    disconnects,
    drips,
    hangs,
    redirects_to,
    wait_until,
)
from tests.support.webhooks import an_outbox

COUNT = 100
BAD: dict[str, tuple[Answering, Callable[[str], str]]] = {
    "hangs": (hangs, str),
    "drips": (drips, str),
    "redirects": (redirects_to("http://127.0.0.1:1/"), str),
    "answers at length": (answers_at_length(50_000_000, []), str),
    "disconnects": (disconnects, str),
    # The receiver answers in plain text where TLS is expected.
    "breaks TLS": (answers(204), lambda url: url.replace("http:", "https:")),
}


@pytest.fixture
async def sender() -> AsyncIterator[WebhookSender]:
    async with (
        AsyncExitStack() as opened,
        open_http_client(allow_loopback=True, user_agent="t", timeout_seconds=3) as client,
    ):

        def open_none(_: object) -> AbstractAsyncContextManager[HttpClient]:
            raise AssertionError("no networks are named")

        yield WebhookSender(client, opened, open_none, allow_loopback=True)


async def test_bad_receivers_do_not_delay_a_healthy_one(
    resources: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(resources)
    stop = asyncio.Event()
    async with AsyncExitStack() as stack:
        for answering, spell in BAD.values():
            bad = await stack.enter_async_context(a_receiver(answering))
            await outbox.add_endpoint(spell(bad.url))
        healthy = await stack.enter_async_context(a_receiver(answers(204)))
        good = await outbox.add_endpoint(healthy.url)
        await outbox.raise_events(COUNT)
        running = asyncio.create_task(WebhookDispatcher(resources, sender).run(stop))
        async with asyncio.timeout(3):  # Shorter than the timeout of a single hanging attempt.
            await wait_until(lambda: len(healthy.received) == COUNT)
        stop.set()
        await running
    rows = await outbox.rows(
        "SELECT endpoint_id, count(*) FROM deliveries"
        " WHERE merchant_id = $1 AND state = 'DELIVERED' GROUP BY endpoint_id"
    )
    delivered = {row["endpoint_id"]: row["count"] for row in rows}
    assert delivered[good.endpoint_id] == COUNT
    assert len(healthy.event_ids) == len(set(healthy.event_ids))
