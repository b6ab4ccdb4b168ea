"""Hundreds of thousands of claims, copied within the database from one that was created
normally."""

from datetime import datetime, timedelta

from bench.claims import reference_of
from bench.environment import Ground
from bench.merchant import BenchMerchant, submit_claims

_PATTERN = 80_000_000
_COPIES = """
WITH pattern AS (
    SELECT c.*, nextval('claims_claim_id_seq') AS copy_id, n
    FROM claims c, generate_series(1, $4) n
    WHERE merchant_id = $1 AND reference_number = $2
), claim AS (
    INSERT INTO claims (merchant_id, claim_id, reference_number, currency, workflow_id,
                        workflow_major, run, next_step_id, due_at, created_at, updated_at)
    SELECT merchant_id, copy_id, reference_number || '-' || copy_id, currency, workflow_id,
           workflow_major, run, next_step_id, $3, created_at, updated_at
    FROM pattern
), debtor AS (
    INSERT INTO debtors (merchant_id, claim_id, first_name, last_name, email, language)
    SELECT $1, copy_id, 'Erika', 'Mustermann', 'erika.' || copy_id || '@example.org', 'de'
    FROM pattern
)
INSERT INTO items (merchant_id, claim_id, position, reference, type, value_cents, item_date)
SELECT $1, copy_id, 0, 'RE', 'PRIMARY', 10240, '2026-01-15'
FROM pattern
"""
_PART = 50_000


async def fill_dormant(ground: Ground, bench: BenchMerchant, count: int) -> datetime:
    """Replace all claims by `count` claims that are due in a day, and return when they are due."""
    await ground.clear_claims()
    due_at = bench.resources.clock.now() + timedelta(days=1)
    await submit_claims(bench, 1, _PATTERN)
    async with ground.database.connection() as connection:
        for start in range(0, count, _PART):
            await connection.execute(
                _COPIES, bench.merchant.merchant_id, reference_of(_PATTERN), due_at,
                min(_PART, count - start), timeout=600,
            )  # fmt: skip
        # The copied claim itself would be due first.
        await connection.execute(
            "DELETE FROM claims WHERE reference_number = $1", reference_of(_PATTERN)
        )
    await ground.settle()
    return due_at
