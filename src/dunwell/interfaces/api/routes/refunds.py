"""Refund a payment, and list the refunds of a claim."""

from typing import Any

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.list_movements import list_claim_refunds
from dunwell.cases.payments.refunds.refund_payment import RefundOrder, order_refund
from dunwell.cases.payments.refunds.store import RefundEffect, StoredRefund
from dunwell.interfaces.api.address import parse_claim_id, parse_payment_id
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    RequestBody,
)
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.parameters import (
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    PAYMENT_ID,
    parse_page,
)
from dunwell.interfaces.api.schemas.movements import Refund, RefundList, RefundRequest
from dunwell.platform.errors import InvalidRequest, InvalidState, ValidationError
from dunwell.platform.text.wire import render_instant

_EXAMPLE: dict[str, Any] = {
    "id": "01955a7b-1d00-7c41-9e02-6f8a0b1c2d3e",
    "claimId": 4711,
    "paymentId": PAYMENT_ID.example,
    "amount": 2000,
    "currency": "EUR",
    "effect": "REDUCE_CLAIM",
    "state": "CREATED",
    "reason": "Goodwill for the late delivery",
    "movementId": None,
    "refusal": None,
    "refusalText": None,
    "reviewedAt": None,
    "createdAt": "2026-03-20T08:00:00.000Z",
}

REFUND_PAYMENT = Operation(
    operation_id="refundPayment",
    right=Right.RECORD_MONEY,
    method="POST",
    path="/merchants/{merchant_id}/claims/{claim_id}/payments/{payment_id}/refund",
    tag="Payments",
    summary="Refund a payment",
    description=(
        "Orders a refund of a payment, or of a part of it, from the provider that received it. "
        "The order is sent to the provider once, even if this request or that to the provider is "
        "repeated. The claim's balance changes when the provider has moved the money.\n\n"
        "Without a body the surplus of the claim is refunded. For more than the surplus, `effect` "
        "says what becomes of the amount, and is required. A payment that was not made through a "
        "provider cannot be refunded here (InvalidState)."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, PAYMENT_ID),
    body=RequestBody(
        media_type="application/json",
        shape=RefundRequest,
        example={
            "amount": 2000,
            "effect": "REDUCE_CLAIM",
            "reason": "Goodwill for the late delivery",
        },
        is_required=False,
    ),
    result=Refund,
    example=_EXAMPLE,
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)

LIST_REFUNDS = Operation(
    operation_id="listRefunds",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}/refunds",
    tag="Payments",
    summary="List refunds",
    description=(
        "The refunds that were ordered for the claim's payments, newest first. A refund that was "
        "ordered at the provider itself is only in the list of movements. No entry is ever added "
        "after a cursor that was returned."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, CURSOR, LIMIT),
    result=RefundList,
    example={
        "items": [{**_EXAMPLE, "state": "BOOKED", "movementId": "re_3PqK1x"}],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)


async def _refund(call: ApiCall) -> Refund:
    claim_id = parse_claim_id(call.path["claim_id"])
    payment_id = parse_payment_id(call.path["payment_id"])
    call.query.check()
    submitted = parse_body(call.body, RefundRequest)
    effect = None if submitted.effect is None else RefundEffect(submitted.effect)
    order = RefundOrder(submitted.amount, submitted.reason, effect)
    return build_refund(await order_refund(call.work, claim_id, payment_id, order))


async def _list(call: ApiCall) -> RefundList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_claim_refunds(call.work, claim_id, limit=limit, cursor=cursor)
    return RefundList([build_refund(each.refund) for each in page.items], page.next_cursor)


def build_refund(refund: StoredRefund) -> Refund:
    """Convert a refund to its wire type."""
    effect: Any = refund.effect.value
    state: Any = refund.state.value
    refusal: Any = None if refund.refusal is None else refund.refusal.value
    return Refund(
        id=str(refund.refund_id),
        claim_id=refund.claim_id,
        payment_id=str(refund.payment_id),
        amount=refund.amount_cents,
        currency=refund.currency,
        effect=effect,
        state=state,
        reason=refund.reason,
        movement_id=refund.provider_refund_id,
        refusal=refusal,
        refusal_text=refund.refusal_text,
        reviewed_at=render_instant(refund.reviewed_at),
        created_at=render_instant(refund.created_at),
    )


ENDPOINTS = (
    ApiEndpoint(REFUND_PAYMENT, _refund),
    ApiEndpoint(LIST_REFUNDS, _list, DatabaseScope.CONNECTION),
)
