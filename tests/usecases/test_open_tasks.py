"""The open tasks of a merchant: each kind counted with its oldest."""

from datetime import timedelta

import pytest

from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint
from dunwell.operations.dashboards import overview
from dunwell.operations.dashboards.overview import (
    AttentionItem,
    AttentionKind,
    count_attention_items,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.listed_table import Count
from dunwell.platform.resources import Resources
from tests.support.disputes import REJECTED, dispute, resolve
from tests.support.durations import JUST
from tests.support.harness import ERP, Harness, a_harness
from tests.support.modalities import OFFERING, Arrangement

DAY = timedelta(days=1)
NOTHING = {kind: AttentionItem(Count(0, is_more=False), None) for kind in AttentionKind}
_SENT = """
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at, settled_at)
SELECT $1, gen_random_uuid(), $2, 7, n, 0, 'EMAIL',
       CASE WHEN n = 1 THEN 'UNKNOWN' ELSE 'FAILED' END, $3, $3,
       CASE WHEN n > 1 THEN $3::timestamptz - (n - 2) * interval '8 days' END
FROM generate_series(1, 4) n
RETURNING 1
"""
_PENDING = """
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                              amount_cents, currency, reference, state, created_at)
VALUES ($1, gen_random_uuid(), $2, 'BANK_TRANSFER', 'BANK_TRANSFER', 1, 'EUR', 'x', 'PENDING', $3)
RETURNING 1
"""
_FAILING = "UPDATE webhook_endpoints SET first_failure_at = $2 WHERE merchant_id = $1 RETURNING 1"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, configuration=OFFERING)


async def load_tasks(harness: Harness) -> dict[AttentionKind, AttentionItem]:
    async with harness.work() as work:
        return dict(await count_attention_items(work))


async def add_endpoints(harness: Harness) -> None:
    async with harness.work() as work:
        for name in "ab":
            wanted = NewEndpoint(f"http://127.0.0.1:9/{name}", ("*",), None)
            await add_endpoint(work, harness.resources.keys, wanted, is_development=True)


async def test_a_new_merchant_has_no_open_tasks(harness: Harness) -> None:
    await harness.create()
    await add_endpoints(harness)
    assert await load_tasks(harness) == NOTHING


async def test_each_kind_of_task_is_counted_with_its_oldest(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    started_at = clock.now()
    [claim_id, other] = await harness.create("A-1", "A-2")
    await Arrangement(harness, claim_id).ask()
    await add_endpoints(harness)
    await harness.rows(_SENT, claim_id, started_at)
    await harness.rows(_PENDING, claim_id, started_at)
    await harness.rows(_FAILING, started_at)
    await dispute(harness, claim_id, actor=ERP)
    answered = await dispute(harness, other, actor=ERP)
    await resolve(harness, answered, REJECTED)
    clock.advance(timedelta(hours=1))
    await dispute(harness, other, actor=ERP)

    found = await load_tasks(harness)
    assert found == {
        AttentionKind.OPEN_DISPUTES: AttentionItem(Count(2, is_more=False), started_at),
        AttentionKind.OVERDUE_DISPUTES: AttentionItem(Count(0, is_more=False), None),
        AttentionKind.OVERDUE_MODALITIES: AttentionItem(Count(0, is_more=False), None),
        AttentionKind.REQUESTED_MODALITIES: AttentionItem(Count(1, is_more=False), started_at),
        AttentionKind.UNKNOWN_SENDS: AttentionItem(Count(1, is_more=False), started_at),
        AttentionKind.FAILING_ENDPOINTS: AttentionItem(Count(2, is_more=False), started_at),
        AttentionKind.BOUNCED_CONTACTS: AttentionItem(Count(1, is_more=False), started_at),
        AttentionKind.UNSEEN_REPLIES: AttentionItem(Count(0, is_more=False), None),
        AttentionKind.PENDING_PAYMENTS: AttentionItem(Count(1, is_more=False), started_at),
        AttentionKind.MOVEMENTS_TO_REVIEW: AttentionItem(Count(0, is_more=False), None),
        AttentionKind.REFUNDS_TO_REVIEW: AttentionItem(Count(0, is_more=False), None),
        AttentionKind.DEBITS_TO_RELEASE: AttentionItem(Count(0, is_more=False), None),
        AttentionKind.DEBIT_FILES_TO_RELEASE: AttentionItem(Count(0, is_more=False), None),
        AttentionKind.DEBIT_FILES_TO_DELIVER: AttentionItem(Count(0, is_more=False), None),
    }
    clock.advance(30 * DAY)
    overdue = (await load_tasks(harness))[AttentionKind.OVERDUE_DISPUTES]
    assert (overdue.count, overdue.oldest_at) == (Count(2, is_more=False), started_at)
    overdue = (await load_tasks(harness))[AttentionKind.OVERDUE_MODALITIES]
    assert (overdue.count, overdue.oldest_at) == (Count(1, is_more=False), started_at)
    assert await load_tasks(await a_harness(resources, clock, key="hansen")) == NOTHING


@pytest.mark.parametrize(("days", "number"), [(4, 0), (5, 1)])
async def test_a_request_is_overdue_once_the_promised_day_is_over(
    harness: Harness, clock: MovableClock, days: int, number: int
) -> None:
    """On Friday, 6 March; the third business day is Wednesday, 11 March."""
    clock.advance(4 * DAY)
    [claim_id] = await harness.create()
    await Arrangement(harness, claim_id).ask()
    clock.advance((days + 1) * DAY)
    assert (await load_tasks(harness))[AttentionKind.OVERDUE_MODALITIES].count.number == number


async def test_a_message_that_did_not_arrive_waits_for_seven_days(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    await harness.rows(_SENT, claim_id, clock.now())
    clock.advance(7 * DAY)
    assert (await load_tasks(harness))[AttentionKind.BOUNCED_CONTACTS].count.number == 1
    clock.advance(JUST)
    assert (await load_tasks(harness))[AttentionKind.BOUNCED_CONTACTS].count.number == 0


async def test_counting_tasks_stops_at_the_limit(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    [claim_id] = await harness.create()
    for _ in range(3):
        await dispute(harness, claim_id, actor=ERP)
    monkeypatch.setattr(overview, "MAX_COUNTED", 2)
    assert (await load_tasks(harness))[AttentionKind.OPEN_DISPUTES].count == Count(2, is_more=True)
