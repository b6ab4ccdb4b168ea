"""Payments, payment requests and payment modalities on the wire (CONTRACT 5 and 10)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.interfaces.api.schemas.claims import ClaimStatus
from dunwell.platform.text.wire import (
    LINES,
    Cents,
    Currency,
    Day,
    GivenInstant,
    Instant,
    Uuid,
    Wire,
    WireInput,
)

_Text = Annotated[str, Meta(min_length=1, max_length=255, pattern=LINES)]


class PaymentRequest(WireInput, frozen=True):
    """A payment that the merchant received outside the service."""

    amount: Annotated[int, Meta(ge=1, le=999_999_999_999, description="Minor units, an integer.")]
    currency: Annotated[Currency, Meta(description="ISO 4217, upper case; the claim's.")]
    transaction_id: Annotated[
        _Text, Meta(description="Your or your bank's id of it. The same twice is one payment.")
    ]
    provider_name: _Text | None = None
    paid_at: Annotated[GivenInstant | None, Meta(description="Default: now.")] = None


class Payment(Wire, frozen=True):
    """A recorded payment, and the claim's status and balance after it."""

    id: Uuid
    claim_id: int
    amount: int
    currency: Currency
    transaction_id: str
    provider_name: str | None
    paid_at: Instant
    reversed_at: Annotated[Instant | None, Meta(description="Null: the payment stands.")]
    claim_status: Literal["CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"]
    outstanding: Annotated[Cents, Meta(description="What is left to pay on the claim.")]
    overpaid: Annotated[Cents, Meta(description="What was paid beyond the claim.")]


class FoundPayment(Wire, frozen=True):
    """A payment in the list over all claims."""

    id: Uuid
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's.")]
    claim_status: ClaimStatus
    amount: int
    currency: Currency
    transaction_id: str
    provider_name: str | None
    method: Annotated[str | None, Meta(description="What it was paid with, masked.")]
    payment_request_id: Annotated[
        Uuid | None, Meta(description="The request it settled; null: it was made elsewhere.")
    ]
    paid_at: Instant
    recorded_at: Instant
    reversed_at: Annotated[Instant | None, Meta(description="Null: the payment stands.")]


class FoundPaymentList(Wire, frozen=True):
    """A page of the merchant's payments, newest first."""

    items: list[FoundPayment]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class FoundPaymentRequest(Wire, frozen=True):
    """A payment that a debtor has started on the page, or a bank transfer that a debtor has
    reported."""

    id: Annotated[Uuid, Meta(description="The events' paymentRequestId.")]
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's.")]
    provider_name: Annotated[
        str, Meta(description="BANK_TRANSFER: the debtor said that the money was sent.")
    ]
    amount: int
    currency: Currency
    state: Annotated[
        Literal["CREATED", "OPEN", "PENDING", "COMPLETED", "FAILED", "CANCELLED", "EXPIRED"],
        Meta(
            description="CREATED, OPEN: the debtor is at it. PENDING: the debtor is done, the "
            "money is under way. COMPLETED: it is booked. The rest came to nothing."
        ),
    ]
    created_at: Instant
    settled_at: Annotated[Instant | None, Meta(description="Null: it is under way.")]
    sent_on: Annotated[Day | None, Meta(description="The day of an announced transfer.")]


class FoundPaymentRequestList(Wire, frozen=True):
    """A page of the merchant's payment requests, newest first."""

    items: list[FoundPaymentRequest]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class Rejection(WireInput, frozen=True):
    """All fields are optional."""

    reason: Annotated[
        Annotated[str, Meta(min_length=1, max_length=2_000, pattern=LINES)] | None,
        Meta(description="For the debtor to read."),
    ] = None


class ScheduledPayment(Wire, frozen=True):
    """An amount that is due on a day, and how much of it has been paid."""

    number: Annotated[int, Meta(ge=1, description="From 1.")]
    due_date: Day
    value: Cents
    paid: Annotated[
        Cents, Meta(description="What was paid since the request pays the earliest first.")
    ]


class PaymentModality(Wire, frozen=True):
    """A payment plan or a deferral that a debtor requested."""

    id: Uuid
    claim_id: int
    type: Annotated[
        Literal["PAYMENT_PLAN", "PAYMENT_DEFEREMENT"], Meta(description="Spelled as here.")
    ]
    state: Literal["REQUESTED", "APPROVED", "REJECTED"]
    currency: Currency
    total: Annotated[Cents, Meta(description="What was outstanding when it was asked for.")]
    schedule: Annotated[
        list[ScheduledPayment],
        Meta(description="A plan's rates; a deferment has one entry, its date and the whole."),
    ]
    requested_at: Instant
    answered_at: Annotated[Instant | None, Meta(description="Null: not answered.")]
    reason: Annotated[str | None, Meta(description="Given with a rejection.")]
    ended_at: Annotated[Instant | None, Meta(description="Null: it stands.")]
    ended_reason: Annotated[
        Literal["WITHDRAWN", "BROKEN", "FULFILLED", "PASSED", "REJECTED", "CLAIM_ENDED"] | None,
        Meta(
            description="WITHDRAWN by the debtor. BROKEN: a rate was missed. FULFILLED: it is "
            "paid. PASSED: the date is over; of a request nobody answered, the first date. "
            "CLAIM_ENDED: the claim was withdrawn or archived."
        ),
    ]


class PaymentModalityList(Wire, frozen=True):
    """A page of a claim's payment modalities, newest first."""

    items: list[PaymentModality]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class FoundModality(PaymentModality, frozen=True):
    """A payment modality in the list over all claims."""

    reference_number: Annotated[str, Meta(description="The claim's.")]


class FoundModalityList(Wire, frozen=True):
    """A page of the merchant's payment modalities, newest first."""

    items: list[FoundModality]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]
