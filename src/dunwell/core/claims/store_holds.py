"""The SQL of holds: rows in, values out, no rules.

The table and the claim's `held`, which is derived from it, change together. A claim goes on, if its
last hold falls, from the instant of that: what came due under it runs after it.
"""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.due_merchants import Due, list_due_merchants
from dunwell.core.claims.holds import Hold, HoldKind
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_LOAD_HOLDS = """
SELECT kind, since, until, lifted_at, actor_kind, reason, hold_id, actor_id
FROM holds
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY since, hold_id
"""
# By primary key.
_OPEN_HOLD = """
WITH opened AS (
    INSERT INTO holds
        (merchant_id, claim_id, hold_id, kind, since, until, actor_kind, actor_id, reason)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
)
UPDATE claims SET held = true, updated_at = $5 WHERE merchant_id = $1 AND claim_id = $2
"""
_LIFT_HOLDS = """
WITH lifted AS (
    UPDATE holds
    SET lifted_at = $4
    WHERE merchant_id = $1 AND claim_id = $2 AND lifted_at IS NULL
      AND ($3::text IS NULL OR kind = $3) AND ($5::uuid IS NULL OR hold_id = $5)
    RETURNING hold_id
)
UPDATE claims
SET held = EXISTS (SELECT FROM holds
                   WHERE merchant_id = $1 AND claim_id = $2 AND lifted_at IS NULL
                     AND hold_id NOT IN (SELECT hold_id FROM lifted)),
    -- A claim without a due time (a contact is under way, or it ended) gets none by this.
    due_at = CASE WHEN due_at IS NOT NULL THEN greatest(due_at, $4) END, updated_at = $4
WHERE merchant_id = $1 AND claim_id = $2 AND EXISTS (SELECT FROM lifted)
"""
# By primary key.
_END_HOLD_AT = """
UPDATE holds SET until = $4
WHERE merchant_id = $1 AND claim_id = $2 AND hold_id = $3 AND lifted_at IS NULL
RETURNING true
"""
_LIFT_OF_CLAIMS = """
WITH lifted AS (
    UPDATE holds
    SET lifted_at = $4
    WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND lifted_at IS NULL
      AND kind = ANY($3::text[])
    RETURNING claim_id, hold_id
)
UPDATE claims c
SET held = EXISTS (SELECT FROM holds h
                   WHERE h.merchant_id = $1 AND h.claim_id = c.claim_id AND h.lifted_at IS NULL
                     AND h.hold_id NOT IN (SELECT hold_id FROM lifted)),
    due_at = CASE WHEN c.due_at IS NOT NULL THEN greatest(c.due_at, $4) END, updated_at = $4
WHERE c.merchant_id = $1 AND c.claim_id IN (SELECT claim_id FROM lifted)
"""
# Rides on holds_end_anywhere, then on holds_end.
_FIND_ENDED_HOLDS = compose(
    """
SELECT due.merchant_id, h.claim_id
FROM {due} due
CROSS JOIN LATERAL (
    SELECT DISTINCT claim_id
    FROM holds
    WHERE merchant_id = due.merchant_id AND lifted_at IS NULL AND until <= due.now
    LIMIT $3) h
WHERE $2::integer IS NULL OR due.merchant_id = $2
LIMIT $3
""",
    due=list_due_merchants(Due("holds", "d.lifted_at IS NULL AND d.until <= {now}")),
)
# A statement of its own: the next one must see what was committed while this one waited.
_LOCK_CLAIMS = """
SELECT FROM claims
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
ORDER BY claim_id
FOR NO KEY UPDATE
"""
_LIFT_ENDED = """
WITH lifted AS (
    UPDATE holds
    SET lifted_at = until
    WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
      AND lifted_at IS NULL AND until <= $3
    RETURNING claim_id, hold_id, until
)
UPDATE claims c
SET held = EXISTS (SELECT FROM holds h
                   WHERE h.merchant_id = $1 AND h.claim_id = c.claim_id AND h.lifted_at IS NULL
                     AND h.hold_id NOT IN (SELECT hold_id FROM lifted)),
    due_at = CASE WHEN c.due_at IS NOT NULL THEN greatest(c.due_at, ended.until) END,
    updated_at = $3
FROM (SELECT claim_id, max(until) AS until FROM lifted GROUP BY claim_id) ended
WHERE c.merchant_id = $1 AND c.claim_id = ended.claim_id
RETURNING c.claim_id
"""


async def load_holds(tx: Connection, merchant_id: int, claim_id: int) -> Sequence[Hold]:
    """All the claim ever had, oldest first."""
    return [read_hold(row) for row in await tx.fetch(_LOAD_HOLDS, merchant_id, claim_id)]


def read_hold(row: Row) -> Hold:
    return Hold(
        HoldKind(row["kind"]),
        row["since"],
        until=row["until"],
        lifted_at=row["lifted_at"],
        actor_kind=ActorKind(row["actor_kind"]),
        reason=row["reason"],
        hold_id=row["hold_id"],
        actor_id=row["actor_id"],
    )


async def save_hold(tx: Connection, merchant_id: int, claim_id: int, hold: Hold) -> None:
    """Store one that has an id; the claim must be locked."""
    await tx.execute(
        _OPEN_HOLD, merchant_id, claim_id, hold.hold_id, hold.kind, hold.since, hold.until,
        hold.actor_kind, hold.actor_id, hold.reason,
    )  # fmt: skip


async def lift_standing_holds(
    tx: Connection,
    merchant_id: int,
    claim_id: int,
    kind: HoldKind | None,
    now: datetime,
    *,
    hold_id: UUID | None = None,
) -> None:
    """Lift the claim's holds of a kind, or all, or that one alone; the claim must be locked."""
    await tx.execute(_LIFT_HOLDS, merchant_id, claim_id, kind, now, hold_id)


async def end_hold_at(
    tx: Connection, merchant_id: int, claim_id: int, hold_id: UUID, until: datetime | None
) -> bool:
    """Let a hold that stands end then, or not by itself; the claim must be locked. False: it has
    fallen, and stays so."""
    return bool(await tx.fetchval(_END_HOLD_AT, merchant_id, claim_id, hold_id, until))


async def lift_holds_of_claims(
    tx: Connection,
    merchant_id: int,
    claim_ids: Sequence[int],
    kinds: Sequence[HoldKind],
    now: datetime,
) -> None:
    """Lift these kinds of holds of many claims, which must be locked."""
    await tx.execute(_LIFT_OF_CLAIMS, merchant_id, list(claim_ids), list(kinds), now)


async def find_ended_holds(
    tx: Connection, now: datetime, merchant_id: int | None, limit: int
) -> dict[int, list[int]]:
    """Claims with holds whose end has come by their merchant's clock: merchant id -> claim ids.

    Rides on holds_end.
    """
    found: dict[int, list[int]] = {}
    for row in await tx.fetch(_FIND_ENDED_HOLDS, now, merchant_id, limit):
        found.setdefault(row["merchant_id"], []).append(row["claim_id"])
    return found


async def lift_ended_holds(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], now: datetime
) -> int:
    """Lift, as of their own ends, what has ended; how many claims that touched."""
    await tx.execute(_LOCK_CLAIMS, merchant_id, list(claim_ids))
    return len(await tx.fetch(_LIFT_ENDED, merchant_id, list(claim_ids), now))
