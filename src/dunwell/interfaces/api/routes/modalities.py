"""Find, list, read, approve and reject payment modalities."""

from typing import Any

from msgspec.structs import asdict

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.answer_modality import approve_modality, reject_modality
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.list_modalities import (
    ModalityFilter,
    get_modality,
    list_claim_modalities,
    list_modalities,
)
from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType
from dunwell.interfaces.api.address import parse_claim_id, parse_modality_id
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
    MODALITY_ID,
    PAGES,
    SINCE,
    UNTIL,
    build_choice_parameter,
    build_flag_parameter,
    parse_flag,
    parse_page,
)
from dunwell.interfaces.api.schemas.payments import (
    FoundModality,
    FoundModalityList,
    PaymentModality,
    PaymentModalityList,
    Rejection,
    ScheduledPayment,
)
from dunwell.platform.errors import InvalidRequest, InvalidState, ValidationError
from dunwell.platform.text.wire import render_instant

_PATH = "/merchants/{merchant_id}/claims/{claim_id}/payment-modalities"
MODALITY_EXAMPLE: dict[str, Any] = {
    "id": "01955b00-7a10-7c44-9b1d-2e5f60718293",
    "claimId": 4711,
    "type": "PAYMENT_PLAN",
    "state": "APPROVED",
    "currency": "EUR",
    "total": "10490",
    "schedule": [
        {"number": 1, "dueDate": "2026-03-16", "value": "3497", "paid": "0"},
        {"number": 2, "dueDate": "2026-04-16", "value": "3497", "paid": "0"},
        {"number": 3, "dueDate": "2026-05-16", "value": "3496", "paid": "0"},
    ],
    "requestedAt": "2026-03-02T18:04:00.000Z",
    "answeredAt": "2026-03-03T08:30:00.000Z",
    "reason": None,
    "endedAt": None,
    "endedReason": None,
}
_REPETITION_RULES = (
    "The same response again returns 200 and changes nothing. A different response, or a response "
    "to a request that was withdrawn or has ended otherwise, is InvalidState."
)

