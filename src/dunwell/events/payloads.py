"""Events, each made once with its body: the text that is stored, listed, signed and delivered;
nothing serialises it again. What a body says stands in `events.body`. Pure.
"""

from datetime import UTC, datetime
from typing import TypedDict, Unpack
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from dunwell.events import body
from dunwell.events.body import (
    EventActionStep,
    EventClaim,
    EventCommunication,
    EventDetails,
    EventDisputeReason,
    EventFee,
    EventPayment,
    EventPaymentModality,
    ModalityState,
    ModalityType,
)
from dunwell.merchants.configuration import Channel

_ESCALATION = "ESCALATION"


class EventHead(msgspec.Struct, frozen=True, gc=False):
    """What every event of a claim is told. `sequence` counts the claim's events from 1."""

    event_id: UUID
    merchant_id: int
    claim_id: int
    sequence: int
    occurred_at: datetime
    reference_number: str
    customer_number: str | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored. `body` is the JSON text delivered and signed."""

    event_id: UUID
    merchant_id: int
    claim_id: int
    sequence: int
    type: str
    occurred_at: datetime
    body: str


class Fee(msgspec.Struct, frozen=True, gc=False):
    """The claim item a fee step added."""

    id: int
    type: str
    value_cents: int
    currency: str


class Payment(msgspec.Struct, frozen=True, gc=False):
    """A debtor's payment by a provider, begun or completed."""

    provider_name: str
    amount_cents: int
    currency: str
    request_id: UUID


class _Parts(TypedDict, total=False):
    """What the claim of some event types has besides."""

    communication: EventCommunication
    fee: EventFee
    payment: EventPayment
    details: EventDetails
    payment_modality: EventPaymentModality
    dispute_reason: EventDisputeReason


def escalated(head: EventHead, step: EventActionStep, channel: Channel, reference: UUID) -> Event:
    """The debtor was contacted; `reference` is the contact's."""
    communication = EventCommunication(channel, str(reference))
    return _event(head, _claim(head, "ESCALATED", communication=communication), step)


def fee_added(head: EventHead, step: EventActionStep, fee: Fee) -> Event:
    """The escalation process added a fee; its value goes out as a string of cents."""
    item = EventFee(fee.id, fee.type, str(fee.value_cents), fee.currency)
    return _event(head, _claim(head, "FEE_ADDED", fee=item), step)


def checkpoint_reached(head: EventHead, step: EventActionStep, offset: int, message: str) -> Event:
    """The claim reached a marker step with the configured offset and message."""
    details = EventDetails(offset=offset, message=message)
    return _event(head, _claim(head, "CHECKPOINT_REACHED", details=details), step)


def archived(head: EventHead) -> Event:
    """All steps are processed and nothing was collected; no action step is named."""
    return _event(head, _claim(head, "ARCHIVED"))


def payment_in_progress(head: EventHead, payment: Payment, reference: str) -> Event:
    """The debtor was handed off to the provider; `reference` is the payment reference."""
    begun = EventPayment(*_payment_fields(payment), reference=reference)
    return _event(head, _claim(head, "PAYMENT_IN_PROGRESS", payment=begun), source=None)


def payment_completed(head: EventHead, payment: Payment, transaction_id: str) -> Event:
    """The payment request is completed; the amount is what was paid, `transaction_id` theirs."""
    completed = EventPayment(*_payment_fields(payment), transaction_id=transaction_id)
    return _event(head, _claim(head, "PAYMENT_COMPLETED", payment=completed), source=None)


def details_accessed(
    head: EventHead, session_id: UUID, communication_type: Channel | None = None
) -> Event:
    """The debtor opened the claim; `communication_type` is the channel of the link that was used,
    none when the access cannot be traced to a communication."""
    traced = UNSET if communication_type is None else communication_type
    details = EventDetails(
        channel="LANDING_PAGE", session_id=str(session_id), communication_type=traced
    )
    return _event(head, _claim(head, "DETAILS_ACCESSED", details=details), source=None)


def disputed(
    head: EventHead, dispute_type: str, dispute_id: UUID, message: str | None = None
) -> Event:
    """A debtor or the merchant disputes the claim; `message` goes with the type OTHER alone."""
    said = UNSET if message is None else message
    reason = EventDisputeReason(type=dispute_type, message=said, dispute_id=str(dispute_id))
    return _event(head, _claim(head, "DISPUTED", dispute_reason=reason), source=None)


def payment_modality_state_change(
    head: EventHead, modality_type: ModalityType, state: ModalityState, modality_id: UUID
) -> Event:
    """A modality was requested or answered."""
    modality = EventPaymentModality(modality_type, state, str(modality_id))
    claim = _claim(head, "PAYMENT_MODALITY_STATE_CHANGE", payment_modality=modality)
    return _event(head, claim, source=None)


def render_instant(instant: datetime) -> str:
    """The event's date: whole seconds, UTC, with a Z."""
    return f"{instant.astimezone(UTC).isoformat()[:19]}Z"


def _claim(head: EventHead, event_type: str, **parts: Unpack[_Parts]) -> EventClaim:
    return EventClaim(
        id=head.claim_id,
        merchant_id=head.merchant_id,
        reference_number=head.reference_number,
        action=event_type,
        executed_at=render_instant(head.occurred_at),
        customer_number=UNSET if head.customer_number is None else head.customer_number,
        **parts,
    )


def _payment_fields(payment: Payment) -> tuple[str, int, str, str]:
    return payment.provider_name, payment.amount_cents, payment.currency, str(payment.request_id)


def _event(
    head: EventHead,
    claim: EventClaim,
    step: EventActionStep | UnsetType = UNSET,
    *,
    source: str | None = _ESCALATION,
) -> Event:
    said = body.Event(
        type=claim.action,
        event_id=str(head.event_id),
        date=claim.executed_at,
        source=source,
        claim=claim,
        action_step=step,
    )
    return Event(
        event_id=head.event_id,
        merchant_id=head.merchant_id,
        claim_id=head.claim_id,
        sequence=head.sequence,
        type=claim.action,
        occurred_at=head.occurred_at,
        body=msgspec.json.encode(said).decode(),
    )
