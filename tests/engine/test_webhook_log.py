"""The delivery log of an endpoint, its proof of completeness, replays and other operations."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from standardwebhooks import Webhook

from dunwell.core.events.deliveries.delivery_log import (
    get_delivery,
    get_delivery_gap_report,
    get_endpoint,
    list_deliveries,
)
from dunwell.core.events.deliveries.proof import DeliveryGapReport, GapKind
from dunwell.core.events.deliveries.replay import replay_delivery, replay_given_up
from dunwell.core.events.deliveries.store import DeliveryFilter, LoggedDelivery
from dunwell.core.events.event_log import save_events
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
from dunwell.core.events.webhooks.endpoints import rotate_secret, switch_on_endpoint
from dunwell.core.events.webhooks.send_test import send_test, start_test
from dunwell.core.events.webhooks.store import load_endpoints
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.receiver import a_receiver, answers
from tests.support.webhooks import Outbox, an_outbox

_FIELDS = "SELECT details, before, after FROM audit_log WHERE merchant_id = $1 AND action = $2"
NO_ONE = "http://127.0.0.1:1/hooks"


@pytest.fixture
async def outbox(resources: Resources) -> Outbox:
    return await an_outbox(resources)


async def settle(outbox: Outbox, event_id: UUID, state: str, *statuses: int) -> None:
    """Record attempts with these responses."""
    await outbox.rows(
        "UPDATE deliveries SET state = $3, attempts = $4,"
        " due_at = CASE WHEN $3 = 'PENDING' THEN now() + interval '1 day' END"
        " WHERE merchant_id = $1 AND event_id = $2",
        event_id, state, len(statuses),
    )  # fmt: skip
    for number, status in enumerate(statuses, 1):
        await outbox.rows(
            "INSERT INTO delivery_attempts (merchant_id, endpoint_id, event_id, attempt, at, "
            "duration_ms,"
            " status, response) SELECT $1, endpoint_id, $2, $3, $4, 12, $5, 'said'"
            " FROM webhook_endpoints WHERE merchant_id = $1",
            event_id, number, outbox.now + timedelta(seconds=number), status,
        )  # fmt: skip


async def prove(outbox: Outbox, endpoint_id: UUID, first_number: int = 1) -> DeliveryGapReport:
    async with outbox.resources.database.transaction() as tx:
        return await get_delivery_gap_report(outbox.work(tx), endpoint_id, first_number)


async def log(
    outbox: Outbox, endpoint_id: UUID, limit: int = 50, **wanted: object
) -> ListPage[LoggedDelivery]:
    cursor = wanted.pop("cursor", None)
    assert cursor is None or isinstance(cursor, str)
    async with outbox.resources.database.transaction() as tx:
        return await list_deliveries(
            outbox.work(tx), endpoint_id, limit=limit, cursor=cursor,
            wanted=DeliveryFilter(**wanted),  # type: ignore[arg-type]
        )  # fmt: skip


async def test_the_proof_counts_every_event_that_was_ever_acknowledged(outbox: Outbox) -> None:
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    events = await outbox.raise_events(7)
    ids = [each.event_id for each in events]
    await settle(outbox, ids[0], "DELIVERED", 500, 204)
    await settle(outbox, ids[1], "GIVEN_UP", 500)
    await settle(outbox, ids[2], "PENDING", 200)  # Acknowledged, and replayed since.
    await settle(outbox, ids[3], "PENDING", 503)
    await settle(outbox, ids[5], "DELIVERED", 204)

    proof = await prove(outbox, endpoint_id)

    assert (proof.first, proof.last, proof.acknowledged, proof.open) == (1, 6, 3, 3)
    assert proof.waiting == 1
    assert [(each.number, each.event_id, each.kind) for each in proof.gaps] == [
        (2, ids[1], GapKind.GIVEN_UP), (4, ids[3], GapKind.RETRYING), (5, ids[4], GapKind.UNTRIED),
    ]  # fmt: skip
    later = await prove(outbox, endpoint_id, 4)
    assert (later.first, later.last, later.acknowledged, later.open) == (4, 6, 1, 2)


async def test_event_types_that_an_endpoint_does_not_subscribe_to_are_no_gap(
    outbox: Outbox,
) -> None:
    wanted = (await outbox.add_endpoint(NO_ONE, ("ARCHIVED",))).endpoint_id
    await outbox.raise_events(3)
    assert (await prove(outbox, wanted)).waiting == 0

    every = (await outbox.add_endpoint("http://127.0.0.1:1/all")).endpoint_id
    await outbox.raise_events(2)

    assert (await prove(outbox, wanted)).waiting == 0
    assert (await prove(outbox, every)).waiting == 2


async def test_an_endpoint_of_another_merchant_is_not_found(
    resources: Resources, outbox: Outbox
) -> None:
    other = await an_outbox(resources, "other")
    theirs = (await other.add_endpoint(NO_ONE)).endpoint_id
    [event] = await other.raise_events()

    assert (await log(outbox, theirs)).items == []
    with pytest.raises(NotFound):
        await prove(outbox, theirs)
    async with resources.database.transaction() as tx:
        work, keys = outbox.work(tx), resources.keys
        for attempt in (
            get_endpoint(work, theirs), get_delivery(work, theirs, event.event_id),
            replay_delivery(work, theirs, event.event_id, "PENDING-0"),
            replay_given_up(work, theirs, outbox.now), switch_on_endpoint(work, theirs),
            start_test(work, theirs), rotate_secret(work, keys, theirs),
        ):  # fmt: skip
            with pytest.raises(NotFound):
                await attempt
    assert (await other.deliveries())[0][1] == "PENDING"


async def test_endpoints_of_two_merchants_with_the_same_id_are_separate(
    resources: Resources, outbox: Outbox
) -> None:
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    other = await an_outbox(resources, "other")
    await other.add_endpoint(NO_ONE)
    await other.rows(
        "UPDATE webhook_endpoints SET endpoint_id = $2 WHERE merchant_id = $1", endpoint_id
    )
    [own] = await outbox.raise_events()
    for event in (own, *await other.raise_events(3)):
        of = outbox if event is own else other
        await settle(of, event.event_id, "GIVEN_UP", 500)

    for wanted in ({}, {"state": "GIVEN_UP"}, {"claim_id": outbox.claim_id}):
        page = await log(outbox, endpoint_id, **wanted)
        assert [each.event_id for each in page.items] == [own.event_id]
    proof = await prove(outbox, endpoint_id)
    assert (proof.last, proof.open, proof.gaps[0].event_id) == (1, 1, own.event_id)
    async with resources.database.transaction() as tx:
        since = outbox.now - timedelta(days=1)
        assert await replay_given_up(outbox.work(tx), endpoint_id, since) == 1
    assert {state for _, state, _ in await other.deliveries()} == {"GIVEN_UP"}


async def test_the_delivery_log_has_filters_and_pages(outbox: Outbox) -> None:
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    ids = [each.event_id for each in await outbox.raise_events(5)]
    await settle(outbox, ids[1], "GIVEN_UP", 500)
    await settle(outbox, ids[3], "DELIVERED", 204)

    def named(page: ListPage[LoggedDelivery]) -> list[UUID]:
        return [each.event_id for each in page.items]

    first = await log(outbox, endpoint_id, 3)
    rest = await log(outbox, endpoint_id, 3, cursor=first.next_cursor)
    assert (named(first) + named(rest), rest.next_cursor) == (ids[::-1], None)
    assert named(await log(outbox, endpoint_id, state="GIVEN_UP")) == [ids[1]]
    assert named(await log(outbox, endpoint_id, state="DELIVERED")) == [ids[3]]
    assert named(await log(outbox, endpoint_id, type="ARCHIVED")) == []
    assert named(await log(outbox, endpoint_id, claim_id=outbox.claim_id)) == ids[::-1]
    assert named(await log(outbox, endpoint_id, claim_id=outbox.claim_id + 1)) == []
    with pytest.raises(ValidationError):
        await log(outbox, endpoint_id, cursor="bad")


async def test_a_delivery_is_shown_with_all_attempts_and_its_body(outbox: Outbox) -> None:
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    [event] = await outbox.raise_events()
    await settle(outbox, event.event_id, "DELIVERED", 500, 204)

    async with outbox.resources.database.transaction() as tx:
        view = await get_delivery(outbox.work(tx), endpoint_id, event.event_id)

    assert view.body == event.body
    assert [(each.number, each.status, each.response) for each in view.attempts] == [
        (1, 500, "said"), (2, 204, "said"),
    ]  # fmt: skip


async def test_a_delivery_is_replayed_once_and_an_outdated_request_is_refused(
    outbox: Outbox,
) -> None:
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    [event] = await outbox.raise_events()
    await settle(outbox, event.event_id, "GIVEN_UP", 500)

    async def again(seen: str) -> None:
        async with outbox.resources.database.transaction() as tx:
            await replay_delivery(outbox.work(tx), endpoint_id, event.event_id, seen)

    with pytest.raises(InvalidState):
        await again("GIVEN_UP-0")
    await again("GIVEN_UP-1")
    for seen in ("GIVEN_UP-1", "PENDING-1"):
        with pytest.raises(InvalidState):
            await again(seen)

    [row] = await outbox.rows("SELECT * FROM deliveries WHERE merchant_id = $1")
    assert (row["state"], row["is_replay"], row["attempts_before"]) == ("PENDING", True, 1)
    [audited] = await outbox.rows(_FIELDS, "delivery.replay")
    assert audited["before"] == {"state": "GIVEN_UP", "attempts": 1}


async def test_a_leased_delivery_cannot_be_replayed(outbox: Outbox) -> None:
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    [event] = await outbox.raise_events()
    await outbox.rows(
        "UPDATE deliveries SET lease_id = $2, due_at = now() + interval '1 day'"
        " WHERE merchant_id = $1", uuid4(),
    )  # fmt: skip

    async with outbox.resources.database.transaction() as tx:
        with pytest.raises(InvalidState):
            await replay_delivery(outbox.work(tx), endpoint_id, event.event_id, "PENDING-0")


async def test_all_deliveries_given_up_since_a_time_are_replayed(
    outbox: Outbox, clock: MovableClock
) -> None:
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    [old] = await outbox.raise_events()
    clock.advance(timedelta(days=1))
    since = outbox.now
    lost, kept, waiting = await outbox.raise_events(3)
    for event in (old, lost):
        await settle(outbox, event.event_id, "GIVEN_UP", 500)
    await settle(outbox, kept.event_id, "DELIVERED", 204)

    async with outbox.resources.database.transaction() as tx:
        assert await replay_given_up(outbox.work(tx), endpoint_id, since) == 1

    states = {event_id: state for event_id, state, _ in await outbox.deliveries()}
    assert states == {
        old.event_id: "GIVEN_UP", lost.event_id: "PENDING", kept.event_id: "DELIVERED",
        waiting.event_id: "PENDING",
    }  # fmt: skip


async def test_an_endpoint_is_enabled_once_and_its_deliveries_are_due_at_once(
    outbox: Outbox,
) -> None:
    async with a_receiver(answers(204)) as receiver:
        endpoint_id = (await outbox.add_endpoint(receiver.url)).endpoint_id
        await outbox.rows(
            "UPDATE webhook_endpoints SET disabled_at = $2, first_failure_at = $2,"
            " disabled_reason = 'FAILING', probe_at = $2::timestamptz + interval '1 day'"
            " WHERE merchant_id = $1", outbox.now,
        )  # fmt: skip
        await outbox.raise_events()
        async with open_webhook_sender(allow_loopback=True) as sender:
            assert await WebhookDispatcher(outbox.resources, sender).run_once() == 0
            async with outbox.resources.database.transaction() as tx:
                await switch_on_endpoint(outbox.work(tx), endpoint_id)
            assert await WebhookDispatcher(outbox.resources, sender).run_once() == 1

    async with outbox.resources.database.transaction() as tx:
        with pytest.raises(InvalidState):
            await switch_on_endpoint(outbox.work(tx), endpoint_id)
    [audited] = await outbox.rows(_FIELDS, "endpoint.switch_on")
    assert audited["before"]["reason"] == "FAILING"


async def test_a_signed_test_event_goes_only_to_its_endpoint(
    resources: Resources,
) -> None:
    outbox = await an_outbox(replace(resources, clock=SystemClock()))
    async with a_receiver(answers(202)) as receiver, a_receiver(answers(204)) as other:
        new = await outbox.add_endpoint(receiver.url, ("ARCHIVED",))
        await outbox.add_endpoint(other.url)
        async with outbox.resources.database.transaction() as tx:
            started = await start_test(outbox.work(tx), new.endpoint_id)
        async with open_webhook_sender(allow_loopback=True) as sender:
            reply = await send_test(sender, outbox.resources.keys, started)

    assert (reply.status, other.received) == (202, [])
    [received] = receiver.received
    event = Webhook(new.secret).verify(received.body, received.headers)
    assert (event["claim"]["id"], event["claim"]["referenceNumber"]) == (0, "TEST")
    assert await outbox.deliveries() == []
    [audited] = await outbox.rows(_FIELDS, "endpoint.test")
    assert audited["details"] == {"eventId": received.event_id}


async def test_the_second_of_two_secret_rotations_is_refused(outbox: Outbox) -> None:
    new = await outbox.add_endpoint(NO_ONE)
    keys = outbox.resources.keys
    async with outbox.resources.database.transaction() as tx:
        [endpoint] = await load_endpoints(tx, outbox.merchant.merchant_id)
        made = await rotate_secret(outbox.work(tx), keys, new.endpoint_id, endpoint.secret_mark)
        with pytest.raises(InvalidState):
            await rotate_secret(outbox.work(tx), keys, new.endpoint_id, endpoint.secret_mark)

    assert made.secret != new.secret
    [audited] = await outbox.rows(_FIELDS, "endpoint.rotate_secret")
    until = (outbox.now + timedelta(hours=24)).isoformat()
    assert audited["before"] == {"secret": "***", "previousUntil": None}
    assert audited["after"] == {"secret": "***", "previousUntil": until}
    text = str([dict(each) for each in await outbox.rows(_FIELDS, "endpoint.rotate_secret")])
    assert made.secret not in text


async def test_events_of_one_millisecond_keep_their_numbers(outbox: Outbox) -> None:
    """The events are written out of order and numbered by their ids."""
    endpoint_id = (await outbox.add_endpoint(NO_ONE)).endpoint_id
    events = outbox.build(2)
    async with outbox.resources.database.transaction() as tx:
        await save_events(tx, outbox.merchant.merchant_id, events[::-1], outbox.now)
    await settle(outbox, events[0].event_id, "GIVEN_UP", 500)
    await settle(outbox, events[1].event_id, "DELIVERED", 204)

    [gap] = (await prove(outbox, endpoint_id)).gaps

    assert (gap.number, gap.event_id) == (1, events[0].event_id)
