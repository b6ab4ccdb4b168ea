"""Find disputes over all claims: those that are open, those whose answer is overdue."""

from msgspec.structs import asdict

from dunwell.accounts.merchants.answer_days import find_answer_day
from dunwell.cases.disputes.dispute import DisputeState
from dunwell.cases.disputes.list_disputes import list_disputes
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Endpoint, Operation, Parameter, Span
from dunwell.interfaces.api.routes.disputes import DISPUTE_EXAMPLE, show_dispute
from dunwell.interfaces.api.routes.parameters import (
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    flag_parameter,
    read_flag,
    read_page,
)
from dunwell.interfaces.api.schemas.disputes import FoundDispute, FoundDisputeList
from dunwell.platform.errors import ValidationError

FIND_DISPUTES = Operation(
    operation_id="findDisputes",
    method="GET",
    path="/merchants/{merchant_id}/disputes",
    tag="Disputes",
    summary="Find disputes",
    description=(
        "The disputes of all claims, newest first; with filters, those of which all given hold. "
        "With `overdue=true` those that are OPEN though the day has passed by which the debtor was "
        "promised an answer (`answerBy`): they keep their claims still until you answer. Nothing "
        "ever appears behind a cursor that was handed out."
    ),
    parameters=(
        MERCHANT_ID,
        Parameter(
            name="state", place="query", example="OPEN",
            schema={"type": "string", "enum": list(DisputeState)},
            description="Only disputes in this state.",
        ),
        flag_parameter(
            "overdue", "Only those whose answer is overdue; false: all.", example=False
        ),
        LIMIT,
        CURSOR,
    ),
    result=FoundDisputeList,
    example={
        "items": [
            {**DISPUTE_EXAMPLE, "referenceNumber": "INV-2026-0815", "answerBy": "2026-03-16"}
        ],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip


async def _find(call: Call) -> FoundDisputeList:
    query = call.query
    limit, cursor = read_page(query)
    state = query.choice("state", tuple(DisputeState))
    is_overdue = read_flag(query, "overdue") is True
    query.check()
    found = await list_disputes(
        call.work, limit=limit, cursor=cursor, state=DisputeState(state) if state else None,
        is_overdue=is_overdue,
    )  # fmt: skip
    configuration = call.work.merchant.configuration
    within, timezone = configuration.disputes.answer_within_days, configuration.timezone
    items = [
        FoundDispute(
            **asdict(show_dispute(each.dispute, each.files)),
            reference_number=each.reference_number,
            answer_by=find_answer_day(each.dispute.opened_at, within, timezone).isoformat(),
        )
        for each in found.items
    ]
    return FoundDisputeList(items, found.next_cursor)


ENDPOINTS = (Endpoint(FIND_DISPUTES, _find, Span.CONNECTION),)
