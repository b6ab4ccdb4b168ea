"""The SQL of the sandbox clock: where it stands, what falls due next, what ran."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.kit.db import Connection

# Only forwards, whoever else moves it at the same time.
_MOVE = """
UPDATE merchants SET sandbox_now = $2 WHERE merchant_id = $1 AND sandbox_now < $2
"""
# Rides on claims_due, communications_planned and holds_end.
_NEXT = """
SELECT least(
    (SELECT min(due_at) FROM claims
     WHERE merchant_id = $1 AND due_at IS NOT NULL AND NOT held),
    (SELECT min(m.not_before) FROM communications m
     JOIN claims c ON c.merchant_id = m.merchant_id AND c.claim_id = m.claim_id
     WHERE m.merchant_id = $1 AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING')
       AND NOT c.held),
    (SELECT min(until) FROM holds
     WHERE merchant_id = $1 AND lifted_at IS NULL AND until IS NOT NULL))
"""
# A contact that is handed over and not answered is under way, here or in a worker.
_IS_UNDER_WAY = """
SELECT EXISTS (SELECT FROM communications WHERE merchant_id = $1 AND state = 'HANDED_OVER')
"""
_COUNT = """
SELECT (SELECT count(*) FROM step_history WHERE merchant_id = $1 AND at >= $2) AS steps,
       (SELECT count(*) FROM events WHERE merchant_id = $1 AND occurred_at >= $2) AS events
"""


@dataclass(frozen=True, slots=True)
class Counts:
    steps: int
    events: int


async def move_clock(tx: Connection, merchant_id: int, instant: datetime) -> None:
    await tx.execute(_MOVE, merchant_id, instant)


async def find_next_instant(tx: Connection, merchant_id: int) -> datetime | None:
    """When the next thing falls due; it may be due already."""
    instant: datetime | None = await tx.fetchval(_NEXT, merchant_id)
    return instant


async def is_under_way(tx: Connection, merchant_id: int) -> bool:
    under_way: bool = await tx.fetchval(_IS_UNDER_WAY, merchant_id)
    return under_way


async def count_since(tx: Connection, merchant_id: int, since: datetime) -> Counts:
    """Steps run and events raised from an instant of the merchant's time on."""
    row = await tx.fetchrow(_COUNT, merchant_id, since)
    assert row is not None
    return Counts(row["steps"], row["events"])
