"""The delivery log of an endpoint and its list of unacknowledged deliveries use indexes among very
many deliveries."""

from dataclasses import replace
from uuid import UUID

import pytest

from dunwell.core.events.deliveries.delivery_log import list_deliveries
from dunwell.core.events.deliveries.proof import MAX_NUMBERED
from dunwell.core.events.deliveries.replay import count_given_up
from dunwell.core.events.deliveries.store import DeliveryFilter
from dunwell.core.events.webhooks.health.store import load_delivery_gaps
from dunwell.platform.database.listed_table import BUDGET
from dunwell.platform.resources import Resources
from tests.support.plans import Explaining, fill
from tests.support.webhooks import Outbox, an_outbox

COUNT, PAGE = 120_000, 50
# Of each thousand deliveries, one is given up and one is retried; the last thousand wait.
_FILL = f"""
INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body)
SELECT $1, lpad(to_hex(n), 32, '0')::uuid, claim_id, n, 'ESCALATED', $2, '{{}}'
FROM claims, generate_series(1, {COUNT}) n WHERE merchant_id = $1
"""
_FILL_DELIVERIES = f"""
INSERT INTO deliveries (merchant_id, endpoint_id, event_id, state, attempts, due_at)
SELECT $1, $2, lpad(to_hex(n), 32, '0')::uuid,
    CASE WHEN n > {COUNT - 1000} OR n % 1000 = 2 THEN 'PENDING'
         WHEN n % 1000 = 1 THEN 'GIVEN_UP' ELSE 'DELIVERED' END,
    CASE WHEN n > {COUNT - 1000} THEN 0 WHEN n % 1000 = 1 THEN 10 ELSE 1 END,
    CASE WHEN n > {COUNT - 1000} OR n % 1000 = 2 THEN now() END
FROM generate_series(1, {COUNT}) n
"""
_FILL_TRIES = """
INSERT INTO delivery_attempts (merchant_id, endpoint_id, event_id, attempt, at, duration_ms, status)
SELECT merchant_id, endpoint_id, event_id, attempts, now(), 12,
    CASE state WHEN 'DELIVERED' THEN 204 ELSE 500 END
FROM deliveries WHERE merchant_id = $1 AND endpoint_id = $2 AND attempts > 0
"""


@pytest.fixture(scope="module")
async def outbox(module_resources: Resources) -> Outbox:
    made = await an_outbox(module_resources)
    database, merchant_id = module_resources.database, made.merchant.merchant_id
    await fill(database, _FILL, merchant_id, made.now, tables="events")
    endpoint_key = merchant_id, (await made.add_endpoint("http://127.0.0.1:1/a")).endpoint_id
    await fill(database, _FILL_DELIVERIES, *endpoint_key, tables="deliveries")
    await fill(database, _FILL_TRIES, *endpoint_key, tables="delivery_attempts")
    return made


async def find_endpoint_key(outbox: Outbox) -> tuple[int, UUID]:
    [row] = await outbox.rows("SELECT endpoint_id FROM webhook_endpoints WHERE merchant_id = $1")
    return outbox.merchant.merchant_id, row["endpoint_id"]


async def test_a_page_of_the_delivery_log_never_reads_more_rows_than_its_budget(
    outbox: Outbox,
) -> None:
    _, endpoint_id = await find_endpoint_key(outbox)
    expected = {
        DeliveryFilter(): ("deliveries_pkey", 10 * PAGE),
        DeliveryFilter(state="GIVEN_UP"): ("deliveries_given_up", 10 * PAGE),
        DeliveryFilter(state="DELIVERED"): ("deliveries_pkey", 4 * BUDGET),
        DeliveryFilter(type="DISPUTED"): ("deliveries_pkey", 4 * BUDGET),
    }
    for wanted, (index, rows) in expected.items():
        async with outbox.resources.database.connection() as connection:
            explaining = Explaining(connection)
            work = replace(outbox.work(connection), tx=explaining)
            await list_deliveries(work, endpoint_id, limit=PAGE, wanted=wanted)
        assert index in explaining.indexes, explaining.plans
        assert explaining.tables_read_whole <= {"webhook_endpoints", "claims"}, explaining.plans
        assert explaining.rows_read <= rows + BUDGET + 5, (wanted, explaining.rows_read)


async def test_gaps_are_found_by_reading_the_numbered_deliveries_three_times(
    outbox: Outbox,
) -> None:
    endpoint_key = await find_endpoint_key(outbox)
    async with outbox.resources.database.connection() as connection:
        explaining = Explaining(connection)
        await load_delivery_gaps(explaining, *endpoint_key, 1)
        counted, gaps = await load_delivery_gaps(connection, *endpoint_key, 1)

    assert "deliveries_pkey" in explaining.indexes, explaining.plans
    # The rows are read from the table, then counted, then searched for gaps.
    assert explaining.rows_read <= 3 * MAX_NUMBERED + 5_000, explaining.rows_read
    assert explaining.tables_read_whole == set(), explaining.plans
    assert (counted.numbered, counted.last_sent) == (MAX_NUMBERED, MAX_NUMBERED - 1000)
    assert (counted.open, len(gaps)) == (2 * (MAX_NUMBERED - 1000) // 1000, 100)


async def test_given_up_deliveries_are_counted_by_an_index(outbox: Outbox) -> None:
    endpoint_key = await find_endpoint_key(outbox)
    async with outbox.resources.database.connection() as connection:
        explaining = Explaining(connection)
        first_event_id = UUID(int=0)
        await count_given_up(
            explaining, *endpoint_key, first_event_id=first_event_id, since=outbox.now, limit=50_001
        )

    assert "deliveries_given_up" in explaining.indexes, explaining.plans
    assert explaining.rows_read <= 300, explaining.plans
