"""Events are found by time with the help of spans, in whatever order of dates they were written."""

from datetime import datetime, timedelta
from random import Random
from uuid import UUID

import msgspec
import pytest

from dunwell.core.events.event_log import EventFilter, load_events_page, save_events
from dunwell.core.events.store import save_spans
from dunwell.platform.resources import Resources
from tests.support.webhooks import Outbox, an_outbox

SPAN = 10
_SPANS = "SELECT * FROM event_spans WHERE merchant_id = $1 ORDER BY upto_written_by, upto_event_id"


@pytest.fixture
async def outbox(resources: Resources) -> Outbox:
    return await an_outbox(resources)


async def raise_at(outbox: Outbox, dates: list[datetime]) -> None:
    """Publish events with these dates, each in its own transaction."""
    for date in dates:
        [event] = outbox.build()
        async with outbox.resources.database.transaction() as tx:
            await save_events(
                tx,
                outbox.merchant.merchant_id,
                [msgspec.structs.replace(event, occurred_at=date)],
                outbox.now,
            )


async def put_into_spans(outbox: Outbox) -> int:
    async with outbox.resources.database.transaction() as tx:
        return await save_spans(tx, SPAN)


async def list_dates(outbox: Outbox, wanted: EventFilter, limit: int = 7) -> list[datetime]:
    """Return the dates of all pages, in order."""
    bodies: list[str] = []
    cursor = None
    async with outbox.resources.database.connection() as connection:
        merchant_id = outbox.merchant.merchant_id
        while True:
            page = await load_events_page(
                connection, merchant_id, limit=limit, cursor=cursor, wanted=wanted
            )
            bodies += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
    rows = await outbox.rows("SELECT body, occurred_at FROM events WHERE merchant_id = $1")
    date_of = {row["body"]: row["occurred_at"] for row in rows}
    return [date_of[body] for body in bodies]


@pytest.mark.parametrize("seed", range(3))
async def test_events_with_dates_in_any_order_are_found_in_the_order_of_writing(
    outbox: Outbox, seed: int
) -> None:
    random = Random(seed)
    dates = [outbox.now + timedelta(hours=n + random.choice([0, 0, -40, 15])) for n in range(60)]
    await raise_at(outbox, dates[:45])
    assert await put_into_spans(outbox) == 4
    await raise_at(outbox, dates[45:])

    for hour in range(-41, 80, 13):
        since, until = (outbox.now + timedelta(hours=hour + more) for more in (0, 20))
        by_both = EventFilter(since=since, until=until)
        assert await list_dates(outbox, by_both) == [d for d in dates if since <= d < until]
        assert await list_dates(outbox, EventFilter(since=since)) == [
            date for date in dates if date >= since
        ]
        assert await list_dates(outbox, EventFilter(until=until)) == [
            date for date in dates if date < until
        ]


async def test_spans_are_adjacent_and_created_once(outbox: Outbox) -> None:
    await raise_at(outbox, [outbox.now] * (2 * SPAN + 1))

    assert [await put_into_spans(outbox) for _ in range(2)] == [2, 0]

    first, second = await outbox.rows(_SPANS)
    assert (first["after_written_by"], first["after_event_id"]) == (0, UUID(int=0))
    assert second["after_written_by"] == first["upto_written_by"]
    assert second["after_event_id"] == first["upto_event_id"]


async def test_a_span_ends_before_running_transactions(outbox: Outbox) -> None:
    async with outbox.resources.database.transaction() as running:
        await running.execute("SELECT pg_current_xact_id()")
        await raise_at(outbox, [outbox.now] * SPAN)
        assert await put_into_spans(outbox) == 0
    assert await put_into_spans(outbox) == 1
