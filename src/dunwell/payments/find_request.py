"""What the debtor's pages show of a payment request: its state and, once paid, the payment."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.payments.request_states import RequestState

# By primary keys, and by the unique index payments_request.
_LOAD = """
SELECT r.request_id, r.claim_id, r.state, r.provider, r.amount_cents, p.amount_cents AS paid_cents,
       p.transaction_id, p.paid_at, p.reversed_at, p.method, d.email
FROM payment_requests r
JOIN debtors d ON d.merchant_id = $1 AND d.claim_id = r.claim_id
LEFT JOIN payments p ON p.merchant_id = $1 AND p.request_id = r.request_id
WHERE r.merchant_id = $1 AND r.request_id = $2
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
    # Whoever shows it checks that it is the claim the debtor has opened.
    claim_id: int
    state: RequestState
    provider: str
    amount_cents: int
    payment: Paid | None
    # The debtor's, on file.
    email: str | None


async def load_receipt(work: Work, request_id: UUID) -> Receipt:
    """Raises NotFound."""
    row = await work.tx.fetchrow(_LOAD, work.merchant_id, request_id)
    if row is None:
        raise NotFound(f"There is no payment request {request_id}.")
    payment = None
    if row["transaction_id"] is not None:
        payment = Paid(
            row["paid_cents"], row["transaction_id"], row["paid_at"], row["reversed_at"],
            row["method"],
        )  # fmt: skip
    return Receipt(
        row["request_id"], row["claim_id"], RequestState(row["state"]), row["provider"],
        row["amount_cents"], payment, row["email"],
    )  # fmt: skip
