"""The example receiver accepts each event of Dunwell once and refuses forged requests."""

from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest
from examples.receiver import Event, Receiver, print_event

from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.platform.clock import SystemClock
from dunwell.platform.resources import Resources
from tests.support.webhooks import Outbox, an_outbox


@pytest.fixture
def processed() -> list[Event]:
    return []


@pytest.fixture
def refused() -> list[str]:
    return []


@pytest.fixture
async def receiver(processed: list[Event], refused: list[str]) -> AsyncIterator[Receiver]:
    receiver = Receiver(
        "whsec_MDEyMzQ1Njc=", 0, on_event=processed.append, on_refusal=refused.append
    )
    await receiver.start()
    yield receiver
    await receiver.stop()


async def deliver(outbox: Outbox) -> int:
    async with open_webhook_sender(allow_loopback=True) as sender:
        return await WebhookDispatcher(outbox.resources, sender).run_once()


async def test_a_replayed_event_is_processed_once(
    resources: Resources, receiver: Receiver, processed: list[Event], refused: list[str]
) -> None:
    outbox = await an_outbox(replace(resources, clock=SystemClock()))
    receiver.secret = (await outbox.add_endpoint(receiver.url)).secret
    events = await outbox.raise_events(3)
    assert await deliver(outbox) == 3
    await outbox.rows(
        "UPDATE deliveries SET state = 'PENDING', due_at = now() WHERE merchant_id = $1"
    )
    await outbox.rows("DELETE FROM delivery_attempts WHERE merchant_id = $1")
    assert await deliver(outbox) == 3
    assert sorted(each["eventId"] for each in processed) == sorted(
        str(event.event_id) for event in events
    )
    assert refused == []


async def test_an_unsigned_request_is_refused(
    receiver: Receiver, processed: list[Event], refused: list[str]
) -> None:
    async with aiohttp.ClientSession() as session, session.post(receiver.url, json={}) as answer:
        assert answer.status == 401
    assert processed == []
    assert refused == ["Missing required headers"]


def test_an_event_is_printed_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    claim = {"referenceNumber": "INV-1", "fee": {"id": 9, "value": "250"}}
    event = {"date": "2026-03-02T09:30:15Z", "type": "FEE_ADDED", "claim": claim}
    print_event(event)
    assert capsys.readouterr().out == (
        "2026-03-02T09:30:15Z  FEE_ADDED           INV-1  id=9  value=250\n"
    )
