"""The states of a payment request: what a provider's answer makes of it, and what the debtor's page
shows.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.cases.payments.provider import (
    Cancelled,
    CheckoutState,
    Expired,
    Failed,
    Open,
    Pending,
    Succeeded,
)

# The provider's name in requests and events of a transfer that the debtor makes at a bank.
BANK_TRANSFER = "BANK_TRANSFER"


class RequestState(StrEnum):
    CREATED = "CREATED"
    OPEN = "OPEN"
    PENDING = "PENDING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"


# Of these a claim has at most one for each provider.
LIVE = frozenset({RequestState.CREATED, RequestState.OPEN, RequestState.PENDING})
EXPIRES_AFTER = timedelta(hours=24)
# What the table does not name leaves the state as it is.
TRANSITIONS: dict[tuple[RequestState, type[CheckoutState]], RequestState] = {
    (RequestState.OPEN, Pending): RequestState.PENDING,
    (RequestState.OPEN, Failed): RequestState.FAILED,
    (RequestState.OPEN, Cancelled): RequestState.CANCELLED,
    (RequestState.OPEN, Expired): RequestState.EXPIRED,
    # The money did not come, and the debtor may try again on the same checkout.
    (RequestState.PENDING, Open): RequestState.OPEN,
    (RequestState.PENDING, Failed): RequestState.FAILED,
    (RequestState.PENDING, Cancelled): RequestState.CANCELLED,
    (RequestState.PENDING, Expired): RequestState.EXPIRED,
    **{
        (state, Succeeded): RequestState.COMPLETED
        for state in RequestState
        if state is not RequestState.COMPLETED
    },
}
# After the hand-off, then after each look; the last one for ever.
GAPS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
)


@dataclass(frozen=True, slots=True)
class RequestedPayment:
    """What the request asked for, and since when (real time)."""

    amount_cents: int
    currency: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RequestDecision:
    state: RequestState
    # Whether the provider is still to be asked.
    keeps_checking: bool
    # Paid, but not what was asked for: a person has to look.
    is_mismatch: bool = False


def decide_request(
    state: RequestState, answer: CheckoutState, asked: RequestedPayment, now: datetime
) -> RequestDecision:
    """The request after the provider's answer, at the real time `now`."""
    if state is RequestState.COMPLETED:
        return RequestDecision(state, keeps_checking=False)
    if isinstance(answer, Succeeded) and not _is_as_asked(answer, asked):
        return RequestDecision(state, keeps_checking=True, is_mismatch=True)
    following = TRANSITIONS.get((state, type(answer)), state)
    if isinstance(answer, Open) and is_overdue(asked.created_at, now):
        return RequestDecision(expire(following), keeps_checking=False)
    return RequestDecision(following, keeps_checking=isinstance(answer, Open | Pending))


def decide_next_check(created_at: datetime, checks: int, now: datetime) -> datetime:
    """The next look after so many, at the latest when the request expires."""
    following = now + GAPS[min(checks, len(GAPS) - 1)]
    expires_at = created_at + EXPIRES_AFTER
    return min(following, expires_at) if now < expires_at else following


def expire(state: RequestState) -> RequestState:
    """A live request ends; an ended one stays what it was."""
    return RequestState.EXPIRED if state in LIVE else state


def is_overdue(created_at: datetime, now: datetime) -> bool:
    return now >= created_at + EXPIRES_AFTER


def _is_as_asked(paid: Succeeded, asked: RequestedPayment) -> bool:
    return (paid.amount_cents, paid.currency) == (asked.amount_cents, asked.currency)


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
