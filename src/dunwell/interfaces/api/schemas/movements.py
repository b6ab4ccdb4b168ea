"""Movements of money and refunds on the wire."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.core.events.body import RefundEffectName
from dunwell.platform.text.wire import LINES, Currency, Instant, Uuid, Wire, WireInput


class RefundRequest(WireInput, frozen=True):
    """All fields are optional."""

    amount: Annotated[
        Annotated[int, Meta(ge=1, le=999_999_999_999)] | None,
        Meta(
            description=(
                "Minor units, an integer. Default: the surplus of the claim, or what is left of "
                "the payment if there is no surplus."
            )
        ),
    ] = None
    reason: Annotated[
        Annotated[str, Meta(min_length=1, max_length=255, pattern=LINES)] | None,
        Meta(description="For your staff, in one line. The debtor does not see it."),
    ] = None
    effect: Annotated[
        RefundEffectName | None,
        Meta(
            description=(
                "Required for more than the surplus. SURPLUS: the claim was overpaid; the default "
                "up to `overpaid`. REDUCE_CLAIM: you give the amount up, and nothing is owed "
                "again. REOPEN: it is owed again."
            )
        ),
    ] = None


class Refund(Wire, frozen=True):
    """An order to refund a payment, or a part of it."""

    id: Annotated[Uuid, Meta(description="The `refundId` of events.")]
    claim_id: int
    payment_id: Uuid
    amount: Annotated[int, Meta(description="Minor units, an integer.")]
    currency: Currency
    effect: RefundEffectName
    state: Annotated[
        Literal["CREATED", "ACCEPTED", "BOOKED", "REFUSED", "FAILED", "NOT_BOOKED"],
        Meta(
            description=(
                "CREATED: the order is sent to the provider until it answers. ACCEPTED: the "
                "provider has accepted it. BOOKED: the provider has moved the money, and the "
                "balance is changed. REFUSED: the provider has refused it, and nothing changes. "
                "FAILED: the money came back to you, and the balance is changed back. NOT_BOOKED: "
                "the provider has moved it in another currency; your staff has to review it."
            )
        ),
    ]
    reason: str | None
    movement_id: Annotated[
        str | None,
        Meta(description="The movement of money that it becomes; null until it is accepted."),
    ]
    refusal: Annotated[
        Literal["PROVIDER", "NOTHING_LEFT", "ACCOUNT_CLOSED"] | None,
        Meta(
            description=(
                "Why it is REFUSED; null if it is not, or if the reason is not known. PROVIDER: "
                "the provider has refused it. NOTHING_LEFT: the money went back in another way "
                "before. ACCOUNT_CLOSED: the account at the provider is closed."
            )
        ),
    ]
    refusal_text: Annotated[
        str | None, Meta(description="What the provider said about it, in its own words.")
    ]
    reviewed_at: Annotated[
        Instant | None,
        Meta(
            description=(
                "When your staff has looked at a refund that is refused, or that is not made for "
                "a week; null if nobody has."
            )
        ),
    ]
    created_at: Instant


class RefundList(Wire, frozen=True):
    """A page of a claim's refunds, newest first."""

    items: list[Refund]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class Movement(Wire, frozen=True):
    """Money of a claim that was moved."""

    id: Uuid
    claim_id: int
    reference_number: Annotated[str, Meta(description="The claim's reference.")]
    payment_id: Annotated[
        Uuid | None,
        Meta(description="The payment that it made or changed; null if it could not be booked."),
    ]
    payment_request_id: Annotated[
        Uuid | None, Meta(description="Null if the payment was made outside the service.")
    ]
    account: Annotated[
        str | None,
        Meta(
            description=(
                "The account at a payment provider or bank through which the money was moved, as "
                "the operator has named it; null for a reversal by you."
            )
        ),
    ]
    movement_id: Annotated[
        str,
        Meta(
            description=(
                "The provider's id. A refund that fails has the same id as the refund, and "
                "another `kind`."
            )
        ),
    ]
    kind: Annotated[
        Literal[
            "PAID", "REFUNDED", "REFUND_FAILED", "CHARGED_BACK", "CHARGEBACK_REVERSED", "REVERSED"
        ],
        Meta(
            description=(
                "PAID, REFUND_FAILED and CHARGEBACK_REVERSED: you have the money. REFUNDED and "
                "CHARGED_BACK: the debtor has it. REVERSED: you reversed the payment."
            )
        ),
    ]
    amount: Annotated[int, Meta(description="Minor units, an integer; never negative.")]
    booked: Annotated[
        int, Meta(description="The part by which it changed the claim's payments: minor units.")
    ]
    currency: Currency
    moved_at: Annotated[Instant, Meta(description="When the provider moved it.")]
    recorded_at: Instant
    review_reason: Annotated[
        Literal[
            "OTHER_CURRENCY",
            "OTHER_AMOUNT",
            "NOTHING_TO_RETURN",
            "REFUND_FAILED",
            "UNKNOWN_ORDER",
            "CLAIM_ENDED",
        ]
        | None,
        Meta(
            description=(
                "Why your staff has to review it; null if it does not. OTHER_CURRENCY: it is not "
                "in the claim's currency and was not booked. OTHER_AMOUNT: you recorded the same "
                "transaction with another amount, or the provider lists it with another amount "
                "than before. NOTHING_TO_RETURN: more was returned than is "
                "left of the payment. REFUND_FAILED: a refund came back, so the debtor has not "
                "received it. UNKNOWN_ORDER: a refund whose order is not known any more, as after "
                "a restore. CLAIM_ENDED: the claim is archived or withdrawn."
            )
        ),
    ]
    reviewed_at: Annotated[
        Instant | None,
        Meta(description="When your staff reviewed it; null if it was not reviewed."),
    ]


class MovementList(Wire, frozen=True):
    """A page of movements, newest first."""

    items: list[Movement]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]
