"""Bodies of events exactly as in the tables of the contract."""

import json
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.core.events.body import EVENT_TYPES, EventActionStep, ModalityState, ModalityType
from dunwell.core.events.payloads import (
    Event,
    EventFeeData,
    EventHead,
    EventMandateData,
    EventPaymentData,
    EventReturnData,
    archived,
    checkpoint_reached,
    details_accessed,
    disputed,
    escalated,
    fee_added,
    mandate_changed,
    payment_completed,
    payment_in_progress,
    payment_modality_state_change,
    payment_refunded,
    payment_reversed,
)

EVENT_ID = UUID("0195f3a0-0000-7000-8000-000000000001")
REFERENCE = UUID("0195f3a0-0000-7000-8000-000000000002")
AT = datetime(2026, 3, 2, 9, 30, 15, 999999, tzinfo=UTC)
HEAD = EventHead(EVENT_ID, 7, 41, 3, AT, "INV-2026-1")
ADDITION = EventHead(EVENT_ID, 7, 41, None, AT, "INV-2026-1")
STEP = EventActionStep(5, "Erste Mahnung")
RETURNED = EventReturnData(
    payment_id=REFERENCE,
    provider_name="MOLLIE",
    transaction_id="tr_1",
    request_id=None,
    movement_id="re_1",
    amount_cents=240,
    currency="EUR",
)
RETURNED_BODY = {
    "paymentId": "0195f3a0-0000-7000-8000-000000000002",
    "providerName": "MOLLIE",
    "transactionId": "tr_1",
    "movementId": "re_1",
    "amount": 240,
    "currency": "EUR",
}
PAYMENT = EventPaymentData("sandbox", 10240, "EUR", REFERENCE)
SESSION_ID = UUID("0195f3a0-0000-7000-8000-000000000003")


def a_body(event_type: str, **claim: object) -> dict[str, object]:
    """Return the common structure with the fields that the type adds to the claim."""
    return {
        "type": event_type,
        "eventId": "0195f3a0-0000-7000-8000-000000000001",
        "date": "2026-03-02T09:30:15Z",
        "source": "ESCALATION",
        "claim": {
            "id": 41,
            "merchantId": 7,
            "referenceNumber": "INV-2026-1",
            "action": event_type,
            "executedAt": "2026-03-02T09:30:15Z",
            **claim,
        },
    }


def with_step(body: dict[str, object]) -> dict[str, object]:
    return {**body, "actionStep": {"id": 5, "name": "Erste Mahnung"}}


def test_escalated_names_the_step_and_the_communication() -> None:
    event = escalated(HEAD, STEP, "LETTER", REFERENCE)
    communication = {"channel": "LETTER", "reference": "0195f3a0-0000-7000-8000-000000000002"}
    assert json.loads(event.body) == with_step(a_body("ESCALATED", communication=communication))


def test_a_fee_is_a_string_of_cents() -> None:
    event = fee_added(HEAD, STEP, EventFeeData(99, "DUNNING_FEE", 250, "EUR"))
    fee = {"id": 99, "type": "DUNNING_FEE", "value": "250", "currency": "EUR"}
    assert json.loads(event.body) == with_step(a_body("FEE_ADDED", fee=fee))


def test_a_checkpoint_has_its_offset_and_message() -> None:
    event = checkpoint_reached(HEAD, STEP, 14, 'fee "window"')
    details = {"offset": 14, "message": 'fee "window"'}
    assert json.loads(event.body) == with_step(a_body("CHECKPOINT_REACHED", details=details))


def test_archived_has_no_additional_fields() -> None:
    assert json.loads(archived(HEAD).body) == a_body("ARCHIVED")


def without_source(body: dict[str, object]) -> dict[str, object]:
    return {**body, "source": None}


def test_a_payment_in_progress_names_amount_reference_and_request() -> None:
    event = payment_in_progress(HEAD, PAYMENT, "INV-2026-1")
    payment = {
        "providerName": "sandbox",
        "amount": 10240,
        "currency": "EUR",
        "reference": "INV-2026-1",
        "paymentRequestId": "0195f3a0-0000-7000-8000-000000000002",
    }
    assert json.loads(event.body) == without_source(a_body("PAYMENT_IN_PROGRESS", payment=payment))


def test_a_completed_payment_names_the_providers_transaction() -> None:
    event = payment_completed(HEAD, PAYMENT, "psp-1")
    payment = {
        "providerName": "sandbox",
        "amount": 10240,
        "currency": "EUR",
        "transactionId": "psp-1",
        "paymentRequestId": "0195f3a0-0000-7000-8000-000000000002",
    }
    assert json.loads(event.body) == without_source(a_body("PAYMENT_COMPLETED", payment=payment))


