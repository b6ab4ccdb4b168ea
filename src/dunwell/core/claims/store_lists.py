"""The SQL of lists of claims: rows in, values out, no rules."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.core.claims.balance import Balance
from dunwell.core.claims.holds import Hold, HoldKind
from dunwell.core.claims.states import Status
from dunwell.core.claims.store_holds import read_hold
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.epochs import SETTLED_BEFORE
from dunwell.platform.database.sql import Conditions, compose

# The page rides on claims_list, with a status on claims_by_status, with a reference on
# claims_reference, with a customer on debtors_customer; a short time on claims_updated. What is
# owed is summed for the page alone, by primary keys.
_LOAD = """
WITH page AS MATERIALIZED (
    SELECT c.claim_id, c.written_by, c.reference_number, c.currency, c.status, c.held, c.due_at,
           c.created_at, c.updated_at
    FROM claims c
    {join}
    WHERE c.merchant_id = $1
    {filters}
    ORDER BY c.written_by DESC, c.claim_id DESC
    LIMIT $2
)
SELECT page.claim_id, page.written_by::text AS written_by, page.reference_number, page.currency,
       page.status, page.held, page.due_at, page.created_at, page.updated_at,
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
    SELECT coalesce(sum(amount_cents), 0)::bigint AS paid_cents
    FROM payments
    WHERE merchant_id = $1 AND claim_id = page.claim_id AND reversed_at IS NULL) p
ORDER BY page.written_by DESC, page.claim_id DESC
"""
# By primary key.
_LOAD_HOLDS = """
SELECT claim_id, kind, since, until, lifted_at, actor_kind, reason, hold_id, actor_id
FROM holds
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND lifted_at IS NULL
ORDER BY claim_id, since, hold_id
"""
_JOIN_CUSTOMER = "JOIN debtors o ON o.merchant_id = $1 AND o.claim_id = c.claim_id"
_HELD_BACK = f"c.written_by < {SETTLED_BEFORE}"
_BEHIND = "(c.written_by, c.claim_id) < ({}::text::xid8, {})"


@dataclass(frozen=True, slots=True)
class ClaimPlace:
    """Behind the claim that this transaction wrote."""

    written_by: int
    claim_id: int


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """Which claims to list; all that is given must hold."""

    reference_number: str | None = None
    customer_number: str | None = None
    status: Status | None = None
    # Inclusive, by the merchant's time; `until` exclusive, here and below.
    updated_since: datetime | None = None
    updated_until: datetime | None = None
    # In one of these states.
    statuses: Sequence[Status] = ()
    # One of this kind stands.
    hold: HoldKind | None = None
    workflow_id: UUID | None = None
    # What is outstanding, in cents; both inclusive.
    least_cents: int | None = None
    most_cents: int | None = None
    created_since: datetime | None = None
    created_until: datetime | None = None
    # Of claims that nothing holds.
    next_step_since: datetime | None = None
    next_step_until: datetime | None = None

    @property
    def is_plain(self) -> bool:
        """Whether indexes alone find it."""
        return self == ClaimFilter(
            self.reference_number, self.customer_number, self.status, self.updated_since
        )


class ListedClaim(msgspec.Struct, frozen=True, gc=False):
    """A claim in a list: enough to tell it and where it stands."""

    place: ClaimPlace
    reference_number: str
    customer_number: str | None
    currency: str
    first_name: str | None
    last_name: str | None
    company_name: str | None
    status: Status
    balance: Balance
    # As they are stored: those whose end has come are among them until they are lifted.
    holds: Sequence[Hold]
    # None while a contact is under way, under a hold, and after the end.
    next_step_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def claim_id(self) -> int:
        return self.place.claim_id


async def load_page(
    tx: Connection, merchant_id: int, *, limit: int, place: ClaimPlace | None, wanted: ClaimFilter
) -> list[ListedClaim]:
    conditions = _choose_conditions(place, wanted, Conditions(merchant_id, limit))
    join = "" if wanted.customer_number is None else _JOIN_CUSTOMER
    return await _load(tx, merchant_id, join, conditions)


async def load_listed(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int]
) -> dict[int, ListedClaim]:
    """By id."""
    conditions = Conditions(merchant_id, len(claim_ids))
    conditions.add("c.claim_id = ANY({}::bigint[])", list(claim_ids))
    return {each.claim_id: each for each in await _load(tx, merchant_id, "", conditions)}


async def _load(
    tx: Connection, merchant_id: int, join: str, conditions: Conditions
) -> list[ListedClaim]:
    statement = compose(_LOAD, join=join, filters=conditions.render())
    rows = await tx.fetch(statement, *conditions.values)
    holds = await _load_holds(tx, merchant_id, [row["claim_id"] for row in rows if row["held"]])
    return [_read(row, holds.get(row["claim_id"], ())) for row in rows]


def _read(row: Row, holds: Sequence[Hold]) -> ListedClaim:
    total, allocated = row["total_cents"], row["allocated_cents"]
    return ListedClaim(
        place=ClaimPlace(int(row["written_by"]), row["claim_id"]),
        reference_number=row["reference_number"],
        customer_number=row["customer_number"],
        currency=row["currency"],
        first_name=row["first_name"],
        last_name=row["last_name"],
        company_name=row["company_name"],
        status=Status(row["status"]),
        balance=Balance(total, total - allocated, row["paid_cents"] - allocated),
        holds=holds,
        next_step_at=None if row["held"] else row["due_at"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


async def _load_holds(
    tx: Connection, merchant_id: int, claim_ids: Collection[int]
) -> dict[int, list[Hold]]:
    """Of claims that are held: claim id -> what was not lifted, the oldest first."""
    found: dict[int, list[Hold]] = {}
    if claim_ids:
        for row in await tx.fetch(_LOAD_HOLDS, merchant_id, list(claim_ids)):
            found.setdefault(row["claim_id"], []).append(read_hold(row))
    return found


def _choose_conditions(
    place: ClaimPlace | None, wanted: ClaimFilter, conditions: Conditions
) -> Conditions:
    if wanted.reference_number is not None:
        # One claim at most: it has nothing behind it, and is found as soon as it was created.
        conditions.add("c.reference_number = {}", wanted.reference_number)
    elif place is None:
        conditions.add(_HELD_BACK)
    if place is not None:
        # Nothing behind a place is held back; asked for beside it, the scan would begin in front.
        conditions.add(_BEHIND, str(place.written_by), place.claim_id)
    if wanted.customer_number is not None:
        conditions.add("o.customer_number = {}", wanted.customer_number)
    if wanted.status is not None:
        conditions.add("c.status = {}", wanted.status)
    if wanted.updated_since is not None:
        conditions.add("c.updated_at >= {}", wanted.updated_since)
    return conditions
