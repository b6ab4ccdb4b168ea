"""List the movements of money: those of all claims, or of one."""

from typing import Any

from dunwell.cases.payments.list_movements import (
    ListedMovement,
    MovementFilter,
    list_claim_movements,
    list_movements,
)
from dunwell.cases.payments.movements import MOVEMENT_KINDS
from dunwell.interfaces.api.address import parse_claim_id
from dunwell.interfaces.api.operation import ApiCall, ApiEndpoint, DatabaseScope, Operation
from dunwell.interfaces.api.routes.parameters import (
    ACCOUNT,
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    PAGES,
    PAYMENT_ID,
    SINCE,
    UNTIL,
    build_choice_parameter,
    build_flag_parameter,
    parse_flag,
    parse_page,
)
from dunwell.interfaces.api.schemas.movements import Movement, MovementList
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import render_instant

_EXAMPLE: dict[str, Any] = {
    "id": "01955a1c-0c00-7e57-8a10-3d5c7e9f1b24",
    "claimId": 4711,
    "referenceNumber": "INV-2026-0815",
    "paymentId": PAYMENT_ID.example,
    "paymentRequestId": None,
    "account": ACCOUNT.example,
    "movementId": "01955a1b-2c00-7d11-a3b4-5c6d7e8f9a0b:1",
    "kind": "PAID",
    "amount": 10490,
    "booked": 10490,
    "currency": "EUR",
    "movedAt": "2026-03-12T10:15:00.000Z",
    "recordedAt": "2026-03-12T10:15:04.000Z",
    "reviewReason": None,
    "reviewedAt": None,
}

FIND_MOVEMENTS = Operation(
    operation_id="findMovements",
    method="GET",
    path="/merchants/{merchant_id}/movements",
    tag="Payments",
    summary="Find movements of money",
    description=(
        "The movements of money of all claims, latest recorded first, that match all given "
        "filters: payments, refunds, chargebacks, and money that came back after these. `since` "
        f"and `until` refer to `recordedAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        ACCOUNT,
        build_choice_parameter("kind", MOVEMENT_KINDS, "Only movements of this kind."),
        build_flag_parameter(
            "needsReview",
            "True: only movements that your staff still has to review. False: only the others.",
            example=False,
        ),
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=MovementList,
    example={"items": [_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)

LIST_MOVEMENTS = Operation(
    operation_id="listMovements",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}/movements",
    tag="Payments",
    summary="List movements of money",
    description=(
        "The movements of the claim's money, latest recorded first. Together they explain what is "
        "left of its payments. A payment that you recorded is no movement; its reversal is one. "
        "No entry is ever added after a cursor that was returned."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, CURSOR, LIMIT),
    result=MovementList,
    example={"items": [_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)


async def _find(call: ApiCall) -> MovementList:
    query = call.query
    limit, cursor = parse_page(query)
    wanted = MovementFilter(
        account=query.text("account"),
        kind=query.choice("kind", MOVEMENT_KINDS),
        needs_review=parse_flag(query, "needsReview"),
        since=query.instant("since"),
        until=query.instant("until"),
    )
    query.check()
    page = await list_movements(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return MovementList([build_movement(each) for each in page.items], page.next_cursor)


async def _list(call: ApiCall) -> MovementList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_claim_movements(call.work, claim_id, limit=limit, cursor=cursor)
    return MovementList([build_movement(each) for each in page.items], page.next_cursor)


def build_movement(listed: ListedMovement) -> Movement:
    """Convert a movement to its wire type."""
    movement = listed.movement
    kind: Any = movement.kind
    reason: Any = None if movement.review_reason is None else movement.review_reason.value
    return Movement(
        id=str(movement.record_id),
        claim_id=movement.claim_id,
        reference_number=listed.reference_number,
        payment_id=None if movement.payment_id is None else str(movement.payment_id),
        payment_request_id=None if movement.request_id is None else str(movement.request_id),
        account=movement.provider or None,
        movement_id=movement.movement_id,
        kind=kind,
        amount=movement.amount_cents,
        booked=movement.booked_cents,
        currency=movement.currency,
        moved_at=render_instant(movement.moved_at),
        recorded_at=render_instant(movement.recorded_at),
        review_reason=reason,
        reviewed_at=render_instant(movement.reviewed_at),
    )


ENDPOINTS = (
    ApiEndpoint(FIND_MOVEMENTS, _find, DatabaseScope.CONNECTION),
    ApiEndpoint(LIST_MOVEMENTS, _list, DatabaseScope.CONNECTION),
)
