"""Record a payment that was made outside the service, and reverse a payment."""

from collections.abc import Iterator
from datetime import datetime

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.record_payment import (
    NewPayment,
    RecordedPayment,
    record_payment,
)
from dunwell.cases.statements.matches.assign_transactions import reverse_matched_payment
from dunwell.interfaces.api.address import parse_claim_id, parse_payment_id, parse_query_instant
from dunwell.interfaces.api.operation import ApiCall, ApiEndpoint, Operation, RequestBody
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.parameters import CLAIM_ID, MERCHANT_ID, PAYMENT_ID
from dunwell.interfaces.api.schemas.payments import Payment, PaymentRequest
from dunwell.platform.errors import Fault, InvalidRequest, InvalidState, ValidationError
from dunwell.platform.text.wire import render_instant

_PAYMENT_EXAMPLE = {
    "id": "01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33",
    "claimId": 4711,
    "amount": 10490,
    "currency": "EUR",
    "transactionId": "bank-2026-03-12-0007",
    "providerName": "BANK_TRANSFER",
    "paidAt": "2026-03-12T10:15:00.000Z",
    "reversedAt": None,
    "claimStatus": "COLLECTED",
    "outstanding": "0",
    "overpaid": "0",
}

RECORD_PAYMENT = Operation(
    operation_id="recordPayment",
    right=Right.RECORD_MONEY,
    method="POST",
    path="/merchants/{merchant_id}/claims/{claim_id}/payments",
    tag="Payments",
    summary="Record a payment",
    description=(
        "Records a payment that you received outside the service. It reduces the outstanding "
        "amount; when nothing is outstanding, the claim is COLLECTED and its workflow ends. A "
        "repeated `transactionId` counts as the same payment. A payment is recorded in every "
        "state of the claim; the amount beyond the claim is `overpaid`. No event is raised."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID),
    body=RequestBody(
        media_type="application/json",
        shape=PaymentRequest,
        example={
            "amount": 10490,
            "currency": "EUR",
            "transactionId": "bank-2026-03-12-0007",
            "providerName": "BANK_TRANSFER",
            "paidAt": "2026-03-12T10:15:00Z",
        },
    ),
    result=Payment,
    example=_PAYMENT_EXAMPLE,
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)

REVERSE_PAYMENT = Operation(
    operation_id="reversePayment",
    right=Right.RECORD_MONEY,
    method="POST",
    path="/merchants/{merchant_id}/claims/{claim_id}/payments/{payment_id}/reverse",
    tag="Payments",
    summary="Reverse a payment",
    description=(
        "Reverses a payment after a chargeback, a returned direct debit, or a recording by "
        "mistake. The amount is outstanding again, unless other payments cover it. A COLLECTED "
        "claim that is outstanding again returns to its previous state, and its workflow "
        "continues with its next step. In every other state only the balance changes. Reversing "
        "the payment again returns the same response. Only the additional event PAYMENT_REVERSED "
        "is raised."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, PAYMENT_ID),
    result=Payment,
    example={
        **_PAYMENT_EXAMPLE,
        "reversedAt": "2026-03-20T08:00:00.000Z",
        "claimStatus": "IN_PROCESS",
        "outstanding": "10490",
    },
    is_addition=True,
)


async def _record(call: ApiCall) -> Payment:
    claim_id = parse_claim_id(call.path["claim_id"])
    call.query.check()
    submitted = parse_body(call.body, PaymentRequest, _list_payment_faults)
    new = NewPayment(
        amount_cents=submitted.amount,
        currency=submitted.currency,
        transaction_id=submitted.transaction_id,
        provider_name=submitted.provider_name,
        paid_at=parse_body_instant(submitted.paid_at, "/paidAt")
        if submitted.paid_at is not None
        else None,
    )
    return _build_payment(await record_payment(call.work, claim_id, new))


async def _reverse(call: ApiCall) -> Payment:
    claim_id = parse_claim_id(call.path["claim_id"])
    payment_id = parse_payment_id(call.path["payment_id"])
    call.query.check()
    return _build_payment(await reverse_matched_payment(call.work, claim_id, payment_id))


def _list_payment_faults(submitted: PaymentRequest) -> Iterator[Fault]:
    yield from list_instant_faults(submitted.paid_at, "/paidAt")


def list_instant_faults(text: object, path: str) -> Iterator[Fault]:
    """Yield a fault if `text` is a string but not an instant. A value of another type is either
    absent or already a fault."""
    if isinstance(text, str) and parse_query_instant(text) is None:
        yield Fault(
            path, "Use ISO 8601 with a time zone, for example 2026-03-02T09:00:00Z.", "WRONG_FORMAT"
        )


def parse_body_instant(text: str, path: str) -> datetime:
    """Parse an instant of a body. Raises ValidationError with a fault at `path` if it is not
    valid."""
    instant = parse_query_instant(text)
    if instant is None:
        raise ValidationError(list(list_instant_faults(text, path)))
    return instant


def _build_payment(recorded: RecordedPayment) -> Payment:
    payment = recorded.payment
    return Payment(
        id=str(payment.payment_id),
        claim_id=payment.claim_id,
        amount=payment.amount_cents,
        currency=payment.currency,
        transaction_id=payment.transaction_id,
        provider_name=payment.provider_name,
        paid_at=render_instant(payment.paid_at),
        reversed_at=render_instant(payment.reversed_at),
        claim_status=recorded.status.value,
        outstanding=str(recorded.balance.outstanding_cents),
        overpaid=str(recorded.balance.overpaid_cents),
    )


ENDPOINTS = (ApiEndpoint(RECORD_PAYMENT, _record), ApiEndpoint(REVERSE_PAYMENT, _reverse))
