"""Find payments and payment requests of all claims, list those of one claim, and read one."""

from dataclasses import replace
from typing import Any

from dunwell.cases.payments.list_payments import (
    PaymentFilter,
    PaymentRequestFilter,
    get_payment,
    get_payment_request,
    list_claim_payment_requests,
    list_claim_payments,
    list_payment_requests,
    list_payments,
)
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.store import ListedPayment, ListedPaymentRequest
from dunwell.interfaces.api.address import (
    parse_claim_id,
    parse_payment_id,
    parse_payment_request_id,
)
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    Parameter,
)
from dunwell.interfaces.api.routes.parameters import (
    ACCOUNT,
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    PAGES,
    PAYMENT_ID,
    PAYMENT_REQUEST_ID,
    SINCE,
    UNTIL,
    build_choice_parameter,
    build_flag_parameter,
    parse_flag,
    parse_page,
)
from dunwell.interfaces.api.schemas.payments import (
    FoundPayment,
    FoundPaymentList,
    FoundPaymentRequest,
    FoundPaymentRequestList,
)
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import render_instant

PAYMENT_EXAMPLE: dict[str, Any] = {
    "id": PAYMENT_ID.example,
    "claimId": 4711,
    "referenceNumber": "INV-2026-0815",
    "claimStatus": "COLLECTED",
    "amount": 10490,
    "returned": 0,
    "currency": "EUR",
    "transactionId": "bank-2026-03-12-0007",
    "providerName": "BANK_TRANSFER",
    "method": None,
    "paymentRequestId": None,
    "paidAt": "2026-03-12T10:15:00.000Z",
    "recordedAt": "2026-03-13T09:00:00.000Z",
    "reversedAt": None,
}
PAYMENT_REQUEST_EXAMPLE: dict[str, Any] = {
    "id": PAYMENT_REQUEST_ID.example,
    "claimId": 4711,
    "referenceNumber": "INV-2026-0815",
    "providerName": "BANK_TRANSFER",
    "amount": 10490,
    "currency": "EUR",
    "state": "PENDING",
    "createdAt": "2026-03-12T18:20:00.000Z",
    "settledAt": None,
    "sentOn": "2026-03-12",
}
_PROVIDER = Parameter(
    name="provider", place="query", example="BANK_TRANSFER",
    schema={"type": "string", "minLength": 1, "maxLength": 255},
    description="Only entries with this `providerName`.",
)  # fmt: skip

