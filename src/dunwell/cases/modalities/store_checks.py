"""The SQL of looking at modalities in sets: which are to be looked at, and when again."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.due_merchants import Due, list_due_merchants
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# Rides on payment_modalities_check_anywhere, then on payment_modalities_check. What ends a claim
# has its modality looked at without delay (`end_claim`, `hasten_check`): nobody goes over all that
# live.
_FIND_MERCHANTS = compose(
    """
SELECT due.merchant_id
FROM {due} due
WHERE $2::integer IS NULL OR due.merchant_id = $2
""",
    due=list_due_merchants(Due("payment_modalities", "d.ended_at IS NULL AND d.check_at <= {now}")),
)
_LOCK_SET = """
SELECT claim_id
FROM claims
WHERE merchant_id = $1 AND claim_id IN (
    SELECT claim_id
    FROM payment_modalities
    WHERE merchant_id = $1 AND ended_at IS NULL AND check_at <= $2
    ORDER BY check_at
    LIMIT $3)
ORDER BY claim_id
FOR NO KEY UPDATE SKIP LOCKED
"""
_POSTPONE = """
UPDATE payment_modalities p
SET check_at = n.check_at
FROM unnest($2::uuid[], $3::timestamptz[]) AS n (modality_id, check_at)
WHERE p.merchant_id = $1 AND p.modality_id = n.modality_id
"""
# By payment_modalities_one: none or one.
_HASTEN = """
UPDATE payment_modalities
SET check_at = least(check_at, $3)
WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NULL
"""


async def find_merchants_to_check(
    tx: Connection, now: datetime, merchant_id: int | None
) -> list[int]:
    """Merchants with modalities to look at by their own clocks, or the given one if it has any."""
    rows = await tx.fetch(_FIND_MERCHANTS, now, merchant_id)
    return [row["merchant_id"] for row in rows]


async def lock_claims_to_check(
    tx: Connection, merchant_id: int, now: datetime, limit: int
) -> list[int]:
    """Claims whose modalities are due for a look, leaving out what others have locked."""
    rows = await tx.fetch(_LOCK_SET, merchant_id, now, limit)
    return [row["claim_id"] for row in rows]


async def postpone_checks(
    tx: Connection, merchant_id: int, following: Mapping[UUID, datetime]
) -> None:
    """Modality id -> when to look again."""
    await tx.execute(_POSTPONE, merchant_id, list(following), list(following.values()))


async def hasten_check(tx: Connection, merchant_id: int, claim_id: int, now: datetime) -> None:
    """Have a claim's modality, if it has a live one, looked at without delay."""
    await tx.execute(_HASTEN, merchant_id, claim_id, now)
