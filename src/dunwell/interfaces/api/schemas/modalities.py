"""Payment modalities: what debtors asked for, and the merchant's answer (CONTRACT 5 and 10)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.platform.text.plain_text import LINES
from dunwell.platform.text.wire import Cents, Currency, Day, Given, Instant, Uuid, Wire


class Rejection(Given, frozen=True):
    """Nothing of it is required."""

    reason: Annotated[
        Annotated[str, Meta(min_length=1, max_length=2_000, pattern=LINES)] | None,
        Meta(description="For the debtor to read."),
    ] = None


class ScheduledPayment(Wire, frozen=True):
    """What is to be paid by a day, and how much of it is."""

    number: Annotated[int, Meta(ge=1, description="From 1.")]
    due_date: Day
    value: Cents
    paid: Annotated[
        Cents, Meta(description="What was paid since the request pays the earliest first.")
    ]


class PaymentModality(Wire, frozen=True):
    """A payment plan or a deferment that a debtor asked for."""

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
