"""Deliveries contain the stored bytes, signed so that standard libraries verify them."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from dunwell.core.events.webhooks.delivery import WebhookSender, open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.core.events.webhooks.endpoints import rotate_secret
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.resources import Resources
from tests.support.receiver import ReceivedRequest, a_receiver, answers, wait_until
from tests.support.webhooks import an_outbox


@pytest.fixture
async def sender() -> AsyncIterator[WebhookSender]:
    async with open_webhook_sender(allow_loopback=True) as opened:
        yield opened


@pytest.fixture
def today(resources: Resources) -> Resources:
    """Use real time, with which receivers compare the timestamp."""
    return replace(resources, clock=SystemClock())


def is_accepted(secret: str, received: ReceivedRequest, body: bytes | None = None) -> bool:
    try:
        Webhook(secret).verify(received.body if body is None else body, received.headers)
    except WebhookVerificationError:
        return False
    return True


async def test_the_body_arrives_unchanged_with_its_headers(
    today: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    async with a_receiver(answers(204)) as receiver:
        await outbox.add_endpoint(receiver.url, authorization="Bearer abc")
        [event] = await outbox.raise_events()
        assert await WebhookDispatcher(today, sender).run_once() == 1
    [received] = receiver.received
    assert received.body == event.body.encode()
    assert received.headers["webhook-id"] == str(event.event_id)
    assert received.headers["dunwell-sequence"] == "1"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["authorization"] == "Bearer abc"
    assert received.headers["user-agent"].startswith("Dunwell/")
    assert await outbox.deliveries() == [(event.event_id, "DELIVERED", 1)]


async def test_an_event_of_an_additional_type_is_sent_without_a_sequence_number(
    today: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    async with a_receiver(answers(204)) as receiver:
        new = await outbox.add_endpoint(receiver.url, ("PAYMENT_REFUNDED",))
        event = await outbox.raise_addition()
        assert await WebhookDispatcher(today, sender).run_once() == 1
    [received] = receiver.received
    assert "dunwell-sequence" not in received.headers
    assert received.body == event.body.encode()
    assert is_accepted(new.secret, received)


async def test_the_standard_library_verifies_a_delivery_and_refuses_a_changed_one(
    today: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    async with a_receiver(answers(204)) as receiver:
        secret = (await outbox.add_endpoint(receiver.url)).secret
        await outbox.raise_events()
        await WebhookDispatcher(today, sender).run_once()
    [received] = receiver.received
    assert is_accepted(secret, received)
    assert not is_accepted(secret, received, received.body.replace(b"14", b"15"))
    assert not is_accepted(secret, received, json.dumps(json.loads(received.body)).encode())
    received.headers["webhook-id"] = "another"
    assert not is_accepted(secret, received)


async def test_an_old_delivery_is_refused_by_its_timestamp(
    resources: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(resources)  # Its clock shows March 2026.
    async with a_receiver(answers(204)) as receiver:
        secret = (await outbox.add_endpoint(receiver.url)).secret
        await outbox.raise_events()
        await WebhookDispatcher(resources, sender).run_once()
    [received] = receiver.received
    assert received.headers["webhook-timestamp"] == str(int(outbox.now.timestamp()))
    assert not is_accepted(secret, received)


async def test_both_secrets_verify_while_a_secret_is_rotated(
    today: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    dispatcher = WebhookDispatcher(today, sender)
    async with a_receiver(answers(204)) as receiver:
        old = await outbox.add_endpoint(receiver.url)
        await outbox.raise_events()
        await dispatcher.run_once()
        async with today.database.transaction() as tx:
            new = await rotate_secret(outbox.work(tx), today.keys, old.endpoint_id)
        await outbox.raise_events()
        await dispatcher.run_once()
    before, after = receiver.received
    assert [is_accepted(old.secret, each) for each in (before, after)] == [True, True]
    assert [is_accepted(new.secret, each) for each in (before, after)] == [False, True]


async def test_after_a_day_only_the_new_secret_signs(
    resources: Resources, clock: MovableClock, sender: WebhookSender
) -> None:
    outbox = await an_outbox(resources)
    async with a_receiver(answers(204)) as receiver:
        old = await outbox.add_endpoint(receiver.url)
        async with resources.database.transaction() as tx:
            await rotate_secret(outbox.work(tx), resources.keys, old.endpoint_id)
        for pause in (timedelta(hours=24, seconds=-1), timedelta(seconds=1)):
            clock.advance(pause)
            await outbox.raise_events()
            await WebhookDispatcher(resources, sender).run_once()
    counts = [len(each.headers["webhook-signature"].split()) for each in receiver.received]
    assert counts == [2, 1]


async def test_only_subscribed_event_types_are_delivered(
    today: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    async with a_receiver(answers(204)) as wanting, a_receiver(answers(204)) as other:
        await outbox.add_endpoint(wanting.url, ("CHECKPOINT_REACHED",))
        await outbox.add_endpoint(other.url, ("ARCHIVED",))
        await outbox.raise_events(3)
        assert await WebhookDispatcher(today, sender).run_once() == 3
    assert len(wanting.received) == 3
    assert other.received == []


async def test_the_dispatcher_delivers_until_it_is_stopped(
    today: Resources, sender: WebhookSender
) -> None:
    outbox = await an_outbox(today)
    stop = asyncio.Event()
    async with a_receiver(answers(204)) as receiver:
        await outbox.add_endpoint(receiver.url)
        running = asyncio.create_task(WebhookDispatcher(today, sender).run(stop))
        events = await outbox.raise_events(700)
        await wait_until(lambda: len(receiver.received) == 700)
        stop.set()
        await running
    assert sorted(receiver.event_ids) == sorted(str(event.event_id) for event in events)
    assert {state for _, state, _ in await outbox.deliveries()} == {"DELIVERED"}
