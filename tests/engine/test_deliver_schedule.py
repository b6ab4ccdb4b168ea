"""Attempts follow the published retry schedule; endpoints are disabled and enabled again."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web

from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.core.events.webhooks.retry import DELAYS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.receiver import a_receiver, answers, answers_in_turn
from tests.support.webhooks import Outbox, an_outbox

SECOND = timedelta(seconds=1)


@pytest.fixture
async def dispatcher(resources: Resources) -> AsyncIterator[WebhookDispatcher]:
    """Return a dispatcher whose random delays are always the middle of their range."""
    async with open_webhook_sender(allow_loopback=True) as sender:
        yield WebhookDispatcher(resources, sender, fraction=lambda: 0.5)


@pytest.fixture
async def outbox(resources: Resources) -> Outbox:
    return await an_outbox(resources)


async def test_a_failing_delivery_follows_the_published_retry_schedule_and_is_given_up(
    outbox: Outbox, dispatcher: WebhookDispatcher, clock: MovableClock
) -> None:
    async with a_receiver(answers(500, "out of order")) as receiver:
        await outbox.add_endpoint(receiver.url)
        [event] = await outbox.raise_events()
        assert await dispatcher.run_once() == 1
        for gap in DELAYS:
            clock.advance(gap - SECOND)
            assert await dispatcher.run_once() == 0
            clock.advance(SECOND)
            assert await dispatcher.run_once() == 1
        clock.advance(timedelta(days=2))
        assert await dispatcher.run_once() == 0
    assert await outbox.deliveries() == [(event.event_id, "GIVEN_UP", 10)]
    assert receiver.event_ids == [str(event.event_id)] * 10
    attempts = await outbox.rows(
        "SELECT * FROM delivery_attempts WHERE merchant_id = $1 ORDER BY attempt"
    )
    assert [row["attempt"] for row in attempts] == list(range(1, 11))
    assert {(row["status"], row["error"], row["response"]) for row in attempts} == {
        (500, None, "out of order")
    }
    gaps = [attempts[place + 1]["at"] - attempts[place]["at"] for place in range(9)]
    assert gaps == list(DELAYS)


async def test_a_delivered_event_is_not_sent_again(
    outbox: Outbox, dispatcher: WebhookDispatcher, clock: MovableClock
) -> None:
    async with a_receiver(answers_in_turn(500, 302, 200)) as receiver:
        new = await outbox.add_endpoint(receiver.url)
        [event] = await outbox.raise_events()
        for gap in (SECOND * 0, *DELAYS[:4]):
            clock.advance(gap)
            await dispatcher.run_once()
    assert await outbox.deliveries() == [(event.event_id, "DELIVERED", 3)]
    assert len(receiver.received) == 3
    assert (await outbox.endpoint(new.endpoint_id))["first_failure_at"] is None


async def test_the_next_attempt_waits_for_retry_after(
    outbox: Outbox, dispatcher: WebhookDispatcher, clock: MovableClock
) -> None:
    async with a_receiver(answers(503, Retry_After="90")) as receiver:
        await outbox.add_endpoint(receiver.url)
        await outbox.raise_events()
        await dispatcher.run_once()
        [row] = await outbox.rows("SELECT due_at FROM deliveries WHERE merchant_id = $1")
    wait = row["due_at"] - clock.now()
    assert timedelta(seconds=90) <= wait < timedelta(seconds=91)


async def test_an_endpoint_that_answers_410_is_disabled_probed_and_enabled_again(
    outbox: Outbox, dispatcher: WebhookDispatcher, clock: MovableClock
) -> None:
    async with a_receiver(answers_in_turn(410, 410, 410, 204)) as receiver:
        new = await outbox.add_endpoint(receiver.url)
        await outbox.raise_events()
        await dispatcher.run_once()
        clock.advance(timedelta(hours=1))
        await dispatcher.run_once()
        row = await outbox.endpoint(new.endpoint_id)
        assert row["disabled_reason"] == "GONE"
        await outbox.raise_events(3)
        assert await dispatcher.run_once() == 0
        clock.advance(timedelta(hours=1, seconds=1))
        assert await dispatcher.run_once() == 1  # The first probe is answered with 410.
        assert await dispatcher.run_once() == 0
        clock.advance(timedelta(hours=2))
        assert await dispatcher.run_once() == 1  # The second probe is answered with 204.
        assert await dispatcher.run_once() == 3
    assert (await outbox.endpoint(new.endpoint_id))["disabled_at"] is None
    assert {state for _, state, _ in await outbox.deliveries()} == {"DELIVERED"}
    audit = await outbox.rows("SELECT action FROM audit_log WHERE merchant_id = $1 ORDER BY at")
    assert [row["action"] for row in audit] == [
        "endpoint.add", "endpoint.switch_off", "endpoint.switch_on",
    ]  # fmt: skip


async def test_an_endpoint_is_disabled_after_five_days_of_failures(
    outbox: Outbox, dispatcher: WebhookDispatcher, clock: MovableClock
) -> None:
    async with a_receiver(answers(500)) as receiver:
        new = await outbox.add_endpoint(receiver.url)
        for _ in range(5):
            await outbox.raise_events()
            await dispatcher.run_once()
            clock.advance(timedelta(days=1))
        assert (await outbox.endpoint(new.endpoint_id))["disabled_at"] is None
        await dispatcher.run_once()
    assert (await outbox.endpoint(new.endpoint_id))["disabled_reason"] == "FAILING"


async def test_the_logged_response_is_shortened_and_printable(
    outbox: Outbox, dispatcher: WebhookDispatcher
) -> None:
    async with a_receiver(answers(500, "no\x00\n" + "ä" * 3000)) as receiver:
        await outbox.add_endpoint(receiver.url)
        await outbox.raise_events()
        await dispatcher.run_once()
    [row] = await outbox.rows("SELECT response FROM delivery_attempts WHERE merchant_id = $1")
    assert row["response"] == "no  " + "ä" * 496


async def test_an_endpoint_whose_secret_cannot_be_decrypted_does_not_affect_others(
    outbox: Outbox, dispatcher: WebhookDispatcher
) -> None:
    async with a_receiver(answers(204)) as receiver:
        broken = await outbox.add_endpoint(receiver.url + "/broken")
        await outbox.add_endpoint(receiver.url)
        await outbox.rows(
            "UPDATE webhook_endpoints SET secret_sealed = '\\x00'"
            " WHERE merchant_id = $1 AND endpoint_id = $2",
            broken.endpoint_id,
        )
        await outbox.raise_events(2)
        assert await dispatcher.run_once() == 2
    states = [state for _, state, _ in await outbox.deliveries()]
    assert sorted(states) == ["DELIVERED", "DELIVERED", "PENDING", "PENDING"]


async def test_what_is_in_flight_is_recorded_when_a_new_secret_cannot_be_decrypted(
    outbox: Outbox, dispatcher: WebhookDispatcher
) -> None:
    async def spoil_the_secret(request: web.Request) -> web.StreamResponse:
        await outbox.rows(
            "UPDATE webhook_endpoints SET secret_sealed = '\\x00' WHERE merchant_id = $1"
        )
        await asyncio.sleep(0.2)
        return await answers(204)(request)

    async with a_receiver(spoil_the_secret) as receiver:
        await outbox.add_endpoint(receiver.url)
        await outbox.raise_events(100)
        await dispatcher.run_once()
    states = Counter(state for _, state, _ in await outbox.deliveries())
    assert 0 < states["DELIVERED"] == len(receiver.received) < 100
