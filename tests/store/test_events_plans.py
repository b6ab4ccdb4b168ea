"""How events are found among very many: by indexes, never by reading or sorting them all."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.events.store import EventFilter, load_events_page
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from tests.support.webhooks import Outbox, an_outbox

COUNT = 100_000
# A second apart, one in a thousand of a rare type.
_FILL = f"""
INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body)
SELECT $1, gen_random_uuid(), claim_id, n,
    CASE WHEN n % 1000 = 0 THEN 'DISPUTED' ELSE 'ESCALATED' END,
    $2::timestamptz + n * interval '1 second', '{{}}'
FROM claims, generate_series(1, {COUNT}) n
WHERE merchant_id = $1
"""


class Explaining:
    """A connection that asks for the plan of what it is asked for, and keeps it."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx
        self.plan = ""

    async def fetch(self, statement: str, *values: Any) -> list[Any]:
        rows = await self._tx.fetch(f"EXPLAIN (ANALYZE, TIMING OFF) {statement}", *values)
        self.plan = "\n".join(row[0] for row in rows)
        return []


@pytest.fixture
async def outbox(resources: Resources) -> Outbox:
    made = await an_outbox(resources)
    await made.rows(_FILL, made.now)
    async with resources.database.connection() as connection:
        await connection.execute("ANALYZE events")
    return made


async def explain(outbox: Outbox, wanted: EventFilter) -> str:
    async with outbox.resources.database.connection() as connection:
        explaining = Explaining(connection)
        await load_events_page(
            explaining,
            outbox.merchant.merchant_id,
            limit=50,
            wanted=wanted,
        )
    return explaining.plan


async def test_pages_by_type_and_by_time_ride_on_indexes(outbox: Outbox) -> None:
    late = outbox.now + timedelta(seconds=COUNT - 400)
    asked = {
        "events_list": EventFilter(),
        "events_by_type": EventFilter(type="DISPUTED"),
        "events_by_time": EventFilter(since=late),
    }
    for index, wanted in asked.items():
        plan = await explain(outbox, wanted)
        assert index in plan, plan
        assert "Seq Scan" not in plan, plan
    early = await explain(outbox, EventFilter(since=outbox.now))
    assert "events_list" in early
    assert "Sort" not in early
