"""The bodies of events, with the fields in the order of the contract (spec, Events; CONTRACT 9),
and an example. Each type has its own shape, identified by `type`. Pure."""

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
EventType: Any = Literal[EVENT_TYPES]
ModalityType = Literal["PAYMENT_PLAN", "PAYMENT_DEFEREMENT"]
ModalityState = Literal["REQUESTED", "APPROVED", "REJECTED"]
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
    """The offset and the message that are configured in the marker step."""

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
    """The claim, and the details of its marker step."""

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
    """The claim reached a marker step."""

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
