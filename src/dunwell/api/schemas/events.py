"""Events as listed: the bodies of the webhooks, unchanged (spec, Events; CONTRACT 5 and 9).

The bodies themselves are made in `events.payloads` and passed through as they were stored; the
shapes here describe them.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from dunwell.events.payloads import EVENT_TYPES
from dunwell.kit.wire import Given, GivenInstant, Uuid, Wire

EventType: Any = Literal[EVENT_TYPES]

_EventInstant = Annotated[
    str,
    Meta(
        description="ISO 8601, UTC.",
        examples=["2026-03-02T09:00:00Z"],
        extra_json_schema={"format": "date-time"},
    ),
]


class EventActionStep(Wire, frozen=True):
    """The executed action step."""

    id: int
    name: str


class EventCommunication(Wire, frozen=True):
    channel: Literal["SMS", "LETTER", "EMAIL"]
    reference: Uuid


class EventFee(Wire, frozen=True):
    id: Annotated[int, Meta(description="The fee's claim item.")]
    type: Annotated[str, Meta(description="COLLECTION_FEE or DUNNING_FEE; more may come.")]
    value: Annotated[str, Meta(description="Cents, as a string.")]
    currency: str


class EventPayment(Wire, frozen=True):
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


class EventDetails(Wire, frozen=True):
    """Of CHECKPOINT_REACHED: offset and message. Of DETAILS_ACCESSED: the rest."""

    offset: int | UnsetType = UNSET
    message: str | UnsetType = UNSET
    communication_type: Annotated[
        Literal["SMS", "LETTER", "EMAIL"] | UnsetType,
        Meta(description="The channel the debtor came from, when it can be traced."),
    ] = UNSET
    channel: Literal["LANDING_PAGE"] | UnsetType = UNSET
    session_id: Annotated[
        Uuid | UnsetType, Meta(description="The landing page session; it lasts an hour.")
    ] = UNSET


class EventDisputeReason(Wire, frozen=True, kw_only=True):
    type: Annotated[
        str, Meta(description="The dispute option, as DEBTOR_ALREADY_PAID; OTHER: see the message.")
    ]
    message: Annotated[
        str | UnsetType, Meta(description="Only of OTHER: what is disputed, in words.")
    ] = UNSET
    dispute_id: Uuid


class EventPaymentModality(Wire, frozen=True):
    type: Annotated[
        Literal["PAYMENT_PLAN", "PAYMENT_DEFEREMENT"], Meta(description="Spelled as here.")
    ]
    state: Literal["REQUESTED", "APPROVED", "REJECTED"]
    modality_id: Uuid


class EventClaim(Wire, frozen=True):
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


class Event(Wire, frozen=True):
    """An event, exactly as its webhook carries it."""

    type: EventType
    event_id: Uuid
    date: _EventInstant
    source: Annotated[
        str | None, Meta(description="ESCALATION when it comes from the escalation process.")
    ]
    claim: EventClaim
    action_step: EventActionStep | UnsetType = UNSET


class EventList(Wire, frozen=True):
    """A page of events, oldest first."""

    items: list[Event]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class EncodedEventList(Wire, frozen=True):
    """The same, with bodies that are JSON already."""

    items: list[msgspec.Raw]
    next_cursor: str | None


class ReplayRequest(Given, frozen=True):
    """Which events are sent again."""

    since: Annotated[GivenInstant, Meta(description="Events of this date or later.")]
    until: Annotated[
        GivenInstant | None, Meta(description="Only events before this date. Default: all since.")
    ] = None
    types: Annotated[
        Annotated[list[EventType], Meta(min_length=1, max_length=20)] | None,
        Meta(description="Only events of these types. Default: all."),
    ] = None
    endpoint_id: Annotated[
        Uuid | None, Meta(description="Only to this endpoint. Default: all that ask for the type.")
    ] = None


class Replayed(Wire, frozen=True):
    replayed: Annotated[int, Meta(description="How many deliveries were made due again.")]
