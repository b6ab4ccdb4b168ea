"""What the debtor's pages show of a payment request: its state and, once paid, the payment."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.cases.payments.request_states import RequestState

# A debtor's page nests it. By primary keys, and by the unique index payments_request.
LOAD_RECEIPT = """
SELECT r.request_id, r.state, r.provider, r.amount_cents,
       CASE WHEN p.transaction_id IS NOT NULL THEN json_build_object(
           'amount_cents', p.amount_cents, 'transaction_id', p.transaction_id,
           'paid_at', p.paid_at, 'reversed_at', p.reversed_at, 'method', p.method)
       END AS payment
FROM payment_requests r
LEFT JOIN payments p ON p.merchant_id = $1 AND p.request_id = r.request_id
WHERE r.merchant_id = $1 AND r.claim_id = $2 AND r.request_id = $3
"""


@dataclass(frozen=True, slots=True)
class Paid:
    """Both instants are the merchant's time."""

    amount_cents: int
    transaction_id: str
    paid_at: datetime
    reversed_at: datetime | None
    # What it was paid with, masked.
    method: str | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """A request and, once it is COMPLETED, its payment. In any other state nothing is paid."""

    request_id: UUID
    state: RequestState
    provider: str
    amount_cents: int
    payment: Paid | None
