"""Periodic queries and pages of lists across all claims read few of very many rows."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dunwell.cases.disputes.dispute import DisputeState
from dunwell.cases.disputes.list_disputes import list_disputes
from dunwell.cases.modalities.store import list_merchants_to_check, lock_claims_to_check
from dunwell.contact.notices.occasions.store import erase_occasions, list_due_occasions
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.harness import Harness, a_harness
from tests.support.plans import Explaining

COUNT, PAGE, FEW = 5000, 50, 5
# Every claim gets a payment plan, an ended occasion and a dispute. A tenth of the disputes are
# open, and all of these are overdue. The list of overdue disputes is bounded in time, and such a
# list skips whole transactions by the time of one of their rows. Because one transaction writes all
# disputes, each of them must have been opened early enough to be overdue.
_FILL = f"""
WITH filled AS (
    INSERT INTO claims (merchant_id, reference_number, currency, created_at, updated_at)
    SELECT $1, 'FILL-' || n, 'EUR', now(), now() FROM generate_series(1, {COUNT}) n
    RETURNING claim_id
), numbered AS (
    SELECT claim_id, row_number() OVER (ORDER BY claim_id) AS n FROM filled
), planned AS (
    INSERT INTO payment_modalities (merchant_id, modality_id, claim_id, type, state, amount_cents,
                                    paid_before_cents, requested_at, actor_kind, answered_at,
                                    check_at)
    SELECT $1, gen_random_uuid(), claim_id, 'PAYMENT_PLAN', 'APPROVED', 100, 0, $2, 'DEBTOR', $2,
           $2::timestamptz + (n + 60) * interval '1 minute'
    FROM numbered
), ended_occasions AS (
    INSERT INTO debtor_occasions (merchant_id, claim_id, occasion, subject, facts, ended_at)
    SELECT $1, claim_id, 'receipt', 'x', CASE WHEN n <= {FEW} THEN '{{}}'::jsonb END,
           $2::timestamptz - interval '8 days'
    FROM numbered
)
INSERT INTO disputes (merchant_id, dispute_id, claim_id, type, state, hold_id, actor_kind,
                      opened_at, resolved_at)
SELECT $1, gen_random_uuid(), claim_id, 'DEFECTIVE',
       CASE WHEN n % 10 = 0 THEN 'OPEN' ELSE 'WITHDRAWN' END, gen_random_uuid(), 'DEBTOR',
       $2::timestamptz - (n + 5000) * interval '1 hour',
       CASE WHEN n % 10 <> 0 THEN $2::timestamptz END
FROM numbered
"""
_DUE = """
INSERT INTO debtor_occasions (merchant_id, claim_id, occasion, subject, facts, due_at)
SELECT $1, min(claim_id), 'pause', 'n-' || n, '{}', $2 FROM claims, generate_series(1, $3) n
WHERE merchant_id = $1 GROUP BY n
"""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    harness = await a_harness(resources, clock)
    await harness.rows(_FILL, clock.now())
    await harness.rows(_DUE, clock.now(), FEW)
    async with resources.database.connection() as connection:
        await connection.execute("VACUUM (FULL, ANALYZE) merchants, claims, disputes")
        await connection.execute("VACUUM (FULL, ANALYZE) payment_modalities, debtor_occasions")
    return harness


async def test_the_check_of_payment_plans_reads_only_due_ones(
    harness: Harness, resources: Resources
) -> None:
    now, merchant_id = resources.clock.now(), harness.merchant.merchant_id
    async with resources.database.transaction() as tx:
        explaining = Explaining(tx)
        assert await list_merchants_to_check(explaining, now, None) == []
        assert await lock_claims_to_check(explaining, merchant_id, now, 500) == []
        assert explaining.rows_read <= 10, explaining.plans
        due = Explaining(tx)
        at = now + timedelta(minutes=60 + FEW)
        assert await list_merchants_to_check(due, at, None) == [merchant_id]
        assert len(await lock_claims_to_check(due, merchant_id, at, 500)) == FEW
    assert due.rows_read <= 100, due.plans
    assert due.tables_read_whole <= {"merchants"}, due.plans


async def test_due_occasions_are_found_by_an_index(harness: Harness, resources: Resources) -> None:
    async with resources.database.connection() as connection:
        explaining = Explaining(connection)
        found = await list_due_occasions(explaining, resources.clock.now(), 100)
    assert len(found) == FEW
    assert "debtor_occasions_due" in explaining.indexes, explaining.plans
    assert explaining.rows_read <= 4 * FEW, explaining.plans


async def test_ended_occasions_to_erase_are_found_by_an_index(
    harness: Harness, resources: Resources
) -> None:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        explaining = Explaining(tx)
        week, month = now - timedelta(days=7), now - timedelta(days=30)
        emptied = await erase_occasions(explaining, week, answers_before=month, limit=5000)
    assert emptied == FEW
    assert "debtor_occasions_ended" in explaining.indexes, explaining.plans
    assert explaining.tables_read_whole == set(), explaining.plans


async def test_a_page_of_disputes_reads_few_other_rows(harness: Harness) -> None:
    listed: list[dict[str, Any]] = [{}, {"state": DisputeState.OPEN}, {"is_overdue": True}]
    for wanted in listed:
        cursor = None
        for _ in range(2):
            async with harness.work() as work:
                explaining: Any = Explaining(work.tx)
                explained = replace(work, tx=explaining)
                page = await list_disputes(explained, limit=PAGE, cursor=cursor, **wanted)
            cursor = page.next_cursor
            assert len(page.items) == PAGE
            assert explaining.rows_read <= 6 * PAGE, (wanted, explaining.plans)
            assert "disputes" not in explaining.tables_read_whole, (wanted, explaining.plans)
