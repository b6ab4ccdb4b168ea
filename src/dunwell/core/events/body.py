"""The bodies of events, with the fields in the order of the contract (spec, Events; CONTRACT 9),
and an example. Each type has its own class, identified by `type`.

Additional types are not part of the contract. Only endpoints that subscribe to them by name receive
them, and they have no sequence number. Pure.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from dunwell.accounts.merchants.configuration import Channel
from dunwell.platform.text.wire import Uuid, Wire

EVENT_TYPES = (
    "DISPUTED",
    "ESCALATED",
    "FEE_ADDED",
    "PAYMENT_IN_PROGRESS",
    "PAYMENT_COMPLETED",
    "DETAILS_ACCESSED",
    "PAYMENT_MODALITY_STATE_CHANGE",
    "CHECKPOINT_REACHED",
    "ARCHIVED",
)
ADDITIONAL_EVENT_TYPES = ("PAYMENT_REVERSED", "PAYMENT_REFUNDED", "MANDATE_CHANGED")
KNOWN_EVENT_TYPES = EVENT_TYPES + ADDITIONAL_EVENT_TYPES
EventType: Any = Literal[KNOWN_EVENT_TYPES]
ModalityType = Literal["PAYMENT_PLAN", "PAYMENT_DEFEREMENT"]
ModalityState = Literal["REQUESTED", "APPROVED", "REJECTED"]
ReversalStatus = Literal["REVERSED", "CHARGED_BACK", "CHARGEBACK_REVERSED"]
RefundStatus = Literal["REFUNDED", "REFUND_FAILED"]
RefundEffectName = Literal["SURPLUS", "REDUCE_CLAIM", "REOPEN"]
MandateState = Literal["REQUESTED", "ACTIVE", "REVOKED", "FAILED", "EXPIRED"]
_EventInstant = Annotated[
    str,
    Meta(
        description="ISO 8601, UTC.",
        examples=["2026-03-02T09:00:00Z"],
        extra_json_schema={"format": "date-time"},
    ),
]


class EventActionStep(Wire, frozen=True, gc=False):
    """The executed action step."""

    id: int
    name: str


class EventCommunication(Wire, frozen=True, gc=False):
    channel: Channel
    reference: Uuid


class EventFee(Wire, frozen=True, gc=False):
    id: Annotated[int, Meta(description="The fee's claim item.")]
    type: Annotated[str, Meta(description="COLLECTION_FEE or DUNNING_FEE; more may be added.")]
    value: Annotated[str, Meta(description="Cents, as a string.")]
    currency: str


class EventPayment(Wire, frozen=True, gc=False):
    """A debtor's payment by a provider."""

    provider_name: str
    amount: Annotated[int, Meta(description="Minor units, an integer.")]
    currency: str
    payment_request_id: Annotated[
        Uuid, Meta(description="The payment request; the same in both events.")
    ]


class BegunPayment(EventPayment, frozen=True, gc=False):
    """The debtor was handed off to the provider."""

    reference: Annotated[str, Meta(description="The payment reference.")]


class CompletedPayment(EventPayment, frozen=True, gc=False):
    """The provider has the debtor's payment."""

    transaction_id: Annotated[str, Meta(description="The provider's transaction id.")]


class CheckpointDetails(Wire, frozen=True, gc=False):
    """The offset and the message that are configured in the checkpoint step."""

    offset: int
    message: str


class AccessDetails(Wire, frozen=True, gc=False):
    """How the debtor accessed the claim."""

    channel: Literal["LANDING_PAGE"]
    session_id: Annotated[
        Uuid, Meta(description="The session on the debtor's page, which lasts an hour.")
    ]
    communication_type: Annotated[
        Channel | UnsetType,
        Meta(description="The channel of the link that the debtor used, if known."),
    ] = UNSET


class EventDisputeReason(Wire, frozen=True, gc=False, kw_only=True):
    type: Annotated[
        str,
        Meta(description="The reason, such as DEBTOR_ALREADY_PAID. For OTHER, see the message."),
    ]
    message: Annotated[
        str | UnsetType,
        Meta(description=("Only with OTHER: what is disputed, in the debtor's words.")),
    ] = UNSET
    dispute_id: Uuid


