"""The SQL that books the payments of many claims at once."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

from dunwell.cases.payments.store import StoredPayment
from dunwell.core.claims.balance import OwedItem
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import LockedClaim
from dunwell.platform.database.database import Connection

# Every statement uses primary keys, unless its comment says otherwise. Claims are locked in the
# order of their ids, so that two transactions do not wait for each other.
_LOCK = """
SELECT claim_id, reference_number, currency, status, status_before_collected
FROM claims
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
ORDER BY claim_id
FOR NO KEY UPDATE
"""
_LOAD_ITEMS = """
SELECT i.claim_id, i.item_id, i.position, i.type, i.value_cents, i.due_date,
       (SELECT coalesce(sum(a.amount_cents), 0)::bigint
        FROM allocations a
        WHERE a.merchant_id = $1 AND a.claim_id = i.claim_id AND a.item_id = i.item_id)
           AS allocated_cents
FROM items i
WHERE i.merchant_id = $1 AND i.claim_id = ANY($2::bigint[])
ORDER BY i.claim_id, i.position, i.item_id
"""
# Uses the unique key (merchant_id, claim_id, transaction_id).
_LOAD_PAID = """
SELECT claim_id, sum(amount_cents - returned_cents)::bigint AS cents
FROM payments
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND reversed_at IS NULL
GROUP BY claim_id
"""
_LIST_ANNOUNCED = """
SELECT DISTINCT claim_id
FROM payment_requests
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND provider = $3
  AND state IN ('CREATED', 'OPEN', 'PENDING')
"""
_INSERT_PAYMENTS = """
WITH paid AS (
    INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency,
                          transaction_id, provider_name, paid_at, recorded_at, request_id, method)
    SELECT $1, payment_id, claim_id, amount_cents, currency, transaction_id, provider_name,
           paid_at, $2, request_id, method
    FROM unnest($3::uuid[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[],
                $9::timestamptz[], $10::uuid[], $11::text[])
        AS p (payment_id, claim_id, amount_cents, currency, transaction_id, provider_name,
              paid_at, request_id, method)
)
INSERT INTO allocations (merchant_id, claim_id, payment_id, item_id, amount_cents)
SELECT $1, claim_id, payment_id, item_id, amount_cents
FROM unnest($12::bigint[], $13::uuid[], $14::bigint[], $15::bigint[])
    AS a (claim_id, payment_id, item_id, amount_cents)
"""
# The same change as for one payment: the next step's due time is kept for a reversal.
_SAVE_STATUSES = """
UPDATE claims c
SET status = s.status, status_before_collected = s.before,
    due_at = CASE WHEN s.status IN ('CREATED', 'IN_PROCESS') THEN c.due_at END,
    resume_at = CASE WHEN s.status = 'COLLECTED' THEN coalesce(c.due_at, c.resume_at) END,
    updated_at = $2
FROM unnest($3::bigint[], $4::text[], $5::text[]) AS s (claim_id, status, before)
WHERE c.merchant_id = $1 AND c.claim_id = s.claim_id
"""


class BookedShares(NamedTuple):
    """A payment with its allocations: item id -> cents."""

    payment: StoredPayment
    shares: Mapping[int, int]


async def lock_claims(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int]
) -> dict[int, LockedClaim]:
    """Lock the claims until the transaction ends. Claims are locked before other rows. Return the
    claims that exist, by id."""
    rows = await tx.fetch(_LOCK, merchant_id, sorted(set(claim_ids)))
    return {row["claim_id"]: msgspec.convert(dict(row), LockedClaim) for row in rows}


async def load_items_of_claims(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int]
) -> dict[int, list[OwedItem]]:
    """Return the items of each claim that has any."""
    items: dict[int, list[OwedItem]] = {}
    for row in await tx.fetch(_LOAD_ITEMS, merchant_id, list(claim_ids)):
        item = OwedItem(
            item_id=row["item_id"],
            position=row["position"],
            type=row["type"],
            value_cents=row["value_cents"],
            allocated_cents=row["allocated_cents"],
            due_on=row["due_date"],
        )
        items.setdefault(row["claim_id"], []).append(item)
    return items


async def load_paid_cents_of_claims(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int]
) -> dict[int, int]:
    """Return the cents that were paid for each claim and not returned (claim id -> cents). Claims
    without payments are left out."""
    rows = await tx.fetch(_LOAD_PAID, merchant_id, list(claim_ids))
    return {row["claim_id"]: row["cents"] for row in rows}


async def list_claims_with_requests(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], provider: str
) -> frozenset[int]:
    """Return the ids of those claims that have a live payment request at the provider's account, or
    for BANK_TRANSFER an announced transfer."""
    rows = await tx.fetch(_LIST_ANNOUNCED, merchant_id, list(claim_ids), provider)
    return frozenset(row["claim_id"] for row in rows)


async def insert_payments(
    tx: Connection, merchant_id: int, booked: Sequence[BookedShares], now: datetime
) -> None:
    payments = [each.payment for each in booked]
    shares = [
        (each.payment.claim_id, each.payment.payment_id, item_id, cents)
        for each in booked
        for item_id, cents in each.shares.items()
    ]
    columns: list[list[int | UUID]] = [[row[index] for row in shares] for index in range(4)]
    await tx.execute(
        _INSERT_PAYMENTS, merchant_id, now,
        [each.payment_id for each in payments], [each.claim_id for each in payments],
        [each.amount_cents for each in payments], [each.currency for each in payments],
        [each.transaction_id for each in payments], [each.provider_name for each in payments],
        [each.paid_at for each in payments], [each.request_id for each in payments],
        [each.method for each in payments], *columns,
    )  # fmt: skip


async def save_statuses(
    tx: Connection,
    merchant_id: int,
    statuses: Mapping[int, tuple[Status, Status | None]],
    now: datetime,
) -> None:
    """Save the status of each claim, and the one that a reversal restores. The claims must be
    locked."""
    await tx.execute(
        _SAVE_STATUSES, merchant_id, now, list(statuses),
        [status for status, _ in statuses.values()], [before for _, before in statuses.values()],
    )  # fmt: skip
