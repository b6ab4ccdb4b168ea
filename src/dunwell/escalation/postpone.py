"""Puts off claims that could not be worked on, so that they neither block nor vanish."""

from collections.abc import Sequence
from datetime import datetime

from dunwell.kit.db import Connection

# By primary key; an hour of the merchant's time behind where its clock stands.
_POSTPONE = """
UPDATE claims c
SET due_at = coalesce(m.sandbox_now, $3) + interval '1 hour'
FROM merchants m
WHERE m.merchant_id = $1 AND c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
  AND c.due_at IS NOT NULL
"""


async def postpone(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], real_now: datetime
) -> None:
    """Try the claims again in an hour; each was logged with its fault."""
    await tx.execute(_POSTPONE, merchant_id, claim_ids, real_now)
