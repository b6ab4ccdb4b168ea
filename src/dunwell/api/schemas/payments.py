"""A payment made elsewhere (CONTRACT 5)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.kit.wire import Cents, Currency, Given, GivenInstant, Instant, Uuid, Wire

_Text = Annotated[str, Meta(min_length=1, max_length=255)]


class PaymentRequest(Given, frozen=True):
    """A payment that reached the merchant outside the service."""

    amount: Annotated[int, Meta(ge=1, le=999_999_999_999, description="Minor units, an integer.")]
    currency: Annotated[Currency, Meta(description="ISO 4217, upper case; the claim's.")]
    transaction_id: Annotated[
        _Text, Meta(description="Your or your bank's id of it. The same twice is one payment.")
    ]
    provider_name: _Text | None = None
    paid_at: Annotated[GivenInstant | None, Meta(description="Default: now.")] = None


class Payment(Wire, frozen=True):
    """A recorded payment and where it leaves the claim."""

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
