"""What an event says, to the letter (spec, Events; CONTRACT 9).

Every body is made here, once, as the text that is stored, listed, signed and delivered; nothing
serialises it again. The wire's names stand in this module alone. Pure.
"""

from datetime import UTC, datetime
from typing import TypedDict, Unpack
from uuid import UUID

import msgspec
from msgspec import UNSET, UnsetType

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
_ESCALATION = "ESCALATION"
# The access channel of DETAILS_ACCESSED.
_LANDING_PAGE = "LANDING_PAGE"


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


class ActionStep(msgspec.Struct, frozen=True, gc=False):
    """The executed action step, by the definition's id and name."""

    id: int
    name: str


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


class _Communication(msgspec.Struct, frozen=True, gc=False):
    channel: str
    reference: UUID


class _Fee(msgspec.Struct, frozen=True, gc=False):
    id: int
    type: str
    value: str
    currency: str


class _Checkpoint(msgspec.Struct, frozen=True, gc=False):
    offset: int
    message: str


class _Access(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    channel: str
    session_id: UUID
    communication_type: str | UnsetType = UNSET


class _Payment(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    provider_name: str
    amount: int
    currency: str
    payment_request_id: UUID
    reference: str | UnsetType = UNSET
    transaction_id: str | UnsetType = UNSET


class _DisputeReason(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    type: str
    message: str | UnsetType = UNSET
    dispute_id: UUID


class _PaymentModality(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    state: str
    modality_id: UUID


class _Claim(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    id: int
    merchant_id: int
    reference_number: str
    # Deprecated by the contract (spec, Versioning 3), and sent as long as it names them.
    action: str
    executed_at: str
    customer_number: str | UnsetType = UNSET
    communication: _Communication | UnsetType = UNSET
    fee: _Fee | UnsetType = UNSET
    payment: _Payment | UnsetType = UNSET
    details: _Checkpoint | _Access | UnsetType = UNSET
    payment_modality: _PaymentModality | UnsetType = UNSET
    dispute_reason: _DisputeReason | UnsetType = UNSET


class _Parts(TypedDict, total=False):
    """What the claim of some event types has besides."""

    communication: _Communication
    fee: _Fee
    payment: _Payment
    details: _Checkpoint | _Access
    payment_modality: _PaymentModality
    dispute_reason: _DisputeReason


class _Body(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    event_id: UUID
    date: str
    source: str | None
    claim: _Claim
    action_step: ActionStep | UnsetType = UNSET


def escalated(head: EventHead, step: ActionStep, channel: str, reference: UUID) -> Event:
    """The debtor was contacted; `channel` is EMAIL, SMS or LETTER, `reference` the contact's."""
    communication = _Communication(channel, reference)
    return _event(head, _claim(head, "ESCALATED", communication=communication), step)


def fee_added(head: EventHead, step: ActionStep, fee: Fee) -> Event:
    """The escalation process added a fee; its value goes out as a string of cents."""
    item = _Fee(fee.id, fee.type, str(fee.value_cents), fee.currency)
    return _event(head, _claim(head, "FEE_ADDED", fee=item), step)


def checkpoint_reached(head: EventHead, step: ActionStep, offset: int, message: str) -> Event:
    """The claim reached a marker step with the configured offset and message."""
    details = _Checkpoint(offset, message)
    return _event(head, _claim(head, "CHECKPOINT_REACHED", details=details), step)


def archived(head: EventHead) -> Event:
    """All steps are processed and nothing was collected; no action step is named."""
    return _event(head, _claim(head, "ARCHIVED"))


def payment_in_progress(head: EventHead, payment: Payment, reference: str) -> Event:
    """The debtor was handed off to the provider; `reference` is the payment reference."""
    begun = _Payment(*_payment_fields(payment), reference=reference)
    return _event(head, _claim(head, "PAYMENT_IN_PROGRESS", payment=begun), source=None)


def payment_completed(head: EventHead, payment: Payment, transaction_id: str) -> Event:
    """The payment request is completed; the amount is what was paid, `transaction_id` theirs."""
    completed = _Payment(*_payment_fields(payment), transaction_id=transaction_id)
    return _event(head, _claim(head, "PAYMENT_COMPLETED", payment=completed), source=None)


def details_accessed(
    head: EventHead, session_id: UUID, communication_type: Channel | None = None
) -> Event:
    """The debtor opened the claim; `communication_type` is the channel of the link that was used,
    none when the access cannot be traced to a communication."""
    traced = UNSET if communication_type is None else communication_type
    details = _Access(_LANDING_PAGE, session_id, traced)
    return _event(head, _claim(head, "DETAILS_ACCESSED", details=details), source=None)


def disputed(
    head: EventHead, dispute_type: str, dispute_id: UUID, message: str | None = None
) -> Event:
    """A debtor or the merchant disputes the claim; `message` goes with the type OTHER alone."""
    said = UNSET if message is None else message
    reason = _DisputeReason(type=dispute_type, message=said, dispute_id=dispute_id)
    return _event(head, _claim(head, "DISPUTED", dispute_reason=reason), source=None)


def payment_modality_state_change(
    head: EventHead, modality_type: str, state: str, modality_id: UUID
) -> Event:
    """A modality was requested or answered; `modality_type` is PAYMENT_PLAN or PAYMENT_DEFEREMENT,
    `state` REQUESTED, APPROVED or REJECTED."""
    modality = _PaymentModality(modality_type, state, modality_id)
    claim = _claim(head, "PAYMENT_MODALITY_STATE_CHANGE", payment_modality=modality)
    return _event(head, claim, source=None)


def render_instant(instant: datetime) -> str:
    """The event's date: whole seconds, UTC, with a Z."""
    return f"{instant.astimezone(UTC).isoformat()[:19]}Z"


def _claim(head: EventHead, event_type: str, **parts: Unpack[_Parts]) -> _Claim:
    return _Claim(
        id=head.claim_id,
        merchant_id=head.merchant_id,
        reference_number=head.reference_number,
        action=event_type,
        executed_at=render_instant(head.occurred_at),
        customer_number=UNSET if head.customer_number is None else head.customer_number,
        **parts,
    )


def _payment_fields(payment: Payment) -> tuple[str, int, str, UUID]:
    return payment.provider_name, payment.amount_cents, payment.currency, payment.request_id


def _event(
    head: EventHead,
    claim: _Claim,
    step: ActionStep | UnsetType = UNSET,
    *,
    source: str | None = _ESCALATION,
) -> Event:
    body = _Body(claim.action, head.event_id, claim.executed_at, source, claim, step)
    return Event(
        event_id=head.event_id,
        merchant_id=head.merchant_id,
        claim_id=head.claim_id,
        sequence=head.sequence,
        type=claim.action,
        occurred_at=head.occurred_at,
        body=msgspec.json.encode(body).decode(),
    )
