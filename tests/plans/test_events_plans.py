"""Pages of events among very many use indexes and never read or sort all events."""

from datetime import timedelta

import pytest

from dunwell.core.events.event_log import EventFilter, load_events_page
from dunwell.core.events.store import save_spans
from dunwell.platform.resources import Resources
from tests.support.plans import Explaining, fill
from tests.support.webhooks import Outbox, an_outbox

COUNT, PAGE = 100_000, 50
# One event a second, a thousand in each transaction, one in a thousand of a rare type, one for each
# claim.
_FILL = f"""
INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, written_by, body)
SELECT $1, gen_random_uuid(), claim_id, n,
    CASE WHEN n % 1000 = 0 THEN 'DISPUTED' ELSE 'ESCALATED' END,
    $2::timestamptz + n * interval '1 second', (10 + n / 1000)::text::xid8, '{{}}'
FROM claims, generate_series(1, {COUNT}) n
WHERE merchant_id = $1
"""


@pytest.fixture(scope="module")
async def outbox(module_resources: Resources) -> Outbox:
    made = await an_outbox(module_resources)
    database = module_resources.database
    await fill(database, _FILL, made.merchant.merchant_id, made.now, tables="events")
    async with database.connection() as connection:
        while await save_spans(connection):
            pass
        await connection.execute("ANALYZE event_spans")
    return made


async def explain(outbox: Outbox, wanted: EventFilter, cursor: str | None = None) -> Explaining:
    async with outbox.resources.database.connection() as connection:
        explaining = Explaining(connection)
        await load_events_page(
            explaining, outbox.merchant.merchant_id, limit=PAGE, cursor=cursor, wanted=wanted
        )
    return explaining


async def cursor_at(outbox: Outbox, limit: int) -> str | None:
    async with outbox.resources.database.connection() as connection:
        merchant_id = outbox.merchant.merchant_id
        return (await load_events_page(connection, merchant_id, limit=limit)).next_cursor


async def test_event_pages_by_type_and_by_claim_use_indexes(outbox: Outbox) -> None:
    asked = {
        "events_list": EventFilter(),
        "events_by_type": EventFilter(type="DISPUTED"),
        "events_merchant_id_claim_id_sequence_key": EventFilter(claim_id=outbox.claim_id + 1),
    }
    for index, wanted in asked.items():
        explaining = await explain(outbox, wanted)
        # The query also reads epochs.
        assert explaining.indexes - {"epochs_pkey"} == {index}, explaining.plans
        assert explaining.rows_read <= PAGE + 5, explaining.plans


async def test_event_pages_by_time_read_few_rows_outside_the_period(outbox: Outbox) -> None:
    early, middle, late = (
        outbox.now + timedelta(seconds=seconds) for seconds in (1, COUNT / 2, COUNT - 100)
    )
    cursors = [None, await cursor_at(outbox, COUNT // 4), await cursor_at(outbox, COUNT - 200)]
    times = [(early, None), (middle, None), (late, None), (None, middle), (early, late),
             (middle, middle + timedelta(hours=1))]  # fmt: skip
    for since, until in times:
        for event_type in (None, "ESCALATED", "DISPUTED"):
            for cursor in cursors:
                wanted = EventFilter(since=since, until=until, type=event_type)
                explaining = await explain(outbox, wanted, cursor)
                # The query also reads events outside the period in its first and last span.
                assert explaining.rows_read <= 2_500, (wanted, cursor, explaining.plans)
                assert "events" not in explaining.tables_read_whole, explaining.plans