FIND_PAYMENTS = Operation(
    operation_id="findPayments",
    method="GET",
    path="/merchants/{merchant_id}/payments",
    tag="Payments",
    summary="Find payments",
    description=(
        "The payments of all claims, including reversed ones, latest recorded first, that "
        "match all given filters. `since` and `until` refer to `recordedAt`, the time at which "
        f"the claim's balance changed. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        build_flag_parameter(
            "reversed",
            "True: only reversed payments. False: only those that were not reversed.",
            example=False,
        ),
        _PROVIDER,
        # The payment of the example was recorded through the API, and has no account.
        replace(ACCOUNT, example=None),
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=FoundPaymentList,
    example={
        "items": [PAYMENT_EXAMPLE],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)

FIND_PAYMENT_REQUESTS = Operation(
    operation_id="findPaymentRequests",
    method="GET",
    path="/merchants/{merchant_id}/payment-requests",
    tag="Payments",
    summary="Find payment requests",
    description=(
        "Payments that debtors of all claims have started through a provider, and bank "
        "transfers that they have reported, newest first, that match all given filters. "
        "`state=PENDING` finds payments that have not arrived yet. `since` and `until` refer "
        f"to `createdAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        build_choice_parameter(
            "state",
            sorted(PaymentRequestState, reverse=True),
            "Only payment requests in this state.",
        ),
        _PROVIDER,
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=FoundPaymentRequestList,
    example={
        "items": [PAYMENT_REQUEST_EXAMPLE],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)


async def _find_payments(call: ApiCall) -> FoundPaymentList:
    query = call.query
    limit, cursor = parse_page(query)
    wanted = PaymentFilter(
        is_reversed=parse_flag(query, "reversed"),
        provider_name=query.text("provider"),
        account=query.text("account"),
        since=query.instant("since"),
        until=query.instant("until"),
    )
    query.check()
    page = await list_payments(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return FoundPaymentList([build_listed_payment(each) for each in page.items], page.next_cursor)


async def _find_requests(call: ApiCall) -> FoundPaymentRequestList:
    query = call.query
    limit, cursor = parse_page(query)
    state = query.choice("state", tuple(PaymentRequestState))
    provider = query.text("provider")
    since, until = query.instant("since"), query.instant("until")
    query.check()
    wanted = PaymentRequestFilter(
        PaymentRequestState(state) if state else None, provider, since, until
    )
    page = await list_payment_requests(call.work, limit=limit, cursor=cursor, wanted=wanted)
    items = [build_listed_payment_request(each) for each in page.items]
    return FoundPaymentRequestList(items, page.next_cursor)


def build_listed_payment(listed: ListedPayment) -> FoundPayment:
    """Convert a payment to its wire type."""
    payment = listed.payment
    return FoundPayment(
        id=str(payment.payment_id),
        claim_id=payment.claim_id,
        reference_number=listed.reference_number,
        claim_status=listed.status.value,
        amount=payment.amount_cents,
        returned=payment.returned_cents,
        currency=payment.currency,
        transaction_id=payment.transaction_id,
        provider_name=payment.provider_name,
        method=payment.method,
        payment_request_id=None if payment.request_id is None else str(payment.request_id),
        paid_at=render_instant(payment.paid_at),
        recorded_at=render_instant(payment.recorded_at),
        reversed_at=render_instant(payment.reversed_at),
    )


def build_listed_payment_request(listed: ListedPaymentRequest) -> FoundPaymentRequest:
    """Convert a payment request to its wire type."""
    request = listed.request
    return FoundPaymentRequest(
        id=str(request.request_id),
        claim_id=request.claim_id,
        reference_number=listed.reference_number,
        provider_name=request.provider_name,
        amount=request.amount_cents,
        currency=request.currency,
        state=request.state.value,
        created_at=render_instant(request.created_at),
        settled_at=render_instant(request.settled_at),
        sent_on=None if request.sent_on is None else request.sent_on.isoformat(),
    )


ENDPOINTS = (
    ApiEndpoint(FIND_PAYMENTS, _find_payments, DatabaseScope.CONNECTION),
    ApiEndpoint(FIND_PAYMENT_REQUESTS, _find_requests, DatabaseScope.CONNECTION),
)


_CLAIM = "/merchants/{merchant_id}/claims/{claim_id}"
_STABLE_CURSOR = "No entry is ever added after a cursor that was returned."

LIST_PAYMENTS = Operation(
    operation_id="listPayments",
    method="GET",
    path=_CLAIM + "/payments",
    tag="Payments",
    summary="List payments",
    description=(
        f"The claim's payments, including reversed ones, latest recorded first. {_STABLE_CURSOR}"
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
    description="The payment, in the form of the lists.",
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
        "Payments that the claim's debtor has started through a provider, and bank transfers "
        f"that the debtor has reported, newest first. {_STABLE_CURSOR}"
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
        "The payment request that PAYMENT_IN_PROGRESS and PAYMENT_COMPLETED events name in "
        "`paymentRequestId`, in the form of the lists."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, PAYMENT_REQUEST_ID),
    result=FoundPaymentRequest,
    example=PAYMENT_REQUEST_EXAMPLE,
    refusals=(ValidationError,),
    is_addition=True,
)


async def _list_payments(call: ApiCall) -> FoundPaymentList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_claim_payments(call.work, claim_id, limit=limit, cursor=cursor)
    return FoundPaymentList([build_listed_payment(each) for each in page.items], page.next_cursor)


async def _read_payment(call: ApiCall) -> FoundPayment:
    claim_id = parse_claim_id(call.path["claim_id"])
    payment_id = parse_payment_id(call.path["payment_id"])
    call.query.check()
    return build_listed_payment(await get_payment(call.work, payment_id, claim_id=claim_id))


async def _list_requests(call: ApiCall) -> FoundPaymentRequestList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_claim_payment_requests(call.work, claim_id, limit=limit, cursor=cursor)
    items = [build_listed_payment_request(each) for each in page.items]
    return FoundPaymentRequestList(items, page.next_cursor)


async def _read_request(call: ApiCall) -> FoundPaymentRequest:
    claim_id = parse_claim_id(call.path["claim_id"])
    request_id = parse_payment_request_id(call.path["payment_request_id"])
    call.query.check()
    return build_listed_payment_request(
        await get_payment_request(call.work, request_id, claim_id=claim_id)
    )


CLAIM_ENDPOINTS = (
    ApiEndpoint(LIST_PAYMENTS, _list_payments, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_PAYMENT, _read_payment, DatabaseScope.CONNECTION),
    ApiEndpoint(LIST_PAYMENT_REQUESTS, _list_requests, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_PAYMENT_REQUEST, _read_request, DatabaseScope.CONNECTION),
)
