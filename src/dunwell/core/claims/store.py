"""The SQL of claims, items, payments' allocations and holds: rows in, values out, no rules."""

from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.core.claims.balance import Item
from dunwell.core.claims.debtor_rows import list_columns, read_row
from dunwell.core.claims.fields import DebtorFields
from dunwell.core.claims.states import Status
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# The lock that comes before every other. By primary key.
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
SELECT coalesce(sum(amount_cents), 0)::bigint
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
    columns=list_columns(DebtorFields, "d"),
)

# By primary key.
_HAS_CLAIM = "SELECT EXISTS (SELECT FROM claims WHERE merchant_id = $1 AND claim_id = $2)"


class ClaimRecord(msgspec.Struct, frozen=True, gc=False):
    """A claim as it is stored, and the version its next step would use."""

    reference_number: str
    currency: str
    status: Status
    held: bool
    due_at: datetime | None
    created_at: datetime
    updated_at: datetime
    # No process: none of these. The scenario: whose definition the workflow is, if it is one's.
    workflow_id: UUID | None
    major: int | None
    minor: int | None
    scenario_id: int | None
    debtor: DebtorFields

    @property
    def next_step_at(self) -> datetime | None:
        """None while a contact is under way, under a hold, and after the end."""
        return None if self.held else self.due_at


class LockedClaim(msgspec.Struct, frozen=True, gc=False):
    """As it stays until the transaction that locked it ends, or changes it itself."""

    claim_id: int
    reference_number: str
    currency: str
    status: Status
    # What it was when it was collected, which a reversed payment makes it again.
    status_before_collected: Status | None


async def lock_claim(tx: Connection, merchant_id: int, claim_id: int) -> LockedClaim | None:
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
        debtor=read_row(row, DebtorFields),
    )


async def load_items(tx: Connection, merchant_id: int, claim_id: int) -> list[Item]:
    rows = await tx.fetch(_LOAD_ITEMS, merchant_id, claim_id)
    return [
        Item(
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
    """The sum of the claim's payments that were not reversed."""
    paid: int = await tx.fetchval(_LOAD_PAID, merchant_id, claim_id)
    return paid
