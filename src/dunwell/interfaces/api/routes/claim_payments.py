"""List a claim's payments and payment requests, and read one of them."""

from dunwell.cases.payments.list_payments import (
    get_payment,
    get_payment_request,
    list_claim_payment_requests,
    list_claim_payments,
)
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Endpoint, Operation, Span
from dunwell.interfaces.api.paths import read_claim_id, read_payment_id, read_payment_request_id
from dunwell.interfaces.api.routes.parameters import (
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    PAYMENT_ID,
    PAYMENT_REQUEST_ID,
    read_page,
)
from dunwell.interfaces.api.routes.payment_finding import (
    PAYMENT_EXAMPLE,
    PAYMENT_REQUEST_EXAMPLE,
    show_payment,
    show_request,
)
from dunwell.interfaces.api.schemas.payments import (
    FoundPayment,
    FoundPaymentList,
    FoundPaymentRequest,
    FoundPaymentRequestList,
)
from dunwell.platform.errors import ValidationError

_CLAIM = "/merchants/{merchant_id}/claims/{claim_id}"
_NOTHING_BEHIND = "Nothing ever appears behind a cursor that was handed out."

LIST_PAYMENTS = Operation(
    operation_id="listPayments",
    method="GET",
    path=_CLAIM + "/payments",
    tag="Payments",
    summary="List payments",
    description=(
        "The claim's payments, those that were reversed too, the one recorded last first. "
        + _NOTHING_BEHIND
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, CURSOR, LIMIT),
    result=FoundPaymentList,
    example={"items": [PAYMENT_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)

READ_PAYMENT = Operation(
    operation_id="readPayment",
    method="GET",
    path=_CLAIM + "/payments/{payment_id}",
    tag="Payments",
    summary="Read a payment",
    description="The payment, as the lists show it.",
    parameters=(MERCHANT_ID, CLAIM_ID, PAYMENT_ID),
    result=FoundPayment,
    example=PAYMENT_EXAMPLE,
    refusals=(ValidationError,),
    is_addition=True,
)

LIST_PAYMENT_REQUESTS = Operation(
    operation_id="listPaymentRequests",
    method="GET",
    path=_CLAIM + "/payment-requests",
    tag="Payments",
    summary="List payment requests",
    description=(
        "What the claim's debtor has begun to pay through a provider, and transfers that were "
        "announced, newest first. " + _NOTHING_BEHIND
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, CURSOR, LIMIT),
    result=FoundPaymentRequestList,
    example={"items": [PAYMENT_REQUEST_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)

READ_PAYMENT_REQUEST = Operation(
    operation_id="readPaymentRequest",
    method="GET",
    path=_CLAIM + "/payment-requests/{payment_request_id}",
    tag="Payments",
    summary="Read a payment request",
    description=(
        "The payment request that PAYMENT_IN_PROGRESS and PAYMENT_COMPLETED events name by their "
        "`paymentRequestId`, as the lists show it."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, PAYMENT_REQUEST_ID),
    result=FoundPaymentRequest,
    example=PAYMENT_REQUEST_EXAMPLE,
    refusals=(ValidationError,),
    is_addition=True,
)


async def _list_payments(call: Call) -> FoundPaymentList:
    claim_id = read_claim_id(call.path["claim_id"])
    limit, cursor = read_page(call.query)
    call.query.check()
    found = await list_claim_payments(call.work, claim_id, limit=limit, cursor=cursor)
    return FoundPaymentList([show_payment(each) for each in found.items], found.next_cursor)


async def _read_payment(call: Call) -> FoundPayment:
    claim_id = read_claim_id(call.path["claim_id"])
    payment_id = read_payment_id(call.path["payment_id"])
    call.query.check()
    return show_payment(await get_payment(call.work, payment_id, claim_id=claim_id))


async def _list_requests(call: Call) -> FoundPaymentRequestList:
    claim_id = read_claim_id(call.path["claim_id"])
    limit, cursor = read_page(call.query)
    call.query.check()
    found = await list_claim_payment_requests(call.work, claim_id, limit=limit, cursor=cursor)
    shown = [show_request(each) for each in found.items]
    return FoundPaymentRequestList(shown, found.next_cursor)


async def _read_request(call: Call) -> FoundPaymentRequest:
    claim_id = read_claim_id(call.path["claim_id"])
    request_id = read_payment_request_id(call.path["payment_request_id"])
    call.query.check()
    return show_request(await get_payment_request(call.work, request_id, claim_id=claim_id))


ENDPOINTS = (
    Endpoint(LIST_PAYMENTS, _list_payments, Span.CONNECTION),
    Endpoint(READ_PAYMENT, _read_payment, Span.CONNECTION),
    Endpoint(LIST_PAYMENT_REQUESTS, _list_requests, Span.CONNECTION),
    Endpoint(READ_PAYMENT_REQUEST, _read_request, Span.CONNECTION),
)
