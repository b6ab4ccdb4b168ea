"""The list of events: no event is missing, repeated, or listed before a returned cursor."""

import json
from datetime import timedelta

import pytest

from dunwell.core.events.event_log import NO_FILTER, EventFilter, load_events_page, save_events
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.webhooks import Outbox, an_outbox


async def load(
    outbox: Outbox, cursor: str | None = None, limit: int = 50, wanted: EventFilter = NO_FILTER
) -> ListPage[str]:
    async with outbox.resources.database.connection() as connection:
        merchant_id = outbox.merchant.merchant_id
        return await load_events_page(
            connection, merchant_id, limit=limit, cursor=cursor, wanted=wanted
        )


async def test_pages_contain_every_event_once_oldest_first(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    events = await outbox.raise_events(4) + await outbox.raise_events(3)
    bodies: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        page = await load(outbox, cursor, limit=3)
        bodies += page.items
        cursor, pages = page.next_cursor, pages + 1
    assert pages == 3
    assert sorted(bodies) == sorted(event.body for event in events)
    assert {json.loads(body)["eventId"] for body in bodies[:4]} == {
        str(event.event_id) for event in events[:4]
    }


async def test_the_last_page_has_no_cursor(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    await outbox.raise_events(3)
    assert (await load(outbox, limit=3)).next_cursor is None
    assert (await load(outbox, limit=2)).next_cursor is not None


async def test_events_after_a_running_transaction_are_not_listed_yet(
    resources: Resources,
) -> None:
    outbox = await an_outbox(resources)
    merchant_id = outbox.merchant.merchant_id
    slow, quick = outbox.build(1), outbox.build(1)
    async with resources.database.transaction() as tx:
        await save_events(tx, merchant_id, slow, outbox.now)
        async with resources.database.transaction() as other:
            await save_events(other, merchant_id, quick, outbox.now)
        assert (await load(outbox)).items == []
    assert (await load(outbox)).items == [slow[0].body, quick[0].body]


async def test_filters_include_since_and_exclude_until(
    resources: Resources, clock: MovableClock
) -> None:
    outbox = await an_outbox(resources)
    raised = []
    for _ in range(3):
        raised += await outbox.raise_events()
        clock.advance(timedelta(hours=1))
    start = raised[0].occurred_at
    wanted = EventFilter(since=start + timedelta(hours=1), until=start + timedelta(hours=2))
    assert (await load(outbox, wanted=wanted)).items == [raised[1].body]
    assert len((await load(outbox, wanted=EventFilter(type="CHECKPOINT_REACHED"))).items) == 3
    assert (await load(outbox, wanted=EventFilter(type="ARCHIVED"))).items == []
    assert len((await load(outbox, wanted=EventFilter(claim_id=outbox.claim_id))).items) == 3
    assert (await load(outbox, wanted=EventFilter(claim_id=outbox.claim_id + 1))).items == []


async def test_events_and_cursors_of_another_merchant_are_not_accessible(
    resources: Resources,
) -> None:
    nordwind, hansen = await an_outbox(resources), await an_outbox(resources, "hansen")
    await nordwind.raise_events(3)
    assert (await load(hansen)).items == []
    cursor = (await load(nordwind, limit=1)).next_cursor
    with pytest.raises(ValidationError):
        await load(hansen, cursor)


async def test_pages_are_in_numeric_order(resources: Resources) -> None:
    outbox = await an_outbox(resources)
    events = [(await outbox.raise_events())[0] for _ in range(3)]
    for event, written_by in zip(events, ("8", "9", "10"), strict=True):
        await outbox.rows(
            "UPDATE events SET written_by = $2::text::xid8"
            " WHERE merchant_id = $1 AND event_id = $3",
            written_by, event.event_id,
        )  # fmt: skip
    first = await load(outbox, limit=2)
    assert [*first.items, *(await load(outbox, first.next_cursor)).items] == [
        event.body for event in events
    ]
