"""While nothing is due, few rows are read, however many merchants there are. Due work is always
found."""

from datetime import timedelta

import pytest

from dunwell.cases.modalities.store import list_merchants_to_check
from dunwell.contact.escalation.contacts.store import list_channels_with_contacts
from dunwell.contact.escalation.store import list_merchants_with_due_claims
from dunwell.contact.messages.ledger.store import list_merchants_to_seal
from dunwell.core.claims.store import list_claims_with_ended_holds
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import a_harness
from tests.support.plans import Explaining

_MERCHANTS = 2000
_READ_TABLES = (
    "merchants, claims, communications, holds, payment_modalities, contact_ledger, audit_log"
)
_MANY = """
INSERT INTO merchants (key, name, sandbox, switched_to_workflows, configuration, created_at)
SELECT key || '-' || n, name, sandbox, switched_to_workflows, configuration, created_at
FROM merchants, generate_series(1, $2) n
WHERE merchant_id = $1
"""
_SLEEP = "UPDATE claims SET due_at = $2 WHERE merchant_id = $1"
_PAUSE = """
INSERT INTO holds (merchant_id, hold_id, claim_id, kind, since, until, actor_kind)
SELECT merchant_id, gen_random_uuid(), claim_id, 'PAUSE', $2, $3, 'SYSTEM'
FROM claims WHERE merchant_id = $1
"""
_AWAKE = """
UPDATE claims SET due_at = $2
WHERE claim_id = (SELECT min(claim_id) FROM claims WHERE merchant_id = $1)
"""


@pytest.mark.parametrize("is_sandbox", [False, True])
async def test_without_due_work_few_rows_are_read_for_any_number_of_merchants(
    resources: Resources, clock: MovableClock, is_sandbox: bool
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    await harness.create("A-1", "A-2")
    now, later = clock.now(), clock.now() + timedelta(days=1)
    await harness.rows(_SLEEP, later)
    await harness.rows(_PAUSE, now, later)
    await harness.rows(_MANY, _MERCHANTS)
    if is_sandbox:
        # The claim is due by the real time but not by the sandbox's own clock, which does not run.
        sandbox = await a_harness(resources, clock, a_definition(), key="sandbox", sandbox=True)
        await sandbox.create("A-1")
        await sandbox.rows(_SLEEP, now + timedelta(hours=1))
        now += timedelta(hours=2)
    async with resources.database.connection() as connection:
        # Remove the dead rows of earlier tests. A bloated index of sandbox merchants would cost
        # more than reading all merchants.
        await connection.execute(f"VACUUM (FULL, ANALYZE) {_READ_TABLES}")
    async with resources.database.transaction() as tx:
        explaining = Explaining(tx)
        assert await list_merchants_with_due_claims(explaining, now, 0, 50) == []
        assert await list_channels_with_contacts(explaining, now, (0, "EMAIL"), [], 50) == []
        assert await list_claims_with_ended_holds(explaining, now, None, 50) == {}
        assert await list_merchants_to_check(explaining, now, None) == []
        # Only the merchant's own rows wait for their seal.
        assert len(await list_merchants_to_seal(explaining)) == 1 + is_sandbox
        assert explaining.rows_read <= 100, explaining.reads
        assert await list_merchants_with_due_claims(tx, later, 0, 50) == [
            harness.merchant.merchant_id
        ]
        assert [*await list_claims_with_ended_holds(tx, later, None, 50)] == [
            harness.merchant.merchant_id
        ]


async def test_a_sandbox_with_an_earlier_clock_causes_no_work(
    resources: Resources, clock: MovableClock
) -> None:
    """The claims of the sandbox merchant are due by the real time, but not by its own clock."""
    live = await a_harness(resources, clock, a_definition())
    sandbox = await a_harness(resources, clock, a_definition(), key="sandbox", sandbox=True)
    for harness in (live, sandbox):
        await harness.create("A-1")
        await harness.rows(_SLEEP, clock.now() + timedelta(days=1))
    async with resources.database.transaction() as tx:
        for days, expected in ((0.5, []), (2, [live.merchant.merchant_id])):
            now = clock.now() + timedelta(days=days)
            assert await list_merchants_with_due_claims(tx, now, 0, 50) == expected
        await tx.execute(_AWAKE, sandbox.merchant.merchant_id, clock.now())
        found = await list_merchants_with_due_claims(tx, clock.now(), 0, 50)
        assert found == [sandbox.merchant.merchant_id]
