"""Build the events with their bodies; each function is named after its event type. The text of the
body is stored, listed, signed and delivered exactly as it is built here. Pure."""

from datetime import UTC, datetime
from typing import Any, TypedDict
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

from dunwell.accounts.merchants.configuration import Channel
from dunwell.core.events import body
from dunwell.core.events.body import (
    ADDITIONAL_EVENT_TYPES,
    EventActionStep,
    MandateState,
    ModalityState,
    ModalityType,
    RefundStatus,
    ReversalStatus,
)

_ESCALATION = "ESCALATION"


class EventHead(msgspec.Struct, frozen=True, gc=False):
    """The data of every event of a claim. `sequence` numbers the claim's events from 1; None for an
    additional type."""

    event_id: UUID
    merchant_id: int
    claim_id: int
    sequence: int | None
    occurred_at: datetime
    reference_number: str
    customer_number: str | None = None


class Event(msgspec.Struct, frozen=True, gc=False):
    """An event as it is stored. `body` is the JSON text that is signed and delivered."""

    event_id: UUID
    merchant_id: int
    claim_id: int
    # None for an additional type.
    sequence: int | None
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


class EventReturnData(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Money of a payment that was returned to the debtor, or that came back after that."""

    payment_id: UUID
    provider_name: str | None
    transaction_id: str
    # None for a payment that was made elsewhere.
    request_id: UUID | None
    movement_id: str
    amount_cents: int
    currency: str


class EventMandateData(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A debtor's mandate for direct debits."""

    mandate_id: UUID
    reference: str
    # DIRECT_DEBIT, or the kind of provider.
    provider_name: str
    # The payment plan that it pays.
    modality_id: UUID | None = None


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


class _ReturnFields(TypedDict):
    """The fields of a payment whose money was returned or came back."""

    payment_id: str
    provider_name: str | None
    transaction_id: str
    payment_request_id: str | UnsetType
    movement_id: str
    amount: int
    currency: str


def escalated(head: EventHead, step: EventActionStep, channel: Channel, reference: UUID) -> Event:
    """The debtor was contacted; `reference` is the contact's id."""
    sent = body.EventCommunication(channel, str(reference))
    claim = body.EscalatedClaim(**_claim_fields(head, "ESCALATED"), communication=sent)
    return _event(head, body.EscalatedEvent(**_event_fields(head), claim=claim, action_step=step))


def fee_added(head: EventHead, step: EventActionStep, fee: EventFeeData) -> Event:
    """The escalation process added a fee. The event carries its value as a string of cents."""
    item = body.EventFee(fee.id, fee.type, str(fee.value_cents), fee.currency)
    claim = body.FeeAddedClaim(**_claim_fields(head, "FEE_ADDED"), fee=item)
    return _event(head, body.FeeAddedEvent(**_event_fields(head), claim=claim, action_step=step))


def checkpoint_reached(head: EventHead, step: EventActionStep, offset: int, message: str) -> Event:
    """The claim reached a checkpoint step with the configured offset and message."""
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
    """The debtor opened the claim. `communication_type` is the channel of the link, or None if it
    is unknown."""
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


def payment_reversed(head: EventHead, returned: EventReturnData, status: ReversalStatus) -> Event:
    """A payment was reversed, or came back after that."""
    payment = body.ReversedPayment(**_return_fields(returned), status=status)
    claim = body.PaymentReversedClaim(**_claim_fields(head, "PAYMENT_REVERSED"), reversal=payment)
    return _event(head, body.PaymentReversedEvent(**_event_fields(head, None), claim=claim))


def payment_refunded(
    head: EventHead, returned: EventReturnData, status: RefundStatus,
    order: tuple[UUID, str] | None,
) -> Event:  # fmt: skip
    """A payment was refunded, or its refund failed. `order` is the refund's id and effect; None if
    it was not ordered here."""
    refund_id: str | UnsetType = UNSET
    effect: Any = UNSET
    if order is not None:
        refund_id, effect = str(order[0]), order[1]
    payment = body.RefundedPayment(
        **_return_fields(returned), status=status, refund_id=refund_id, effect=effect
    )
    claim = body.PaymentRefundedClaim(**_claim_fields(head, "PAYMENT_REFUNDED"), refund=payment)
    return _event(head, body.PaymentRefundedEvent(**_event_fields(head, None), claim=claim))


def mandate_changed(head: EventHead, mandate: EventMandateData, state: MandateState) -> Event:
    """A mandate has another state."""
    modality_id = UNSET if mandate.modality_id is None else str(mandate.modality_id)
    changed = body.EventMandate(
        mandate_id=str(mandate.mandate_id),
        reference=mandate.reference,
        provider_name=mandate.provider_name,
        state=state,
        modality_id=modality_id,
    )
    claim = body.MandateClaim(**_claim_fields(head, "MANDATE_CHANGED"), mandate=changed)
    return _event(head, body.MandateChangedEvent(**_event_fields(head, None), claim=claim))


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


def _return_fields(returned: EventReturnData) -> _ReturnFields:
    return _ReturnFields(
        payment_id=str(returned.payment_id),
        provider_name=returned.provider_name,
        transaction_id=returned.transaction_id,
        payment_request_id=UNSET if returned.request_id is None else str(returned.request_id),
        movement_id=returned.movement_id,
        amount=returned.amount_cents,
        currency=returned.currency,
    )


def _event(head: EventHead, event_body: body.Event) -> Event:
    is_additional = event_body.claim.action in ADDITIONAL_EVENT_TYPES
    assert is_additional == (head.sequence is None), "additional types have no number"
    return Event(
        event_id=head.event_id,
        merchant_id=head.merchant_id,
        claim_id=head.claim_id,
        sequence=head.sequence,
        type=event_body.claim.action,
        occurred_at=head.occurred_at,
        body=msgspec.json.encode(event_body).decode(),
    )
