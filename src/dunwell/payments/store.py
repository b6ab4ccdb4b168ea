"""The SQL of payments and their allocations: rows in, values out, no rules."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.claims.states import Status
from dunwell.kit.db import Connection, Row


@dataclass(frozen=True, slots=True)
class StoredPayment:
    payment_id: UUID
    claim_id: int
    amount_cents: int
    currency: str
    transaction_id: str
    provider_name: str | None
    paid_at: datetime
    recorded_at: datetime
    reversed_at: datetime | None


# By the unique key (merchant_id, claim_id, transaction_id).
_FIND = """
SELECT payment_id, claim_id, amount_cents, currency, transaction_id, provider_name, paid_at,
       recorded_at, reversed_at
FROM payments
WHERE merchant_id = $1 AND claim_id = $2 AND transaction_id = $3
"""
# The claim's end, if any, and its planned contacts change with the payment that causes it.
_SAVE = """
WITH paid AS (
    INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency,
                          transaction_id, provider_name, paid_at, recorded_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
), shared AS (
    INSERT INTO allocations (merchant_id, claim_id, payment_id, item_id, amount_cents)
    SELECT $1, $3, $2, item_id, amount_cents
    FROM unnest($10::bigint[], $11::bigint[]) AS a (item_id, amount_cents)
)
UPDATE claims
SET status = $12, status_before_collected = $13,
    due_at = CASE WHEN $12 IN ('CREATED', 'IN_PROCESS') THEN due_at END,
    updated_at = $9
WHERE merchant_id = $1 AND claim_id = $3
"""


async def find_payment(
    tx: Connection, merchant_id: int, claim_id: int, transaction_id: str
) -> StoredPayment | None:
    row = await tx.fetchrow(_FIND, merchant_id, claim_id, transaction_id)
    return None if row is None else _read(row)


async def save_payment(
    tx: Connection,
    merchant_id: int,
    payment: StoredPayment,
    shares: Mapping[int, int],
    statuses: tuple[Status, Status | None],
) -> None:
    """shares: item id -> cents. statuses: the claim's, and the one it left if it is collected."""
    await tx.execute(
        _SAVE, merchant_id, payment.payment_id, payment.claim_id, payment.amount_cents,
        payment.currency, payment.transaction_id, payment.provider_name, payment.paid_at,
        payment.recorded_at, list(shares), list(shares.values()), *statuses,
    )  # fmt: skip


def _read(row: Row) -> StoredPayment:
    return StoredPayment(**dict(row.items()))
