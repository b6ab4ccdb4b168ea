"""Replay delivers past events again with their ids, after live ones."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from dunwell.core.events.deliveries.replay import ReplayFilter, replay_events
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.core.events.webhooks.retry import DELAYS
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.receiver import a_receiver, answers, answers_in_turn
from tests.support.webhooks import Outbox, an_outbox

HOUR = timedelta(hours=1)


@pytest.fixture
async def dispatcher(resources: Resources) -> AsyncIterator[WebhookDispatcher]:
    """Return a dispatcher whose random delays are always the middle of their range."""
    async with open_webhook_sender(allow_loopback=True) as sender:
        yield WebhookDispatcher(resources, sender, fraction=lambda: 0.5)


@pytest.fixture
async def outbox(resources: Resources) -> Outbox:
    return await an_outbox(resources)


async def replay(outbox: Outbox, wanted: ReplayFilter | None = None) -> int:
    """Replay the selected events, or all."""
    async with outbox.resources.database.transaction() as tx:
        given = wanted or ReplayFilter(outbox.now - timedelta(days=30))
        return await replay_events(outbox.work(tx), given)


async def test_a_replayed_event_has_its_original_id_and_body(
    outbox: Outbox, dispatcher: WebhookDispatcher
) -> None:
    async with a_receiver(answers(204)) as receiver:
        await outbox.add_endpoint(receiver.url)
        [event] = await outbox.raise_events()
        await dispatcher.run_once()

        assert await replay(outbox) == 1
        assert await dispatcher.run_once() == 1

    assert receiver.event_ids == [str(event.event_id)] * 2
    assert [each.body for each in receiver.received] == [event.body.encode()] * 2
    assert await outbox.deliveries() == [(event.event_id, "DELIVERED", 2)]


async def test_a_replayed_event_that_was_given_up_gets_the_whole_retry_schedule(
    outbox: Outbox, dispatcher: WebhookDispatcher, clock: MovableClock
) -> None:
    async with a_receiver(answers(500)) as receiver:
        await outbox.add_endpoint(receiver.url)
        [event] = await outbox.raise_events()
        for gap in (*DELAYS, timedelta(0)):
            await dispatcher.run_once()
            clock.advance(gap)
        assert await outbox.deliveries() == [(event.event_id, "GIVEN_UP", 10)]

        assert await replay(outbox) == 1
        for gap in (*DELAYS, timedelta(0)):
            assert await dispatcher.run_once() == 1
            clock.advance(gap)

    assert await outbox.deliveries() == [(event.event_id, "GIVEN_UP", 20)]
    attempts = await outbox.rows(
        "SELECT attempt FROM delivery_attempts WHERE merchant_id = $1 ORDER BY attempt"
    )
    assert [row["attempt"] for row in attempts] == list(range(1, 21))


async def test_an_event_of_an_additional_type_is_replayed_only_to_endpoints_that_name_it(
    outbox: Outbox, dispatcher: WebhookDispatcher
) -> None:
    async with a_receiver(answers(204)) as receiver:
        event = await outbox.raise_addition()
        await outbox.add_endpoint(receiver.url)
        assert await replay(outbox) == 0
        # The events that were missed before the type was named are sent.
        await outbox.add_endpoint(receiver.url + "?named", ("*", "PAYMENT_REFUNDED"))
        assert await replay(outbox) == 1
        assert await dispatcher.run_once() == 1
    assert receiver.event_ids == [str(event.event_id)]


async def test_live_deliveries_go_first(
    outbox: Outbox, dispatcher: WebhookDispatcher, clock: MovableClock
) -> None:
    async with a_receiver(answers(204)) as receiver:
        await outbox.add_endpoint(receiver.url)
        old = await outbox.raise_events(40)
        await dispatcher.run_once()
        receiver.received.clear()

        assert await replay(outbox) == 40
        clock.advance(HOUR)
        live = await outbox.raise_events(20)
        assert await dispatcher.run_once() == 60

    first = set(receiver.event_ids[:20])
    assert first == {str(event.event_id) for event in live}
    assert sorted(receiver.event_ids[20:]) == sorted(str(event.event_id) for event in old)


async def test_replaying_a_delivery_that_waits_for_a_retry_brings_it_forward_once(
    outbox: Outbox, dispatcher: WebhookDispatcher
) -> None:
    async with a_receiver(answers_in_turn(500, 204)) as receiver:
        await outbox.add_endpoint(receiver.url)
        await outbox.raise_events()
        await dispatcher.run_once()
        assert await dispatcher.run_once() == 0

        assert [await replay(outbox), await replay(outbox)] == [1, 0]
        assert await dispatcher.run_once() == 1
    assert len(receiver.received) == 2


async def test_replay_filters_by_range_types_and_endpoint(
    outbox: Outbox, clock: MovableClock
) -> None:
    every = await outbox.add_endpoint("http://127.0.0.1:1/a")
    await outbox.add_endpoint("http://127.0.0.1:1/b", ("ARCHIVED",))
    start = outbox.now
    for _ in range(3):
        await outbox.raise_events()
        clock.advance(HOUR)
    await outbox.rows(
        "UPDATE deliveries SET state = 'GIVEN_UP', due_at = NULL WHERE merchant_id = $1"
    )

    assert await replay(outbox, ReplayFilter(start, types=("ARCHIVED",))) == 0
    assert await replay(outbox, ReplayFilter(start + HOUR, start + 2 * HOUR)) == 1
    assert await replay(outbox, ReplayFilter(start, endpoint_id=every.endpoint_id)) == 2


async def test_replay_sends_earlier_events_to_an_endpoint_added_later(
    outbox: Outbox, dispatcher: WebhookDispatcher
) -> None:
    events = await outbox.raise_events(3)
    async with a_receiver(answers(204)) as receiver:
        await outbox.add_endpoint(receiver.url)
        assert await replay(outbox) == 3
        await dispatcher.run_once()
    assert sorted(receiver.event_ids) == sorted(str(event.event_id) for event in events)


async def test_replay_with_an_invalid_range_sends_nothing(
    outbox: Outbox, resources: Resources
) -> None:
    other = await an_outbox(resources, "hansen")
    theirs = await other.add_endpoint("http://127.0.0.1:1/a")
    await outbox.raise_events()
    wanted = ReplayFilter(outbox.now, outbox.now, endpoint_id=theirs.endpoint_id)

    with pytest.raises(ValidationError) as refused:
        await replay(outbox, wanted)

    assert [each.path for each in refused.value.faults] == ["/until", "/endpointId"]
    assert await outbox.deliveries() == []


async def test_replay_of_too_many_events_is_refused_as_a_whole(outbox: Outbox) -> None:
    await outbox.rows(
        "INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body)"
        " SELECT $1, gen_random_uuid(), claim_id, n, 'ARCHIVED', now(), '{}'"
        " FROM claims, generate_series(1, 50001) n WHERE merchant_id = $1"
    )
    # Discard cached plans, as the server soon does by itself: foreign key checks that were planned
    # while the table was small would read every event of the merchant for each delivery.
    async with outbox.resources.database.connection() as connection:
        await connection.execute("ANALYZE events")
    await outbox.add_endpoint("http://127.0.0.1:1/a")

    with pytest.raises(ValidationError) as refused:
        await replay(outbox)
    assert [each.code for each in refused.value.faults] == ["TOO_MANY"]
    assert await outbox.deliveries() == []

    await outbox.rows("DELETE FROM events WHERE merchant_id = $1 AND sequence = 1")
    assert await replay(outbox) == 50_000
