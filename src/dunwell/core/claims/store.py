"""The SQL of claims, items, allocations and holds."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.due_merchants import DueTable, render_due_merchants
from dunwell.core.claims.balance import OwedItem
from dunwell.core.claims.fields import DebtorFields, build_debtor_fields, render_columns
from dunwell.core.claims.states import Hold, HoldKind, Status
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# Locked before all other rows of the claim. Uses the primary key.
_LOCK_CLAIM = """
SELECT claim_id, reference_number, currency, status, status_before_collected
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
FOR NO KEY UPDATE
"""
_LOAD_ITEMS = """
SELECT i.item_id, i.position, i.type, i.value_cents, i.due_date, i.reference, i.item_date, i.fee_of,
       coalesce(sum(a.amount_cents), 0)::bigint AS allocated_cents
FROM items i
LEFT JOIN allocations a
    ON a.merchant_id = $1 AND a.claim_id = $2 AND a.item_id = i.item_id
WHERE i.merchant_id = $1 AND i.claim_id = $2
GROUP BY i.merchant_id, i.claim_id, i.item_id
ORDER BY i.position, i.item_id
"""
_LOAD_PAID = """
SELECT coalesce(sum(amount_cents - returned_cents), 0)::bigint
FROM payments
WHERE merchant_id = $1 AND claim_id = $2 AND reversed_at IS NULL
"""
_LOAD_CLAIM = compose(
    """
SELECT c.reference_number, c.currency, c.status, c.held, c.due_at, c.created_at, c.updated_at,
       c.workflow_id, v.major, v.minor, s.scenario_id, {columns}
FROM claims c
JOIN debtors d USING (merchant_id, claim_id)
LEFT JOIN scenarios s ON s.merchant_id = $1 AND s.workflow_id = c.workflow_id
LEFT JOIN LATERAL (
    SELECT major, minor
    FROM workflow_versions
    WHERE merchant_id = $1 AND workflow_id = c.workflow_id AND major = c.workflow_major
    ORDER BY minor DESC
    LIMIT 1) v ON true
WHERE c.merchant_id = $1 AND c.claim_id = $2
""",
    columns=render_columns(DebtorFields, "d"),
)

# Locks the claim, so that event sequences have no gaps and no duplicates. Uses primary keys.
_INCREMENT_EVENT_SEQUENCE = """
UPDATE claims c
SET event_sequence = c.event_sequence + 1
FROM debtors d
WHERE c.merchant_id = $1 AND c.claim_id = $2 AND d.merchant_id = $1 AND d.claim_id = $2
RETURNING c.event_sequence, c.reference_number, d.customer_number
"""

# Uses primary keys.
_FIND_EVENT_NUMBERS = """
SELECT NULL::integer AS event_sequence, c.reference_number, d.customer_number
FROM claims c
JOIN debtors d USING (merchant_id, claim_id)
WHERE c.merchant_id = $1 AND c.claim_id = $2
"""

# Uses the primary key.
_HAS_CLAIM = "SELECT EXISTS (SELECT FROM claims WHERE merchant_id = $1 AND claim_id = $2)"


class ClaimRecord(msgspec.Struct, frozen=True, gc=False):
    """A stored claim, and the workflow version of its next step."""

    reference_number: str
    currency: str
    status: Status
    held: bool
    due_at: datetime | None
    created_at: datetime
    updated_at: datetime
    # All None without a workflow. `major` and `minor` are the newest minor version of the claim's
    # major version. `scenario_id` is the scenario that the workflow belongs to, if any.
    workflow_id: UUID | None
    major: int | None
    minor: int | None
    scenario_id: int | None
    debtor: DebtorFields

    @property
    def next_step_at(self) -> datetime | None:
        """Return None while a contact is in progress, while the claim is on hold, and after it has
        ended."""
        return None if self.held else self.due_at


class LockedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim that is locked until the transaction ends."""

    claim_id: int
    reference_number: str
    currency: str
    status: Status
    # The status before the claim was collected. A reversed payment restores it.
    status_before_collected: Status | None


async def lock_claim(tx: Connection, merchant_id: int, claim_id: int) -> LockedClaim | None:
    """Return the claim, locked until the transaction ends, or None if there is no such claim."""
    row = await tx.fetchrow(_LOCK_CLAIM, merchant_id, claim_id)
    return None if row is None else msgspec.convert(dict(row), LockedClaim)


async def has_claim(tx: Connection, merchant_id: int, claim_id: int) -> bool:
    found: bool = await tx.fetchval(_HAS_CLAIM, merchant_id, claim_id)
    return found


