"""The SQL of lists of claims."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from dunwell.core.claims.balance import Balance
from dunwell.core.claims.states import Hold, HoldKind, Status
from dunwell.core.claims.store import build_hold
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.listed_table import ListScope, Test
from dunwell.platform.database.sql import Conditions, compose

# Uses primary keys.
_LOAD = """
WITH page AS MATERIALIZED (
    SELECT c.claim_id, c.reference_number, c.currency, c.status, c.workflow_id, c.held,
           c.due_at, c.created_at, c.updated_at
    FROM claims c
    WHERE c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
)
SELECT page.claim_id, page.reference_number, page.currency,
       page.status, page.workflow_id, page.held, page.due_at, page.created_at, page.updated_at,
       d.customer_number, d.first_name, d.last_name, d.company_name,
       i.total_cents, a.allocated_cents, p.paid_cents
FROM page
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = page.claim_id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(value_cents), 0)::bigint AS total_cents
    FROM items
    WHERE merchant_id = $1 AND claim_id = page.claim_id) i
CROSS JOIN LATERAL (
    SELECT coalesce(sum(amount_cents), 0)::bigint AS allocated_cents
    FROM allocations
    WHERE merchant_id = $1 AND claim_id = page.claim_id) a
CROSS JOIN LATERAL (
    SELECT coalesce(sum(amount_cents - returned_cents), 0)::bigint AS paid_cents
    FROM payments
    WHERE merchant_id = $1 AND claim_id = page.claim_id AND reversed_at IS NULL) p
"""
# Uses the primary key.
_LOAD_HOLDS = """
SELECT claim_id, kind, since, until, lifted_at, actor_kind, reason, hold_id, actor_id
FROM holds
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND lifted_at IS NULL
ORDER BY claim_id, since, hold_id
"""
# Uses claims_updated, claims_due or debtors_customer.
_FIND_CLAIMS = """
SELECT c.claim_id
FROM {table} c
WHERE c.merchant_id = $1
{filters}
LIMIT $2
"""
MAX_FOUND = 5_000


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """All values that are set must match."""

    reference_number: str | None = None
    customer_number: str | None = None
    status: Status | None = None
    # The time of the last change. This range and the others of this filter are in the merchant's
    # time; the lower limit is inclusive, the upper limit exclusive.
    updated_since: datetime | None = None
    updated_until: datetime | None = None
    # The claim has one of these statuses.
    statuses: Sequence[Status] = ()
    # The claim has an active hold of this kind.
    hold: HoldKind | None = None
    workflow_id: UUID | None = None
    # The limits of the outstanding amount in cents, both inclusive.
    min_cents: int | None = None
    max_cents: int | None = None
    created_since: datetime | None = None
    created_until: datetime | None = None
    # The time of the next step. Claims on hold never match.
    next_step_since: datetime | None = None
    next_step_until: datetime | None = None

    @property
    def is_plain(self) -> bool:
        """True if only filters are set that an index supports: reference, customer number, status
        and the earliest time of the last change."""
        return self == ClaimFilter(
            self.reference_number, self.customer_number, self.status, self.updated_since
        )


class ClaimRow(msgspec.Struct, frozen=True, gc=False):
    """A claim in a list."""

    claim_id: int
    reference_number: str
    customer_number: str | None
    currency: str
    first_name: str | None
    last_name: str | None
    company_name: str | None
    status: Status
    workflow_id: UUID | None
    balance: Balance
    # The stored holds. They include expired ones that are not lifted yet.
    holds: Sequence[Hold]
    # None while a contact is in progress, while the claim is on hold, and after it has ended.
    next_step_at: datetime | None
    created_at: datetime
    updated_at: datetime


async def load_claim_rows(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int]
) -> dict[int, ClaimRow]:
    """Return the rows by claim id."""
    rows = await tx.fetch(_LOAD, merchant_id, list(claim_ids))
    holds = await _load_holds(tx, merchant_id, [row["claim_id"] for row in rows if row["held"]])
    return {row["claim_id"]: _build_claim_row(row, holds.get(row["claim_id"], ())) for row in rows}


async def list_claims_if_few(
    scope: ListScope, table: Literal["claims", "debtors"], tests: Sequence[Test]
) -> Sequence[int] | None:
    """Return the ids of the merchant's claims that pass the tests, or None if there are MAX_FOUND
    or more. The tests refer to the table's row as `c`."""
    conditions = Conditions(*scope.ids, MAX_FOUND)
    for test, values in tests:
        conditions.add(test, *values)
    statement = compose(_FIND_CLAIMS, table=table, filters=conditions.render())
    rows = await scope.tx.fetch(statement, *conditions.values)
    return [row["claim_id"] for row in rows] if len(rows) < MAX_FOUND else None


def _build_claim_row(row: Row, holds: Sequence[Hold]) -> ClaimRow:
    total, allocated = row["total_cents"], row["allocated_cents"]
    return ClaimRow(
        claim_id=row["claim_id"],
        reference_number=row["reference_number"],
        customer_number=row["customer_number"],
        currency=row["currency"],
        first_name=row["first_name"],
        last_name=row["last_name"],
        company_name=row["company_name"],
        status=Status(row["status"]),
        workflow_id=row["workflow_id"],
        balance=Balance(total, total - allocated, row["paid_cents"] - allocated),
        holds=holds,
        next_step_at=None if row["held"] else row["due_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def _load_holds(
    tx: Connection, merchant_id: int, claim_ids: Collection[int]
) -> dict[int, list[Hold]]:
    """Return the holds that were not lifted, oldest first, by claim id."""
    holds_by_claim: dict[int, list[Hold]] = {}
    if claim_ids:
        for row in await tx.fetch(_LOAD_HOLDS, merchant_id, list(claim_ids)):
            holds_by_claim.setdefault(row["claim_id"], []).append(build_hold(row))
    return holds_by_claim
