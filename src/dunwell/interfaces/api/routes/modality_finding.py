"""Find payment modalities over all claims: those that wait for an answer, those that stand."""

from msgspec.structs import asdict

from dunwell.cases.modalities.list_modalities import ModalityFilter, list_modalities
from dunwell.cases.modalities.modality import ModalityState, ModalityType
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Endpoint, Operation, Span
from dunwell.interfaces.api.routes.modalities import MODALITY_EXAMPLE, show_modality
from dunwell.interfaces.api.routes.parameters import (
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    PAGES,
    SINCE,
    UNTIL,
    choose_parameter,
    flag_parameter,
    read_flag,
    read_page,
)
from dunwell.interfaces.api.schemas.modalities import FoundModality, FoundModalityList
from dunwell.platform.errors import ValidationError

FIND_MODALITIES = Operation(
    operation_id="findPaymentModalities",
    method="GET",
    path="/merchants/{merchant_id}/payment-modalities",
    tag="Payment modalities",
    summary="Find payment modalities",
    description=(
        "The payment plans and deferments of all claims, newest first; with filters, those of "
        "which all given hold. With `state=REQUESTED&stands=true` those that wait for your answer. "
        f"`since` and `until` are about `requestedAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        choose_parameter("state", ModalityState, "Only those in this state."),
        choose_parameter("type", ModalityType, "Only those of this type."),
        flag_parameter("stands", "Whether they have not ended yet.", example=True),
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


async def _find(call: Call) -> FoundModalityList:
    query = call.query
    limit, cursor = read_page(query)
    state = query.choice("state", tuple(ModalityState))
    kind = query.choice("type", tuple(ModalityType))
    stands = read_flag(query, "stands")
    since, until = query.instant("since"), query.instant("until")
    query.check()
    wanted = ModalityFilter(
        ModalityState(state) if state else None, ModalityType(kind) if kind else None,
        stands=stands, since=since, until=until,
    )  # fmt: skip
    found = await list_modalities(call.work, limit=limit, cursor=cursor, wanted=wanted)
    items = [
        FoundModality(
            **asdict(show_modality(each.modality)), reference_number=each.reference_number
        )
        for each in found.items
    ]
    return FoundModalityList(items, found.next_cursor)


ENDPOINTS = (Endpoint(FIND_MODALITIES, _find, Span.CONNECTION),)