class EventPaymentModality(Wire, frozen=True, gc=False):
    type: Annotated[
        ModalityType, Meta(description="PAYMENT_DEFEREMENT is spelled exactly like this.")
    ]
    state: ModalityState
    modality_id: Uuid


class _ReturnedPayment(Wire, frozen=True, gc=False, kw_only=True):
    """A payment whose money was returned to the debtor, or came back after that."""

    payment_id: Uuid
    provider_name: str | None
    transaction_id: Annotated[str, Meta(description="The transaction id of the payment.")]
    payment_request_id: Annotated[
        Uuid | UnsetType, Meta(description="Only for a payment on the debtor's page.")
    ] = UNSET
    movement_id: Annotated[
        str, Meta(description="The movement of money, in the list of the claim's movements.")
    ]
    amount: Annotated[
        int, Meta(description="How much was returned or came back: minor units, an integer.")
    ]
    currency: str


class ReversedPayment(_ReturnedPayment, frozen=True, gc=False, kw_only=True):
    """The payment that was reversed, or whose reversal was undone."""

    status: Annotated[
        ReversalStatus,
        Meta(
            description=(
                "REVERSED: by the merchant. CHARGED_BACK: the debtor or the bank took the money "
                "back. CHARGEBACK_REVERSED: the merchant has the money again."
            )
        ),
    ]


class RefundedPayment(_ReturnedPayment, frozen=True, gc=False, kw_only=True):
    """The payment that was refunded, or whose refund failed."""

    status: Annotated[
        RefundStatus,
        Meta(description="REFUND_FAILED: the refund did not arrive; the merchant has the money."),
    ]
    refund_id: Annotated[
        Uuid | UnsetType, Meta(description="Only for a refund that was ordered here.")
    ] = UNSET
    effect: Annotated[
        RefundEffectName | UnsetType, Meta(description="Only for a refund that was ordered here.")
    ] = UNSET


class EventMandate(Wire, frozen=True, gc=False, kw_only=True):
    """A debtor's mandate for direct debits."""

    mandate_id: Uuid
    reference: Annotated[str, Meta(description="The mandate's reference, as the debtor knows it.")]
    provider_name: Annotated[str, Meta(description="DIRECT_DEBIT, or the kind of provider.")]
    state: MandateState
    modality_id: Annotated[
        Uuid | UnsetType, Meta(description="The payment plan that it pays, if there is one.")
    ] = UNSET


class EventClaim(Wire, frozen=True, gc=False):
    """The claim the event is about."""

    id: int
    merchant_id: int
    reference_number: str
    action: Annotated[
        str,
        Meta(
            description="Deprecated: repeats the event type.",
            extra_json_schema={"deprecated": True},
        ),
    ]
    executed_at: Annotated[
        _EventInstant,
        Meta(description="Deprecated: use date.", extra_json_schema={"deprecated": True}),
    ]
    customer_number: str | UnsetType = UNSET


class EscalatedClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the message that was sent to its debtor."""

    communication: EventCommunication


class FeeAddedClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the fee that was added."""

    fee: EventFee


class CheckpointClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the details of its checkpoint step."""

    details: CheckpointDetails


class PaymentInProgressClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the payment that was begun."""

    payment: BegunPayment


class PaymentCompletedClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the payment that was made."""

    payment: CompletedPayment


class AccessedClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and how its debtor accessed it."""

    details: AccessDetails


class PaymentModalityClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the modality that was requested or answered."""

    payment_modality: EventPaymentModality


class DisputedClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and why it is disputed."""

    dispute_reason: EventDisputeReason


class PaymentReversedClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the payment that was reversed."""

    reversal: ReversedPayment


class PaymentRefundedClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the payment that was refunded."""

    refund: RefundedPayment


class MandateClaim(EventClaim, frozen=True, gc=False, kw_only=True):
    """The claim, and the mandate whose state changed."""

    mandate: EventMandate


