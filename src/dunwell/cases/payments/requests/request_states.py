"""The states of a payment request, their transitions, and the receipt that the debtor's page
shows.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.cases.payments.provider import CheckoutStatus

# The provider name, in requests and events, of a transfer that the debtor makes at a bank.
BANK_TRANSFER = "BANK_TRANSFER"


class PaymentRequestState(StrEnum):
    # The provider may not know of the request yet.
    CREATED = "CREATED"
    # The provider has opened a checkout.
    OPEN = "OPEN"
    # The debtor has finished, and the money is on its way.
    PENDING = "PENDING"
    # The provider collects an instalment with a mandate. The debtor does nothing.
    COLLECTING = "COLLECTING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"


# A claim has at most one request in these states per provider.
LIVE_STATES = frozenset(
    {PaymentRequestState.CREATED, PaymentRequestState.OPEN, PaymentRequestState.PENDING}
)
EXPIRES_AFTER = timedelta(hours=24)
# How long after the start an expired or cancelled request is checked while its provider leaves the
# checkout open: a transfer to the provider takes days.
OPEN_CHECKED_FOR = timedelta(days=30)
# The request's state after the provider's answer. A pair that is missing here leaves it unchanged.
TRANSITIONS: dict[tuple[PaymentRequestState, CheckoutStatus], PaymentRequestState] = {
    (PaymentRequestState.OPEN, CheckoutStatus.PENDING): PaymentRequestState.PENDING,
    (PaymentRequestState.OPEN, CheckoutStatus.FAILED): PaymentRequestState.FAILED,
    (PaymentRequestState.OPEN, CheckoutStatus.CANCELLED): PaymentRequestState.CANCELLED,
    (PaymentRequestState.OPEN, CheckoutStatus.EXPIRED): PaymentRequestState.EXPIRED,
    # The money was not received; the debtor may try again in the same checkout.
    (PaymentRequestState.PENDING, CheckoutStatus.OPEN): PaymentRequestState.OPEN,
    (PaymentRequestState.PENDING, CheckoutStatus.FAILED): PaymentRequestState.FAILED,
    (PaymentRequestState.PENDING, CheckoutStatus.CANCELLED): PaymentRequestState.CANCELLED,
    (PaymentRequestState.PENDING, CheckoutStatus.EXPIRED): PaymentRequestState.EXPIRED,
    (PaymentRequestState.COLLECTING, CheckoutStatus.FAILED): PaymentRequestState.FAILED,
    (PaymentRequestState.COLLECTING, CheckoutStatus.CANCELLED): PaymentRequestState.CANCELLED,
    **{
        (state, CheckoutStatus.PAID): PaymentRequestState.COMPLETED
        for state in PaymentRequestState
        if state is not PaymentRequestState.COMPLETED
    },
}
# The delays before the first check and after each check. The last one repeats.
CHECK_DELAYS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
)


# How long, and how often, a completed request is checked for refunds and chargebacks. A debtor can
# return an unauthorised direct debit for 13 months, but most are returned in the first weeks.
RETURN_CHECKS = (
    (timedelta(days=70), timedelta(days=7)),
    (timedelta(days=400), timedelta(days=30)),
)
# How long, and how often, a request is checked after a refund was accepted or listed. Refunds
# succeed or fail within days.
REFUND_CHECKS = (
    (timedelta(minutes=10), timedelta(minutes=1)),
    (timedelta(hours=2), timedelta(minutes=15)),
    (timedelta(days=1), timedelta(hours=2)),
    (timedelta(days=30), timedelta(days=1)),
)


@dataclass(frozen=True, slots=True)
class PaymentRequestDecision:
    state: PaymentRequestState
    # True if the request is checked at the provider again.
    keeps_checking: bool


def decide_request(
    state: PaymentRequestState, answer: CheckoutStatus, created_at: datetime, now: datetime
) -> PaymentRequestDecision:
    """Return the request's state after the provider's answer, and whether it is checked again.
    `state` is its present state. Both times are real time."""
    following = TRANSITIONS.get((state, answer), state)
    if following is PaymentRequestState.COMPLETED:
        return PaymentRequestDecision(following, keeps_checking=True)
    if answer is CheckoutStatus.OPEN and is_overdue(created_at, now):
        is_checked = now < created_at + OPEN_CHECKED_FOR
        return PaymentRequestDecision(expire_state(following), keeps_checking=is_checked)
    return PaymentRequestDecision(
        following, keeps_checking=answer in (CheckoutStatus.OPEN, CheckoutStatus.PENDING)
    )


def decide_next_check(created_at: datetime, checks: int, now: datetime) -> datetime:
    """Return when the request is checked next, given the number of checks so far. Until the request
    expires, its next check is at the expiry at the latest."""
    following = now + CHECK_DELAYS[min(checks, len(CHECK_DELAYS) - 1)]
    expires_at = created_at + EXPIRES_AFTER
    return min(following, expires_at) if now < expires_at else following


def decide_next_return_check(
    settled_at: datetime, refunded_at: datetime | None, now: datetime
) -> datetime | None:
    """Return when a completed request is checked next for refunds and chargebacks. Return None when
    its money can no longer be returned.

    `refunded_at` is when a refund of its payment was last accepted or listed.
    """
    for since, checks in ((refunded_at, REFUND_CHECKS), (settled_at, RETURN_CHECKS)):
        for until, delay in checks:
            if since is not None and now < since + until:
                return now + delay
    return None


def expire_state(state: PaymentRequestState) -> PaymentRequestState:
    """Return EXPIRED for a live state; other states are final and returned unchanged."""
    return PaymentRequestState.EXPIRED if state in LIVE_STATES else state


def is_overdue(created_at: datetime, now: datetime) -> bool:
    return now >= created_at + EXPIRES_AFTER


# Nested in the statement of the debtor's page. Uses primary keys and the unique index
# payments_request.
LOAD_RECEIPT = """
SELECT r.request_id, r.state, r.provider_name, r.amount_cents,
       CASE WHEN p.transaction_id IS NOT NULL THEN json_build_object(
           'amount_cents', p.amount_cents, 'returned_cents', p.returned_cents,
           'transaction_id', p.transaction_id, 'paid_at', p.paid_at,
           'reversed_at', p.reversed_at, 'method', p.method)
       END AS payment
FROM payment_requests r
LEFT JOIN payments p ON p.merchant_id = $1 AND p.request_id = r.request_id
WHERE r.merchant_id = $1 AND r.claim_id = $2 AND r.request_id = $3
"""


@dataclass(frozen=True, slots=True)
class ReceiptPayment:
    """The payment that completed a request. Both times are the merchant's."""

    amount_cents: int
    # How much of the payment was refunded, charged back or reversed.
    returned_cents: int
    transaction_id: str
    paid_at: datetime
    reversed_at: datetime | None
    # The means of payment, masked.
    method: str | None


@dataclass(frozen=True, slots=True)
class PaymentReceipt:
    """A payment request and, once it is COMPLETED, its payment. In any other state nothing was
    paid."""

    request_id: UUID
    state: PaymentRequestState
    # The kind of provider, as in events.
    provider_name: str
    amount_cents: int
    payment: ReceiptPayment | None
