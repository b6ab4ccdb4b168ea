"""Puts off claims no decision could be made for, so that they neither block nor vanish."""

from collections.abc import Sequence
from datetime import timedelta

from dunwell.merchants.account import Work

_PAUSE = timedelta(hours=1)
# By primary key.
_POSTPONE = """
UPDATE claims SET due_at = $3 WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
"""


async def postpone(work: Work, claim_ids: Sequence[int]) -> None:
    """Try the claims again in an hour; each was logged with its fault."""
    await work.tx.execute(_POSTPONE, work.merchant_id, claim_ids, work.now + _PAUSE)
