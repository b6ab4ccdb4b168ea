"""Find the payouts of payment providers, and read one with what it consists of."""

from typing import Any

from dunwell.cases.statements.payouts.list_payouts import (
    ExplainedMovement,
    ListedPayout,
    PayoutFilter,
    explain_payout,
    list_payouts,
)
from dunwell.interfaces.api.address import parse_payout_id
from dunwell.interfaces.api.operation import ApiCall, ApiEndpoint, DatabaseScope, Operation
from dunwell.interfaces.api.routes.parameters import (
    ACCOUNT,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    PAGES,
    PAYMENT_ID,
    PAYOUT_ID,
    SINCE,
    UNTIL,
    build_flag_parameter,
    parse_flag,
    parse_page,
)
from dunwell.interfaces.api.schemas.payouts import (
    PayoutDetails,
    PayoutList,
    PayoutPart,
    PayoutSummary,
)
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import render_instant

_EXAMPLE: dict[str, Any] = {
    "id": PAYOUT_ID.example,
    "account": ACCOUNT.example,
    "payoutId": "po_1PqK2y",
    "amount": 10340,
    "fees": 150,
    "currency": "EUR",
    "expectedAt": "2026-03-13T00:00:00.000Z",
    "recordedAt": "2026-03-12T10:15:04.000Z",
    "arrivedAt": None,
    "bankAccount": None,
    "bookedOn": None,
}

FIND_PAYOUTS = Operation(
    operation_id="findPayouts",
    method="GET",
    path="/merchants/{merchant_id}/payouts",
    tag="Payments",
    summary="Find payouts of payment providers",
    description=(
        "The payouts of payment providers, latest recorded first, that match all given filters. "
        f"`since` and `until` refer to `recordedAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        ACCOUNT,
        build_flag_parameter(
            "arrived",
            "True: only payouts that were found on a bank statement. False: only the others.",
            example=False,
        ),
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=PayoutList,
    example={"items": [_EXAMPLE], "nextCursor": None},
    refusals=(ValidationError,),
    is_addition=True,
)

READ_PAYOUT = Operation(
    operation_id="readPayout",
    method="GET",
    path="/merchants/{merchant_id}/payouts/{payout_id}",
    tag="Payments",
    summary="Read a payout",
    description=(
        "The payout with the movements that it consists of. The sum of `movements` and "
        "`otherAmount`, less `fees`, is `amount`, unless there is a `difference`."
    ),
    parameters=(MERCHANT_ID, PAYOUT_ID),
    result=PayoutDetails,
    example={
        **_EXAMPLE,
        "movements": [
            {
                "id": "01955a1c-0c00-7e57-8a10-3d5c7e9f1b24",
                "movementId": "01955a1b-2c00-7d11-a3b4-5c6d7e8f9a0b:1",
                "kind": "PAID",
                "amount": 10490,
                "claimId": 4711,
                "referenceNumber": "INV-2026-0815",
                "paymentId": PAYMENT_ID.example,
            }
        ],
        "otherCount": 0,
        "otherAmount": 0,
        "difference": 0,
    },
    is_addition=True,
)


async def _find(call: ApiCall) -> PayoutList:
    query = call.query
    limit, cursor = parse_page(query)
    wanted = PayoutFilter(
        account=query.text("account"),
        has_arrived=parse_flag(query, "arrived"),
        since=query.instant("since"),
        until=query.instant("until"),
    )
    query.check()
    page = await list_payouts(call.work, limit=limit, cursor=cursor, wanted=wanted)
    items = [PayoutSummary(**_render_payout(each)) for each in page.items]
    return PayoutList(items, page.next_cursor)


async def _read(call: ApiCall) -> PayoutDetails:
    payout_id = parse_payout_id(call.path["payout_id"])
    call.query.check()
    explained = await explain_payout(call.work, payout_id)
    return PayoutDetails(
        **_render_payout(explained.payout),
        movements=[_build_part(each) for each in explained.movements],
        other_count=explained.other_count,
        other_amount=explained.other_cents,
        difference=explained.payout.difference_cents,
    )


def _render_payout(payout: ListedPayout) -> dict[str, Any]:
    arrival = payout.arrival
    return {
        "id": str(payout.record_id),
        "account": payout.provider,
        "payout_id": payout.payout_id,
        "amount": payout.amount_cents,
        "fees": payout.fees_cents,
        "currency": payout.currency,
        "expected_at": render_instant(payout.paid_at),
        "recorded_at": render_instant(payout.recorded_at),
        "arrived_at": render_instant(payout.arrived_at),
        "bank_account": None if arrival is None else arrival.account,
        "booked_on": None if arrival is None else arrival.booked_on.isoformat(),
    }


def _build_part(movement: ExplainedMovement) -> PayoutPart:
    kind: Any = movement.kind
    return PayoutPart(
        id=str(movement.record_id),
        movement_id=movement.movement_id,
        kind=kind,
        amount=movement.amount_cents,
        claim_id=movement.claim_id,
        reference_number=movement.reference_number,
        payment_id=None if movement.payment_id is None else str(movement.payment_id),
    )


ENDPOINTS = (
    ApiEndpoint(FIND_PAYOUTS, _find, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_PAYOUT, _read, DatabaseScope.CONNECTION),
)
