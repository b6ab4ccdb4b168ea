"""Build the events with their bodies. The stored text is listed, signed and delivered; it is never
serialised again. Pure."""

from datetime import UTC, datetime
from typing import TypedDict
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from dunwell.accounts.merchants.configuration import Channel
from dunwell.core.events import body
from dunwell.core.events.body import EventActionStep, ModalityState, ModalityType

_ESCALATION = "ESCALATION"


class EventHead(msgspec.Struct, frozen=True, gc=False):
    """The data of every event of a claim. `sequence` numbers the claim's events from 1."""

    event_id: UUID
    merchant_id: int
    claim_id: int
    sequence: int
    occurred_at: datetime
    reference_number: str
    customer_number: str | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored. `body` is the JSON text that is signed and delivered."""

    event_id: UUID
    merchant_id: int
    claim_id: int
    sequence: int
    type: str
    occurred_at: datetime
    body: str


class EventFeeData(msgspec.Struct, frozen=True, gc=False):
    """The item that a fee step added."""

    id: int
    type: str
    value_cents: int
    currency: str


class EventPaymentData(msgspec.Struct, frozen=True, gc=False):
    """A debtor's payment through a provider, started or completed."""

    provider_name: str
    amount_cents: int
    currency: str
    request_id: UUID


class _EventFields(TypedDict):
    """The fields of every event."""

    event_id: str
    date: str
    source: str | None


class _ClaimFields(TypedDict):
    """The claim's fields in every event."""

    id: int
    merchant_id: int
    reference_number: str
    action: str
    executed_at: str
    customer_number: str | UnsetType


class _PaymentFields(TypedDict):
    """The fields of a started or completed payment."""

    provider_name: str
    amount: int
    currency: str
    payment_request_id: str


def escalated(head: EventHead, step: EventActionStep, channel: Channel, reference: UUID) -> Event:
    """The debtor was contacted; `reference` is the contact's."""
    sent = body.EventCommunication(channel, str(reference))
    claim = body.EscalatedClaim(**_claim_fields(head, "ESCALATED"), communication=sent)
    return _event(head, body.EscalatedEvent(**_event_fields(head), claim=claim, action_step=step))


def fee_added(head: EventHead, step: EventActionStep, fee: EventFeeData) -> Event:
    """The escalation process added a fee; its value goes out as a string of cents."""
    item = body.EventFee(fee.id, fee.type, str(fee.value_cents), fee.currency)
    claim = body.FeeAddedClaim(**_claim_fields(head, "FEE_ADDED"), fee=item)
    return _event(head, body.FeeAddedEvent(**_event_fields(head), claim=claim, action_step=step))


def checkpoint_reached(head: EventHead, step: EventActionStep, offset: int, message: str) -> Event:
    """The claim reached a marker step with the configured offset and message."""
    details = body.CheckpointDetails(offset, message)
    claim = body.CheckpointClaim(**_claim_fields(head, "CHECKPOINT_REACHED"), details=details)
    event_body = body.CheckpointReachedEvent(**_event_fields(head), claim=claim, action_step=step)
    return _event(head, event_body)


def archived(head: EventHead) -> Event:
    """All steps are done and nothing was collected. No action step is named."""
    claim = body.EventClaim(**_claim_fields(head, "ARCHIVED"))
    return _event(head, body.ArchivedEvent(**_event_fields(head), claim=claim))


def payment_in_progress(head: EventHead, payment: EventPaymentData, reference: str) -> Event:
    """The debtor was handed off to the provider; `reference` is the payment reference."""
    begun = body.BegunPayment(**_payment_fields(payment), reference=reference)
    claim = body.PaymentInProgressClaim(**_claim_fields(head, "PAYMENT_IN_PROGRESS"), payment=begun)
    return _event(head, body.PaymentInProgressEvent(**_event_fields(head, None), claim=claim))


def payment_completed(head: EventHead, payment: EventPaymentData, transaction_id: str) -> Event:
    """The payment is completed. `transaction_id` is the provider's."""
    completed = body.CompletedPayment(**_payment_fields(payment), transaction_id=transaction_id)
    claim = body.PaymentCompletedClaim(
        **_claim_fields(head, "PAYMENT_COMPLETED"), payment=completed
    )
    return _event(head, body.PaymentCompletedEvent(**_event_fields(head, None), claim=claim))


def details_accessed(
    head: EventHead, session_id: UUID, communication_type: Channel | None = None
) -> Event:
    """The debtor opened the claim. `communication_type`: the channel of the link, or None if it is
    unknown."""
    link_channel = UNSET if communication_type is None else communication_type
    details = body.AccessDetails("LANDING_PAGE", str(session_id), link_channel)
    claim = body.AccessedClaim(**_claim_fields(head, "DETAILS_ACCESSED"), details=details)
    return _event(head, body.DetailsAccessedEvent(**_event_fields(head, None), claim=claim))


def disputed(
    head: EventHead, dispute_type: str, dispute_id: UUID, message: str | None = None
) -> Event:
    """The claim is disputed. `message` belongs only to the type OTHER."""
    shown_message = UNSET if message is None else message
    reason = body.EventDisputeReason(
        type=dispute_type, message=shown_message, dispute_id=str(dispute_id)
    )
    claim = body.DisputedClaim(**_claim_fields(head, "DISPUTED"), dispute_reason=reason)
    return _event(head, body.DisputedEvent(**_event_fields(head, None), claim=claim))


def payment_modality_state_change(
    head: EventHead, modality_type: ModalityType, state: ModalityState, modality_id: UUID
) -> Event:
    """A modality was requested or answered."""
    modality = body.EventPaymentModality(modality_type, state, str(modality_id))
    claim = body.PaymentModalityClaim(
        **_claim_fields(head, "PAYMENT_MODALITY_STATE_CHANGE"), payment_modality=modality
    )
    return _event(
        head, body.PaymentModalityStateChangeEvent(**_event_fields(head, None), claim=claim)
    )


def render_instant(instant: datetime) -> str:
    """Return the event's date in whole seconds, UTC, with a Z."""
    return f"{instant.astimezone(UTC).isoformat()[:19]}Z"


def _event_fields(head: EventHead, source: str | None = _ESCALATION) -> _EventFields:
    return _EventFields(
        event_id=str(head.event_id), date=render_instant(head.occurred_at), source=source
    )


def _claim_fields(head: EventHead, event_type: str) -> _ClaimFields:
    return _ClaimFields(
        id=head.claim_id,
        merchant_id=head.merchant_id,
        reference_number=head.reference_number,
        action=event_type,
        executed_at=render_instant(head.occurred_at),
        customer_number=UNSET if head.customer_number is None else head.customer_number,
    )


def _payment_fields(payment: EventPaymentData) -> _PaymentFields:
    return _PaymentFields(
        provider_name=payment.provider_name,
        amount=payment.amount_cents,
        currency=payment.currency,
        payment_request_id=str(payment.request_id),
    )


def _event(head: EventHead, event_body: body.Event) -> Event:
    return Event(
        event_id=head.event_id,
        merchant_id=head.merchant_id,
        claim_id=head.claim_id,
        sequence=head.sequence,
        type=event_body.claim.action,
        occurred_at=head.occurred_at,
        body=msgspec.json.encode(event_body).decode(),
    )