async def load_claim(tx: Connection, merchant_id: int, claim_id: int) -> ClaimRecord | None:
    row = await tx.fetchrow(_LOAD_CLAIM, merchant_id, claim_id)
    if row is None:
        return None
    return ClaimRecord(
        reference_number=row["reference_number"],
        currency=row["currency"],
        status=Status(row["status"]),
        held=row["held"],
        due_at=row["due_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        workflow_id=row["workflow_id"],
        major=row["major"],
        minor=row["minor"],
        scenario_id=row["scenario_id"],
        debtor=build_debtor_fields(row, DebtorFields),
    )


async def load_items(tx: Connection, merchant_id: int, claim_id: int) -> list[OwedItem]:
    rows = await tx.fetch(_LOAD_ITEMS, merchant_id, claim_id)
    return [
        OwedItem(
            item_id=row["item_id"],
            position=row["position"],
            type=row["type"],
            value_cents=row["value_cents"],
            allocated_cents=row["allocated_cents"],
            due_on=row["due_date"],
            reference=row["reference"],
            item_on=row["item_date"],
            fee_of=row["fee_of"],
        )
        for row in rows
    ]


async def load_paid_cents(tx: Connection, merchant_id: int, claim_id: int) -> int:
    """Return what was paid and not returned."""
    paid: int = await tx.fetchval(_LOAD_PAID, merchant_id, claim_id)
    return paid


_LOAD_HOLDS = """
SELECT kind, since, until, lifted_at, actor_kind, reason, hold_id, actor_id
FROM holds
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY since, hold_id
"""
# Uses the primary key.
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
    -- A claim without a due time (a contact is in progress, or it has ended) keeps none.
    due_at = CASE WHEN due_at IS NOT NULL THEN greatest(due_at, $4) END, updated_at = $4
WHERE merchant_id = $1 AND claim_id = $2 AND EXISTS (SELECT FROM lifted)
"""
# Uses the primary key.
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
# Uses holds_end_anywhere, then holds_end.
_LIST_CLAIMS_WITH_ENDED_HOLDS = compose(
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
    due=render_due_merchants(DueTable("holds", "d.lifted_at IS NULL AND d.until <= {now}")),
)
# A separate statement, so that the next one sees what was committed while this one waited.
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
    """Return all holds of the claim, oldest first."""
    return [build_hold(row) for row in await tx.fetch(_LOAD_HOLDS, merchant_id, claim_id)]


def build_hold(row: Row) -> Hold:
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
    """Insert the hold, which must have an id, and put the claim on hold. The claim must be
    locked."""
    await tx.execute(
        _OPEN_HOLD, merchant_id, claim_id, hold.hold_id, hold.kind, hold.since, hold.until,
        hold.actor_kind, hold.actor_id, hold.reason,
    )  # fmt: skip


async def lift_active_holds(
    tx: Connection,
    merchant_id: int,
    claim_id: int,
    kind: HoldKind | None,
    now: datetime,
    *,
    hold_id: UUID | None = None,
) -> None:
    """Lift the claim's holds that are not lifted yet, including expired ones: those of `kind` (None
    means every kind), or of them only `hold_id`. The claim must be locked."""
    await tx.execute(_LIFT_HOLDS, merchant_id, claim_id, kind, now, hold_id)


async def save_hold_end(
    tx: Connection, merchant_id: int, claim_id: int, hold_id: UUID, until: datetime | None
) -> bool:
    """Set the end of a hold; `until` None removes the end. The claim must be locked. Return False
    if the hold was lifted."""
    return bool(await tx.fetchval(_END_HOLD_AT, merchant_id, claim_id, hold_id, until))


async def lift_holds_of_claims(
    tx: Connection,
    merchant_id: int,
    claim_ids: Sequence[int],
    kinds: Sequence[HoldKind],
    now: datetime,
) -> None:
    """Lift the holds of these kinds that are not lifted yet, including expired ones. The claims
    must be locked."""
    await tx.execute(_LIFT_OF_CLAIMS, merchant_id, list(claim_ids), list(kinds), now)


async def list_claims_with_ended_holds(
    tx: Connection, now: datetime, merchant_id: int | None, limit: int
) -> dict[int, list[int]]:
    """Return the ids of claims with holds that have expired by their merchants' clocks, by merchant
    id. `now` is real time. With `merchant_id`, only claims of this merchant are returned."""
    claim_ids_by_merchant: dict[int, list[int]] = {}
    for row in await tx.fetch(_LIST_CLAIMS_WITH_ENDED_HOLDS, now, merchant_id, limit):
        claim_ids_by_merchant.setdefault(row["merchant_id"], []).append(row["claim_id"])
    return claim_ids_by_merchant


async def lift_ended_holds(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], now: datetime
) -> int:
    """Lift expired holds as of the time at which each ended, and return the number of claims."""
    await tx.execute(_LOCK_CLAIMS, merchant_id, list(claim_ids))
    return len(await tx.fetch(_LIFT_ENDED, merchant_id, list(claim_ids), now))


class EventNumbers(NamedTuple):
    """The sequence of a new event within its claim, None for an additional type, and the reference
    and customer number of the claim."""

    sequence: int | None
    reference_number: str
    customer_number: str | None


async def increment_event_sequence(
    tx: Connection, merchant_id: int, claim_id: int
) -> EventNumbers | None:
    """Reserve the next sequence number for an event of the claim, and lock the claim. Return None
    if there is no claim."""
    row = await tx.fetchrow(_INCREMENT_EVENT_SEQUENCE, merchant_id, claim_id)
    return None if row is None else EventNumbers(*row)


async def find_event_numbers(
    tx: Connection, merchant_id: int, claim_id: int
) -> EventNumbers | None:
    """Return the claim's numbers for an event without a sequence, or None if there is no claim."""
    row = await tx.fetchrow(_FIND_EVENT_NUMBERS, merchant_id, claim_id)
    return None if row is None else EventNumbers(*row)
