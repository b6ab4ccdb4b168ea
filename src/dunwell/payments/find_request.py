"""What the debtor's pages show of a payment: the receipt of a request, and a claim's latest one."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.errors import NotFound
from dunwell.merchants.account import Work
from dunwell.payments.record_payment import load_balance
from dunwell.payments.request_states import RequestState
from dunwell.payments.store import StoredPayment, load_payment_of_request
from dunwell.payments.store_requests import find_latest_request_id, load_request


@dataclass(frozen=True, slots=True)
class Receipt:
    """A request and, once it is COMPLETED, its payment. In any other state nothing is paid."""

    request_id: UUID
    # Whoever shows it checks that it is the claim the debtor has opened.
    claim_id: int
    state: RequestState
    provider: str
    amount_cents: int
    currency: str
    reference: str
    # Set when COMPLETED; paid_at and reversed_at are the merchant's time.
    payment: StoredPayment | None
    # What is left on the claim now, and what was paid beyond it.
    outstanding_cents: int
    overpaid_cents: int


async def load_receipt(work: Work, request_id: UUID) -> Receipt:
    """Raises NotFound."""
    request = await load_request(work.tx, work.merchant_id, request_id)
    if request is None:
        raise NotFound(f"There is no payment request {request_id}.")
    payment = await load_payment_of_request(work.tx, work.merchant_id, request_id)
    balance = await load_balance(work, request.claim_id)
    return Receipt(
        request_id=request.request_id,
        claim_id=request.claim_id,
        state=request.state,
        provider=request.provider,
        amount_cents=request.amount_cents,
        currency=request.currency,
        reference=request.reference,
        payment=payment,
        outstanding_cents=balance.outstanding_cents,
        overpaid_cents=balance.overpaid_cents,
    )


async def find_latest_receipt(work: Work, claim_id: int) -> Receipt | None:
    """Of the claim's latest request: what the claim page says about a payment under way."""
    request_id = await find_latest_request_id(work.tx, work.merchant_id, claim_id)
    return None if request_id is None else await load_receipt(work, request_id)
