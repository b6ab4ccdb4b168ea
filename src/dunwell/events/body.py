"""What the body of an event says, field by field, in the order it is written in (spec, Events;
CONTRACT 9), and an example. Pure.
"""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from dunwell.kit.wire import Uuid, Wire
from dunwell.merchants.configuration import Channel

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
    type: Annotated[str, Meta(description="COLLECTION_FEE or DUNNING_FEE; more may come.")]
    value: Annotated[str, Meta(description="Cents, as a string.")]
    currency: str


class EventPayment(Wire, frozen=True, gc=False):
    """A debtor's payment by a provider."""

    provider_name: str
    amount: Annotated[int, Meta(description="Minor units, an integer.")]
    currency: str
    payment_request_id: Annotated[Uuid, Meta(description="The payment flow; the same in both.")]
    reference: Annotated[
        str | UnsetType, Meta(description="PAYMENT_IN_PROGRESS: the payment reference.")
    ] = UNSET
    transaction_id: Annotated[
        str | UnsetType, Meta(description="PAYMENT_COMPLETED: the provider's id of it.")
    ] = UNSET


class EventDetails(Wire, frozen=True, gc=False):
    """Of CHECKPOINT_REACHED: offset and message. Of DETAILS_ACCESSED: the rest."""

    offset: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    channel: Literal["LANDING_PAGE"] | UnsetType = UNSET
    session_id: Annotated[
        Uuid | UnsetType, Meta(description="The landing page session; it lasts an hour.")
    ] = UNSET
    communication_type: Annotated[
        Channel | UnsetType,
        Meta(description="The channel the debtor came from, when it can be traced."),
    ] = UNSET


class EventDisputeReason(Wire, frozen=True, gc=False, kw_only=True):
    type: Annotated[
        str, Meta(description="The dispute option, as DEBTOR_ALREADY_PAID; OTHER: see the message.")
    ]
    message: Annotated[
        str | UnsetType, Meta(description="Only of OTHER: what is disputed, in words.")
    ] = UNSET
    dispute_id: Uuid


class EventPaymentModality(Wire, frozen=True, gc=False):
    type: Annotated[ModalityType, Meta(description="Spelled as here.")]
    state: ModalityState
    modality_id: Uuid


class EventClaim(Wire, frozen=True, gc=False):
    """The claim the event is about. Further fields depend on the event type."""

    id: int
    merchant_id: int
    reference_number: str
    action: Annotated[str, Meta(description="Deprecated: repeats the event type.")]
    executed_at: Annotated[_EventInstant, Meta(description="Deprecated: use date.")]
    customer_number: str | UnsetType = UNSET
    communication: EventCommunication | UnsetType = UNSET
    fee: EventFee | UnsetType = UNSET
    payment: EventPayment | UnsetType = UNSET
    details: EventDetails | UnsetType = UNSET
    payment_modality: EventPaymentModality | UnsetType = UNSET
    dispute_reason: EventDisputeReason | UnsetType = UNSET


class Event(Wire, frozen=True, gc=False):
    """An event, exactly as its webhook carries it."""

    type: EventType
    event_id: Uuid
    date: _EventInstant
    source: Annotated[
        str | None, Meta(description="ESCALATION when it comes from the escalation process.")
    ]
    claim: EventClaim
    action_step: EventActionStep | UnsetType = UNSET


EXAMPLE = Event(
    type="ESCALATED",
    event_id="0195547b-2c80-7b1d-8e55-9f0a1b2c3d4e",
    date="2026-03-02T09:00:01Z",
    source="ESCALATION",
    claim=EventClaim(
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