@pytest.mark.parametrize("kind", ["PAYMENT_PLAN", "PAYMENT_DEFEREMENT"])
@pytest.mark.parametrize("state", ["REQUESTED", "APPROVED", "REJECTED"])
def test_a_modality_is_named_with_its_type_and_state(
    kind: ModalityType, state: ModalityState
) -> None:
    event = payment_modality_state_change(HEAD, kind, state, SESSION_ID)
    modality = {"type": kind, "state": state, "modalityId": str(SESSION_ID)}
    body = a_body("PAYMENT_MODALITY_STATE_CHANGE", paymentModality=modality)
    assert json.loads(event.body) == without_source(body)


@pytest.mark.parametrize("channel", ["EMAIL", "SMS", "LETTER", None])
def test_an_access_names_its_channel_only_when_it_can_be_traced(channel: Channel | None) -> None:
    event = details_accessed(HEAD, SESSION_ID, channel)
    details = {"channel": "LANDING_PAGE", "sessionId": "0195f3a0-0000-7000-8000-000000000003"}
    if channel is not None:
        details["communicationType"] = channel
    assert json.loads(event.body) == without_source(a_body("DETAILS_ACCESSED", details=details))


def test_a_dispute_names_its_reason() -> None:
    reason = {"type": "DEFECTIVE", "disputeId": "0195f3a0-0000-7000-8000-000000000002"}
    event = disputed(HEAD, "DEFECTIVE", REFERENCE)
    assert json.loads(event.body) == without_source(a_body("DISPUTED", disputeReason=reason))


def test_a_dispute_with_the_reason_other_has_its_message() -> None:
    reason = {
        "type": "OTHER",
        "message": "ten too much",
        "disputeId": "0195f3a0-0000-7000-8000-000000000002",
    }
    event = disputed(HEAD, "OTHER", REFERENCE, "ten too much")
    assert json.loads(event.body) == without_source(a_body("DISPUTED", disputeReason=reason))


def test_a_reversed_payment_has_its_movement_and_status() -> None:
    event = payment_reversed(ADDITION, RETURNED, "CHARGEBACK_REVERSED")
    assert json.loads(event.body) == without_source(
        a_body("PAYMENT_REVERSED", reversal={**RETURNED_BODY, "status": "CHARGEBACK_REVERSED"})
    )


def test_a_refunded_payment_names_the_refund_that_was_ordered() -> None:
    event = payment_refunded(ADDITION, RETURNED, "REFUND_FAILED", (REFERENCE, "REOPEN"))
    payment = {
        **RETURNED_BODY, "status": "REFUND_FAILED", "refundId": str(REFERENCE), "effect": "REOPEN",
    }  # fmt: skip
    assert json.loads(event.body) == without_source(a_body("PAYMENT_REFUNDED", refund=payment))
    elsewhere = payment_refunded(ADDITION, RETURNED, "REFUNDED", None)
    assert json.loads(elsewhere.body)["claim"]["refund"] == {
        **RETURNED_BODY, "status": "REFUNDED",
    }  # fmt: skip


def test_a_changed_mandate_has_its_reference_and_state() -> None:
    data = EventMandateData(mandate_id=REFERENCE, reference="M-1", provider_name="DIRECT_DEBIT")
    mandate = {
        "mandateId": str(REFERENCE), "reference": "M-1", "providerName": "DIRECT_DEBIT",
        "state": "ACTIVE",
    }  # fmt: skip
    event = mandate_changed(ADDITION, data, "ACTIVE")
    assert json.loads(event.body) == without_source(a_body("MANDATE_CHANGED", mandate=mandate))
    assert (event.type, event.sequence) == ("MANDATE_CHANGED", None)


def test_only_additional_types_have_no_number() -> None:
    with pytest.raises(AssertionError):
        payment_reversed(HEAD, RETURNED, "REVERSED")
    with pytest.raises(AssertionError):
        archived(ADDITION)


def test_the_customer_number_is_included_only_when_it_was_given() -> None:
    head = EventHead(EVENT_ID, 7, 41, 3, AT, "INV-2026-1", "C-17")
    assert json.loads(archived(head).body) == a_body("ARCHIVED", customerNumber="C-17")


def test_an_event_is_stored_with_the_facts_of_its_body() -> None:
    event = archived(HEAD)
    assert event == Event(EVENT_ID, 7, 41, 3, "ARCHIVED", AT, event.body)


@pytest.mark.parametrize("hours", [-11, -3, 1, 13])
def test_dates_are_utc_whatever_zone_they_were_given_in(hours: int) -> None:
    at = AT.astimezone(timezone(timedelta(hours=hours)))
    event = archived(EventHead(EVENT_ID, 7, 41, 3, at, "INV-2026-1"))
    assert json.loads(event.body)["date"] == "2026-03-02T09:30:15Z"


def test_the_contract_has_nine_event_types() -> None:
    assert set(EVENT_TYPES) == {
        "DISPUTED", "ESCALATED", "FEE_ADDED", "PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED",
        "DETAILS_ACCESSED", "PAYMENT_MODALITY_STATE_CHANGE", "CHECKPOINT_REACHED", "ARCHIVED",
    }  # fmt: skip
    assert len(EVENT_TYPES) == 9
