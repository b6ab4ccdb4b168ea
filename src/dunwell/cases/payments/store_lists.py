"""The SQL of lists of payments and of payment requests: rows in, values out, no rules."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from uuid import UUID

from dunwell.cases.payments.request_states import RequestState
from dunwell.cases.payments.store import StoredPayment
from dunwell.cases.payments.store_requests import PaymentRequest
from dunwell.core.claims.states import Status
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# By primary keys, as the next.
_LOAD_PAYMENTS = compose(
    """
SELECT {columns}, c.reference_number, c.status,
       p.amount_cents - (SELECT coalesce(sum(a.amount_cents), 0)::bigint
                         FROM allocations a
                         WHERE a.merchant_id = $1 AND a.claim_id = p.claim_id
                           AND a.payment_id = p.payment_id) AS left_cents
FROM payments p
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = p.claim_id
WHERE p.merchant_id = $1 AND p.payment_id = ANY($2::uuid[])
""",
    columns=", ".join(f"p.{each.name}" for each in fields(StoredPayment)),
)
_LOAD_REQUESTS = compose(
    """
SELECT {columns}, c.reference_number
FROM payment_requests r
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = r.claim_id
WHERE r.merchant_id = $1 AND r.request_id = ANY($2::uuid[])
""",
    columns=", ".join(f"r.{each.name}" for each in fields(PaymentRequest)),
)


@dataclass(frozen=True, slots=True)
class ListedPayment:
    payment: StoredPayment
    # The claim's.
    reference_number: str
    status: Status
    # What of it pays no item.
    left_cents: int = 0

    @property
    def is_unmatched(self) -> bool:
        """It stands, and pays more than is owed, or a claim nobody asks for any more."""
        is_beyond = self.left_cents > 0 or self.status is Status.WITHDRAWN
        return self.payment.reversed_at is None and is_beyond


@dataclass(frozen=True, slots=True)
class ListedRequest:
    request: PaymentRequest
    # The claim's.
    reference_number: str


async def load_payments(
    tx: Connection, merchant_id: int, payment_ids: Sequence[UUID]
) -> dict[UUID, ListedPayment]:
    """By id."""
    found = {}
    for row in await tx.fetch(_LOAD_PAYMENTS, merchant_id, list(payment_ids)):
        values = dict(row)
        reference, status = values.pop("reference_number"), Status(values.pop("status"))
        left = values.pop("left_cents")
        found[row["payment_id"]] = ListedPayment(StoredPayment(**values), reference, status, left)
    return found


async def load_requests(
    tx: Connection, merchant_id: int, request_ids: Sequence[UUID]
) -> dict[UUID, ListedRequest]:
    """By id."""
    found = {}
    for row in await tx.fetch(_LOAD_REQUESTS, merchant_id, list(request_ids)):
        values = {**row, "state": RequestState(row["state"])}
        reference = values.pop("reference_number")
        found[row["request_id"]] = ListedRequest(PaymentRequest(**values), reference)
    return found
