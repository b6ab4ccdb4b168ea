"""Payouts of payment providers on the wire."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.platform.text.wire import Currency, Day, Instant, Uuid, Wire


class PayoutSummary(Wire, frozen=True, kw_only=True):
    """A sum that a payment provider transferred to your bank account, or took back from it."""

    id: Uuid
    account: Annotated[
        str,
        Meta(description="The account at the payment provider, as the operator has named it."),
    ]
    payout_id: Annotated[str, Meta(description="The provider's id.")]
    amount: Annotated[
        int,
        Meta(
            description="What arrives, after the fees: minor units, an integer. It is negative if "
            "the provider takes money back."
        ),
    ]
    fees: Annotated[int, Meta(description="What the provider deducted: minor units.")]
    currency: Currency
    expected_at: Annotated[Instant, Meta(description="When the provider expects it to arrive.")]
    recorded_at: Instant
    arrived_at: Annotated[
        Instant | None,
        Meta(description="When it was found on a bank statement; null if it was not found yet."),
    ]
    bank_account: Annotated[
        str | None, Meta(description="The bank account on whose statement it was found.")
    ]
    booked_on: Annotated[
        Day | None, Meta(description="The day on which the bank has booked it, or null.")
    ]


class PayoutList(Wire, frozen=True):
    """A page of payouts, the latest recorded first."""

    items: list[PayoutSummary]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class PayoutPart(Wire, frozen=True):
    """A movement of money of one of your claims that is part of a payout."""

    id: Annotated[Uuid, Meta(description="The id of the movement.")]
    movement_id: Annotated[str, Meta(description="The provider's id.")]
    kind: Literal[
        "PAID", "REFUNDED", "REFUND_FAILED", "CHARGED_BACK", "CHARGEBACK_REVERSED", "REVERSED"
    ]
    amount: Annotated[int, Meta(description="Minor units; negative for money that was given back.")]
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's reference.")]
    payment_id: Uuid | None


class PayoutDetails(PayoutSummary, frozen=True, kw_only=True):
    """A payout with what it consists of: the sum of `movements` and `otherAmount`, less `fees`,
    plus `difference`, is `amount`."""

    movements: list[PayoutPart]
    other_count: Annotated[
        int, Meta(description="The number of movements that belong to none of your claims.")
    ]
    other_amount: Annotated[int, Meta(description="Their sum: minor units.")]
    difference: Annotated[
        int,
        Meta(
            description=(
                "What the provider's list does not explain. It is the whole amount with its fees "
                "if the provider lists no movements."
            )
        ),
    ]
