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
    """The body that records a payment which the merchant received outside the service."""

    amount: Annotated[int, Meta(ge=1, le=999_999_999_999, description="Minor units, an integer.")]
    currency: Annotated[Currency, Meta(description="The claim's currency: ISO 4217, upper case.")]
    transaction_id: Annotated[
        _Text,
        Meta(
            description=(
                "Your or your bank's id of the payment. A repeated id counts as the same payment."
            )
        ),
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
    reversed_at: Annotated[
        Instant | None, Meta(description="Null if the payment was not reversed.")
    ]
    claim_status: Literal["CREATED", "IN_PROCESS", "COLLECTED", "ARCHIVED", "WITHDRAWN"]
    outstanding: Annotated[Cents, Meta(description="The outstanding amount of the claim.")]
    overpaid: Annotated[Cents, Meta(description="The amount paid beyond the claim's total.")]


class FoundPayment(Wire, frozen=True):
    """A payment, with the reference and the status of its claim."""

    id: Uuid
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's reference.")]
    claim_status: ClaimStatus
    amount: int
    returned: Annotated[
        int, Meta(description="How much of it was refunded, charged back or reversed: minor units.")
    ]
    currency: Currency
    transaction_id: str
    provider_name: str | None
    method: Annotated[str | None, Meta(description="The payment method, masked.")]
    payment_request_id: Annotated[
        Uuid | None,
        Meta(
            description=(
                "The payment request that it completed; null if it was made outside the service."
            )
        ),
    ]
    paid_at: Instant
    recorded_at: Instant
    reversed_at: Annotated[
        Instant | None, Meta(description="Null if the payment was not reversed.")
    ]


class FoundPaymentList(Wire, frozen=True):
    """A page of payments, latest recorded first."""

    items: list[FoundPayment]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class FoundPaymentRequest(Wire, frozen=True):
    """A payment that a debtor has started on the page, or a bank transfer that a debtor has
    reported."""

    id: Annotated[Uuid, Meta(description="The `paymentRequestId` of events.")]
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's reference.")]
    provider_name: Annotated[
        str, Meta(description="BANK_TRANSFER: the debtor reported a bank transfer.")
    ]
    amount: int
    currency: Currency
    state: Annotated[
        Literal[
            "CREATED",
            "OPEN",
            "PENDING",
            "COLLECTING",
            "COMPLETED",
            "FAILED",
            "CANCELLED",
            "EXPIRED",
        ],
        Meta(
            description=(
                "CREATED, OPEN: the debtor has not finished paying. PENDING: the debtor has "
                "finished, and the money has not arrived. COMPLETED: the payment is recorded. In "
                "the other states there is no payment."
            )
        ),
    ]
    created_at: Instant
    settled_at: Annotated[Instant | None, Meta(description="Null if it is not settled yet.")]
    sent_on: Annotated[Day | None, Meta(description="The day of a reported bank transfer.")]


class FoundPaymentRequestList(Wire, frozen=True):
    """A page of payment requests, newest first."""

    items: list[FoundPaymentRequest]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class Rejection(WireInput, frozen=True):
    """The rejection of a payment modality. The reason is optional."""

    reason: Annotated[
        Annotated[str, Meta(min_length=1, max_length=2_000, pattern=LINES)] | None,
        Meta(description="Shown to the debtor."),
    ] = None


class ScheduledPayment(Wire, frozen=True):
    """An amount that is due on a day, and how much of it has been paid."""

    number: Annotated[int, Meta(ge=1, description="Counted from 1.")]
    due_date: Day
    value: Cents
    paid: Annotated[
        Cents, Meta(description="Payments since the request are allocated to the earliest first.")
    ]


class PaymentModality(Wire, frozen=True):
    """A payment plan or a deferral that a debtor requested."""

    id: Uuid
    claim_id: int
    type: Annotated[
        Literal["PAYMENT_PLAN", "PAYMENT_DEFEREMENT"],
        Meta(description="The values are spelled exactly like this."),
    ]
    state: Literal["REQUESTED", "APPROVED", "REJECTED"]
    currency: Currency
    total: Annotated[Cents, Meta(description="The outstanding amount at the time of the request.")]
    schedule: Annotated[
        list[ScheduledPayment],
        Meta(
            description=(
                "The instalments of a plan. A deferral has one entry, with its date and the total."
            )
        ),
    ]
    requested_at: Instant
    answered_at: Annotated[Instant | None, Meta(description="Null if not answered yet.")]
    reason: Annotated[str | None, Meta(description="The reason of a rejection.")]
    ended_at: Annotated[Instant | None, Meta(description="Null if it is active or requested.")]
    ended_reason: Annotated[
        Literal["WITHDRAWN", "BROKEN", "FULFILLED", "PASSED", "REJECTED", "CLAIM_ENDED"] | None,
        Meta(
            description=(
                "WITHDRAWN: by the debtor. BROKEN: an instalment was missed. FULFILLED: it is "
                "paid. PASSED: the deferral's date has passed, or the first date of a request "
                "that was not answered. CLAIM_ENDED: the claim was withdrawn or archived."
            )
        ),
    ]


class PaymentModalityList(Wire, frozen=True):
    """A page of a claim's payment modalities, newest first."""

    items: list[PaymentModality]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class FoundModality(PaymentModality, frozen=True):
    """A payment modality in the list over all claims."""

    reference_number: Annotated[str, Meta(description="The claim's reference.")]


class FoundModalityList(Wire, frozen=True):
    """A page of the merchant's payment modalities, newest first."""

    items: list[FoundModality]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]
