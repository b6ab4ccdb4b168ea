"""The page of delivery providers and the check for alerts read few rows among very many messages:
each statement uses an index and reads no large table completely."""

from datetime import timedelta

import pytest

from dunwell.contact.sending.batches.release_batches import WITHDRAWN_REASON
from dunwell.operations.alerts.store import load_observations
from dunwell.operations.dashboards.store import (
    ContactSelection,
    count_arrivals,
    count_arrivals_by_destination,
    count_backlogs,
    list_failures,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources
from tests.support.harness import Harness, a_harness
from tests.support.plans import Explaining, fill, rolled_back_transaction

COUNT, MOST = 20_000, 500
_FILL = f"""
WITH filled AS (
    INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at)
    SELECT $1, 'FILL-' || n, 'EUR', now(), now() FROM generate_series(1, {COUNT}) n
    RETURNING claim_id
)
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at, settled_at, provider, destination)
SELECT $1, gen_random_uuid(), claim_id, 1, 1, 0, 'EMAIL',
       CASE WHEN claim_id % 50 = 0 THEN 'FAILED' ELSE 'ACCEPTED' END, $2, $2,
       $2::timestamptz - claim_id % 86400 * interval '1 second', 'post',
       'd' || claim_id % 7 || '.example'
FROM filled
"""
_TABLES = "claims, communications, delivery_reports, disputes, debtor_replies"


@pytest.fixture(scope="module")
async def harness(module_resources: Resources, lasting_clock: MovableClock) -> Harness:
    harness = await a_harness(module_resources, lasting_clock)
    given = harness.merchant.merchant_id, lasting_clock.now()
    await fill(module_resources.database, _FILL, *given, tables=_TABLES)
    return harness


async def read_figures(tx: Connection, harness: Harness) -> list[object]:
    looked = ContactSelection(["post", "other"], harness.clock.now() - timedelta(days=1), MOST)
    deliveries = await count_arrivals_by_destination(tx, looked, 100)
    sent = await count_arrivals(tx, looked)
    assert sum(each.sent.sent for each in deliveries) == sent["post"].sent == MOST
    failures = await list_failures(tx, looked, 100)
    assert sum(each.messages for each in failures) == sent["post"].failed
    return [sent, deliveries, failures]


async def test_figures_by_destination_use_the_providers_index(harness: Harness) -> None:
    async with harness.resources.database.connection() as connection:
        explaining = Explaining(connection)
        await read_figures(explaining, harness)
    assert "communications_of_provider" in explaining.indexes, explaining.plans
    assert "communications" not in explaining.tables_read_whole, explaining.plans
    assert explaining.rows_read < 20 * MOST, explaining.plans


async def test_the_check_for_alerts_reads_few_rows(harness: Harness) -> None:
    now = harness.clock.now()
    async with harness.resources.database.connection() as connection:
        explaining = Explaining(connection)
        await load_observations(
            explaining, now,
            late_before=now, unseen_before=now, unmatched_since=now - timedelta(days=1),
        )  # fmt: skip
        await count_backlogs(explaining, ["post"], now, MOST)
    large = {"communications", "claims"}
    assert not large & set(explaining.tables_read_whole), explaining.plans
    assert explaining.rows_read < 100, explaining.plans


async def test_withdrawn_contacts_count_neither_as_sent_nor_as_failed(harness: Harness) -> None:
    """Otherwise prompt payments would raise an alert."""
    now = harness.clock.now()
    async with rolled_back_transaction(harness.resources.database) as tx:
        await tx.execute(
            "UPDATE communications SET provider = 'print', failure = $2"
            " WHERE merchant_id = $1 AND state = 'FAILED'",
            harness.merchant.merchant_id, WITHDRAWN_REASON,
        )  # fmt: skip
        looked = ContactSelection(["print"], now - timedelta(days=1), MOST)
        assert await count_arrivals(tx, looked) == {}
        assert await count_arrivals_by_destination(tx, looked, 100) == []
        assert await list_failures(tx, looked, 100) == []