class _EventFrame(Wire, frozen=True, gc=False, kw_only=True, tag_field="type"):
    """The fields with which every event begins."""

    event_id: Uuid
    date: _EventInstant
    source: Annotated[str | None, Meta(description="ESCALATION if the workflow raised the event.")]


class EscalatedEvent(_EventFrame, frozen=True, gc=False, kw_only=True, tag="ESCALATED"):
    """The debtor was contacted."""

    claim: EscalatedClaim
    action_step: EventActionStep


class FeeAddedEvent(_EventFrame, frozen=True, gc=False, kw_only=True, tag="FEE_ADDED"):
    """The escalation process added a fee."""

    claim: FeeAddedClaim
    action_step: EventActionStep


class CheckpointReachedEvent(
    _EventFrame, frozen=True, gc=False, kw_only=True, tag="CHECKPOINT_REACHED"
):
    """The claim reached a checkpoint step."""

    claim: CheckpointClaim
    action_step: EventActionStep


class ArchivedEvent(_EventFrame, frozen=True, gc=False, kw_only=True, tag="ARCHIVED"):
    """All steps are processed and nothing was collected."""

    claim: EventClaim


class PaymentInProgressEvent(
    _EventFrame, frozen=True, gc=False, kw_only=True, tag="PAYMENT_IN_PROGRESS"
):
    """The debtor was handed off to a payment provider."""

    claim: PaymentInProgressClaim


class PaymentCompletedEvent(
    _EventFrame, frozen=True, gc=False, kw_only=True, tag="PAYMENT_COMPLETED"
):
    """The debtor has paid by a provider."""

    claim: PaymentCompletedClaim


class DetailsAccessedEvent(
    _EventFrame, frozen=True, gc=False, kw_only=True, tag="DETAILS_ACCESSED"
):
    """The debtor opened the claim."""

    claim: AccessedClaim


class PaymentModalityStateChangeEvent(
    _EventFrame, frozen=True, gc=False, kw_only=True, tag="PAYMENT_MODALITY_STATE_CHANGE"
):
    """A payment modality was requested or answered."""

    claim: PaymentModalityClaim


class DisputedEvent(_EventFrame, frozen=True, gc=False, kw_only=True, tag="DISPUTED"):
    """The debtor or the merchant disputes the claim."""

    claim: DisputedClaim


class PaymentReversedEvent(
    _EventFrame, frozen=True, gc=False, kw_only=True, tag="PAYMENT_REVERSED"
):
    """A payment was reversed, or came back after that. An additional type."""

    claim: PaymentReversedClaim


class PaymentRefundedEvent(
    _EventFrame, frozen=True, gc=False, kw_only=True, tag="PAYMENT_REFUNDED"
):
    """A payment was refunded, or its refund failed. An additional type."""

    claim: PaymentRefundedClaim


class MandateChangedEvent(_EventFrame, frozen=True, gc=False, kw_only=True, tag="MANDATE_CHANGED"):
    """A debtor's mandate for direct debits has another state. An additional type."""

    claim: MandateClaim


# An event exactly as its webhook carries it.
Event = (
    EscalatedEvent
    | FeeAddedEvent
    | CheckpointReachedEvent
    | ArchivedEvent
    | PaymentInProgressEvent
    | PaymentCompletedEvent
    | DetailsAccessedEvent
    | PaymentModalityStateChangeEvent
    | DisputedEvent
    | PaymentReversedEvent
    | PaymentRefundedEvent
    | MandateChangedEvent
)

EXAMPLE = EscalatedEvent(
    event_id="0195547b-2c80-7b1d-8e55-9f0a1b2c3d4e",
    date="2026-03-02T09:00:01Z",
    source="ESCALATION",
    claim=EscalatedClaim(
        id=4711,
        merchant_id=1,
        reference_number="INV-2026-0815",
        action="ESCALATED",
        executed_at="2026-03-02T09:00:01Z",
        customer_number="C-7001",
        communication=EventCommunication("EMAIL", "0195547b-2b11-7c9a-a0b1-c2d3e4f50617"),
    ),
    action_step=EventActionStep(1, "First reminder"),
)
