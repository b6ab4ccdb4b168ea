import json

import pytest

from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import EventHead, archived
from dunwell.operations.sandbox.store import begin_count, count_since
from dunwell.platform.resources import Resources
from tests.support.webhooks import an_outbox


async def test_events_and_their_deliveries_are_written_together(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    await outbox.add_endpoint("http://127.0.0.1:1/all")
    await outbox.add_endpoint("http://127.0.0.1:1/some", ("FEE_ADDED", "CHECKPOINT_REACHED"))
    await outbox.add_endpoint("http://127.0.0.1:1/others", ("ESCALATED",))
    events = await outbox.raise_events(500)
    stored = await outbox.rows("SELECT * FROM events WHERE merchant_id = $1 ORDER BY sequence")
    assert [row["body"] for row in stored] == [event.body for event in events]
    assert [row["sequence"] for row in stored] == list(range(1, 501))
    due = await outbox.rows(
        "SELECT url, count(*), min(due_at) AS due_at FROM deliveries"
        " JOIN webhook_endpoints USING (merchant_id, endpoint_id)"
        " WHERE merchant_id = $1 AND state = 'PENDING' GROUP BY url ORDER BY url"
    )
    assert [tuple(row) for row in due] == [
        ("http://127.0.0.1:1/all", 500, outbox.now),
        ("http://127.0.0.1:1/some", 500, outbox.now),
    ]


async def test_an_addition_is_sent_only_to_endpoints_that_name_its_type(
    resources: Resources,
) -> None:
    outbox = await an_outbox(resources)
    await outbox.add_endpoint("http://127.0.0.1:1/all")
    await outbox.add_endpoint("http://127.0.0.1:1/both", ("*", "PAYMENT_REFUNDED"))
    await outbox.add_endpoint("http://127.0.0.1:1/one", ("PAYMENT_REFUNDED",))
    await outbox.add_endpoint("http://127.0.0.1:1/other", ("*", "PAYMENT_REVERSED"))
    await outbox.raise_events()
    await outbox.raise_addition()
    due = await outbox.rows(
        "SELECT url, array_agg(e.type ORDER BY event_id)::text[] AS types FROM deliveries"
        " JOIN webhook_endpoints w USING (merchant_id, endpoint_id)"
        " JOIN events e USING (merchant_id, event_id)"
        " WHERE merchant_id = $1 GROUP BY url ORDER BY url"
    )
    assert [(row["url"].rpartition("/")[2], row["types"]) for row in due] == [
        ("all", ["CHECKPOINT_REACHED"]),
        ("both", ["CHECKPOINT_REACHED", "PAYMENT_REFUNDED"]),
        ("one", ["PAYMENT_REFUNDED"]),
        ("other", ["CHECKPOINT_REACHED"]),
    ]
    [row] = await outbox.rows(
        "SELECT sequence FROM events WHERE merchant_id = $1 AND type = 'PAYMENT_REFUNDED'"
    )
    assert row["sequence"] is None


async def test_the_test_clock_counts_events_without_additions(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    merchant_id = outbox.merchant.merchant_id
    async with resources.database.transaction() as tx:
        beginning = await begin_count(tx, merchant_id, outbox.now)
    await outbox.raise_events(2)
    await outbox.raise_addition()
    async with resources.database.transaction() as tx:
        counted = await count_since(tx, merchant_id, beginning)
    assert counted.events == 2


async def test_an_empty_set_writes_nothing(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    async with resources.database.transaction() as tx:
        await save_events(tx, outbox.merchant.merchant_id, [], outbox.now)
    assert await outbox.rows("SELECT FROM events WHERE merchant_id = $1") == []


async def test_another_merchants_endpoint_gets_no_delivery(resources: Resources) -> None:
    nordwind, hansen = await an_outbox(resources), await an_outbox(resources, "hansen")
    await hansen.add_endpoint("http://127.0.0.1:1/")
    await nordwind.raise_events(3)
    assert await hansen.deliveries() == []
    assert await nordwind.deliveries() == []


async def test_a_rolled_back_change_leaves_no_event(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    await outbox.add_endpoint("http://127.0.0.1:1/")

    async def fail_after_saving() -> None:
        async with resources.database.transaction() as tx:
            await save_events(tx, outbox.merchant.merchant_id, outbox.build(), outbox.now)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail_after_saving()
    assert await outbox.rows("SELECT FROM events WHERE merchant_id = $1") == []
    assert await outbox.deliveries() == []


async def test_a_body_is_stored_unchanged(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    head = EventHead(
        resources.ids.new(outbox.now), outbox.merchant.merchant_id, outbox.claim_id,
        1, outbox.now, 'Ü"\\ 😀', None,
    )  # fmt: skip
    event = archived(head)
    async with resources.database.transaction() as tx:
        await save_events(tx, outbox.merchant.merchant_id, [event], outbox.now)
    [row] = await outbox.rows("SELECT body FROM events WHERE merchant_id = $1")
    assert row["body"] == event.body
    assert json.loads(row["body"])["claim"]["referenceNumber"] == 'Ü"\\ 😀'