LIST_MODALITIES = Operation(
    operation_id="listPaymentModalities",
    method="GET",
    path=_PATH,
    tag="Payment modalities",
    summary="List payment modalities",
    description=(
        "The claim's payment plans and deferrals, newest first, with their due dates and the "
        "amounts paid. At most one of them is active at a time; the others have `endedAt`."
    ),
    parameters=(
        MERCHANT_ID,
        CLAIM_ID,
        CURSOR,
        LIMIT,
    ),
    result=PaymentModalityList,
    example={"items": [MODALITY_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip

READ_MODALITY = Operation(
    operation_id="readPaymentModality",
    method="GET",
    path=_PATH + "/{modality_id}",
    tag="Payment modalities",
    summary="Read a payment modality",
    description=(
        "The payment modality that a PAYMENT_MODALITY_STATE_CHANGE event names, in the form of "
        "the list."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, MODALITY_ID),
    result=PaymentModality,
    example=MODALITY_EXAMPLE,
    refusals=(ValidationError,),
    is_addition=True,
)

APPROVE_MODALITY = Operation(
    operation_id="approvePaymentModality",
    right=Right.ANSWER,
    method="POST",
    path=_PATH + "/{modality_id}/approve",
    tag="Payment modalities",
    summary="Approve a payment modality",
    description=(
        "Pauses the claim's workflow until the plan is paid, until an instalment is missed by "
        "more than seven days, or until the deferral has ended. Then the workflow continues "
        "with its next step; after a missed instalment, one day after the debtor was informed. "
        "Raises PAYMENT_MODALITY_STATE_CHANGE.\n\n"
        f"{_REPETITION_RULES}"
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, MODALITY_ID),
    result=PaymentModality,
    example=MODALITY_EXAMPLE,
    refusals=(InvalidState,),
    is_addition=True,
)

REJECT_MODALITY = Operation(
    operation_id="rejectPaymentModality",
    right=Right.ANSWER,
    method="POST",
    path=_PATH + "/{modality_id}/reject",
    tag="Payment modalities",
    summary="Reject a payment modality",
    description=(
        "The claim's workflow continues with its next step. Raises "
        "PAYMENT_MODALITY_STATE_CHANGE. The body is optional.\n\n"
        f"{_REPETITION_RULES}"
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, MODALITY_ID),
    body=RequestBody(
        media_type="application/json",
        shape=Rejection,
        example={"reason": "We can offer three instalments at most."},
        is_required=False,
    ),
    result=PaymentModality,
    example={
        **MODALITY_EXAMPLE,
        "state": "REJECTED",
        "schedule": [{**each, "paid": "0"} for each in MODALITY_EXAMPLE["schedule"]],
        "reason": "We can offer three instalments at most.",
        "endedAt": "2026-03-03T08:30:00.000Z",
        "endedReason": "REJECTED",
    },
    refusals=(InvalidRequest, ValidationError, InvalidState),
    is_addition=True,
)


async def _list(call: ApiCall) -> PaymentModalityList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_claim_modalities(call.work, claim_id, limit=limit, cursor=cursor)
    return PaymentModalityList(
        [build_modality(each.modality) for each in page.items], page.next_cursor
    )


async def _read(call: ApiCall) -> PaymentModality:
    claim_id = parse_claim_id(call.path["claim_id"])
    modality_id = parse_modality_id(call.path["modality_id"])
    call.query.check()
    return build_modality(await get_modality(call.work, claim_id, modality_id))


async def _approve(call: ApiCall) -> PaymentModality:
    claim_id = parse_claim_id(call.path["claim_id"])
    modality_id = parse_modality_id(call.path["modality_id"])
    call.query.check()
    return build_modality(await approve_modality(call.work, claim_id, modality_id))


async def _reject(call: ApiCall) -> PaymentModality:
    claim_id = parse_claim_id(call.path["claim_id"])
    modality_id = parse_modality_id(call.path["modality_id"])
    call.query.check()
    rejection = parse_body(call.body, Rejection)
    rejected = await reject_modality(call.work, claim_id, modality_id, reason=rejection.reason)
    return build_modality(rejected)


def build_modality(modality: Modality) -> PaymentModality:
    """Convert a payment modality to its wire type."""
    answered_at, ended_at = modality.answered_at, modality.ended_at
    return PaymentModality(
        id=str(modality.modality_id),
        claim_id=modality.claim_id,
        type=modality.type.value,
        state=modality.state.value,
        currency=modality.currency,
        total=str(modality.amount_cents),
        schedule=[_build_scheduled_payment(each) for each in modality.schedule],
        requested_at=render_instant(modality.requested_at),
        answered_at=render_instant(answered_at),
        reason=modality.reason,
        ended_at=render_instant(ended_at),
        ended_reason=modality.ended_reason.value if modality.ended_reason else None,
    )


def _build_scheduled_payment(instalment: Instalment) -> ScheduledPayment:
    return ScheduledPayment(
        number=instalment.number,
        due_date=instalment.due_on.isoformat(),
        value=str(instalment.amount_cents),
        paid=str(instalment.paid_cents),
    )


ENDPOINTS = (
    ApiEndpoint(LIST_MODALITIES, _list, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_MODALITY, _read, DatabaseScope.CONNECTION),
    ApiEndpoint(APPROVE_MODALITY, _approve),
    ApiEndpoint(REJECT_MODALITY, _reject),
)


FIND_MODALITIES = Operation(
    operation_id="findPaymentModalities",
    method="GET",
    path="/merchants/{merchant_id}/payment-modalities",
    tag="Payment modalities",
    summary="Find payment modalities",
    description=(
        "The payment plans and deferrals of all claims, newest first, that match all given "
        "filters. `state=REQUESTED&stands=true` finds those that wait for your response. "
        f"`since` and `until` refer to `requestedAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        build_choice_parameter("state", ModalityState, "Only modalities in this state."),
        build_choice_parameter("type", ModalityType, "Only modalities of this type."),
        build_flag_parameter(
            "stands",
            "True: only modalities that have not ended. False: only those that have.",
            example=True,
        ),
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=FoundModalityList,
    example={
        "items": [
            {
                **MODALITY_EXAMPLE,
                "state": "REQUESTED",
                "answeredAt": None,
                "referenceNumber": "INV-2026-0815",
            }
        ],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)


async def _find(call: ApiCall) -> FoundModalityList:
    query = call.query
    limit, cursor = parse_page(query)
    state = query.choice("state", tuple(ModalityState))
    kind = query.choice("type", tuple(ModalityType))
    stands = parse_flag(query, "stands")
    since, until = query.instant("since"), query.instant("until")
    query.check()
    wanted = ModalityFilter(
        ModalityState(state) if state else None, ModalityType(kind) if kind else None,
        is_live=stands, since=since, until=until,
    )  # fmt: skip
    page = await list_modalities(call.work, limit=limit, cursor=cursor, wanted=wanted)
    items = [
        FoundModality(
            **asdict(build_modality(each.modality)), reference_number=each.reference_number
        )
        for each in page.items
    ]
    return FoundModalityList(items, page.next_cursor)


FIND_ENDPOINTS = (ApiEndpoint(FIND_MODALITIES, _find, DatabaseScope.CONNECTION),)
