"""List and find communications, and find addresses on the suppression list."""

from typing import get_args

from dunwell.accounts.merchants.configuration import CHANNELS
from dunwell.contact.messages.communications.communication import (
    EXAMPLE,
    Communication,
    CommunicationList,
    CommunicationState,
    FoundCommunicationList,
)
from dunwell.contact.messages.communications.list_communications import (
    CommunicationFilter,
    get_communication,
    list_claim_communications,
    list_communications,
)
from dunwell.contact.messages.suppression import (
    SuppressionFilter,
    SuppressionReason,
    list_suppressions,
)
from dunwell.interfaces.api.address import parse_claim_id, parse_communication_reference
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    Parameter,
)
from dunwell.interfaces.api.routes.parameters import (
    CLAIM_ID,
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    PAGES,
    REFERENCE,
    SINCE,
    UNTIL,
    build_choice_parameter,
    parse_page,
)
from dunwell.interfaces.api.schemas.disputes import Suppression, SuppressionList
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import convert_to_json, render_instant

LIST_COMMUNICATIONS = Operation(
    operation_id="listCommunications",
    method="GET",
    path="/merchants/{merchant_id}/claims/{claim_id}/communications",
    tag="Communications",
    summary="List communications",
    description=(
        "The messages that the claim's debtor was sent or will be sent next, newest first, with "
        "time, recipient, step, result and content. The secret part of the link and the code "
        "are masked."
    ),
    parameters=(MERCHANT_ID, CLAIM_ID, CURSOR, LIMIT),
    result=CommunicationList,
    example=convert_to_json(CommunicationList([EXAMPLE], None)),
    refusals=(ValidationError,),
    is_addition=True,
)

READ_COMMUNICATION = Operation(
    operation_id="readCommunication",
    method="GET",
    path="/merchants/{merchant_id}/communications/{reference}",
    tag="Communications",
    summary="Read a communication",
    description=(
        "The communication that an ESCALATED event names. A letter is returned as text. Its "
        "printed sheet is not available, because it shows the debtor's link and code."
    ),
    parameters=(MERCHANT_ID, REFERENCE),
    result=Communication,
    example=convert_to_json(EXAMPLE),
    refusals=(ValidationError,),
    is_addition=True,
)


async def _list(call: ApiCall) -> CommunicationList:
    claim_id = parse_claim_id(call.path["claim_id"])
    limit, cursor = parse_page(call.query)
    call.query.check()
    page = await list_claim_communications(call.work, claim_id, limit=limit, cursor=cursor)
    return CommunicationList(list(page.items), page.next_cursor)


async def _read(call: ApiCall) -> Communication:
    reference = parse_communication_reference(call.path["reference"])
    call.query.check()
    return await get_communication(call.work, reference)


ENDPOINTS = (
    ApiEndpoint(LIST_COMMUNICATIONS, _list, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_COMMUNICATION, _read, DatabaseScope.CONNECTION),
)


_CHANNEL = build_choice_parameter("channel", CHANNELS, "Only entries of this channel.")

FIND_COMMUNICATIONS = Operation(
    operation_id="findCommunications",
    method="GET",
    path="/merchants/{merchant_id}/communications",
    tag="Communications",
    summary="Find communications",
    description=(
        "The messages that the debtors of all claims were sent or will be sent next, latest "
        "planned time first, that match all given filters. `state=UNKNOWN` finds messages that "
        "may or may not have been sent: their claims wait until a user has resolved this. "
        f"`since` and `until` refer to `plannedAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        build_choice_parameter(
            "state",
            sorted(get_args(CommunicationState), reverse=True),
            "Only communications in this state.",
        ),
        _CHANNEL,
        Parameter(
            name="stepId", place="query", example=1,
            schema={"type": "integer", "minimum": 1, "maximum": 2**31 - 1},
            description="Only communications of the action step with this id, in any workflow.",
        ),
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=FoundCommunicationList,
    example={
        "items": [
            {
                **convert_to_json(EXAMPLE),
                "state": "UNKNOWN",
                "settledAt": None,
                "referenceNumber": "INV-2026-0815",
            }
        ],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip

FIND_SUPPRESSIONS = Operation(
    operation_id="findSuppressions",
    method="GET",
    path="/merchants/{merchant_id}/suppressions",
    tag="Communications",
    summary="Find suppressed addresses",
    description=(
        "The addresses on the suppression list, masked, newest first, that match all given "
        "filters. A debtor with another usable address is contacted there. `since` and `until` "
        f"refer to `createdAt`. {PAGES}"
    ),
    parameters=(
        MERCHANT_ID,
        _CHANNEL,
        build_choice_parameter(
            "reason", get_args(SuppressionReason), "Only addresses with this reason."
        ),
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=SuppressionList,
    example={
        "items": [
            {
                "channel": "EMAIL",
                "maskedAddress": "e***@example.org",
                "reason": "BOUNCE",
                "by": "SYSTEM",
                "createdAt": "2026-03-02T09:05:00.000Z",
            }
        ],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)


async def _find(call: ApiCall) -> FoundCommunicationList:
    query = call.query
    limit, cursor = parse_page(query)
    wanted = CommunicationFilter(
        query.choice("state", get_args(CommunicationState)),  # type: ignore[arg-type]
        query.choice("channel", CHANNELS),  # type: ignore[arg-type]
        step_id=query.integer("stepId", maximum=2**31 - 1),
        since=query.instant("since"),
        until=query.instant("until"),
    )
    query.check()
    page = await list_communications(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return FoundCommunicationList(list(page.items), page.next_cursor)


async def _find_suppressions(call: ApiCall) -> SuppressionList:
    query = call.query
    limit, cursor = parse_page(query)
    wanted = SuppressionFilter(
        query.choice("channel", CHANNELS),  # type: ignore[arg-type]
        query.choice("reason", get_args(SuppressionReason)),  # type: ignore[arg-type]
        query.instant("since"), query.instant("until"),
    )  # fmt: skip
    query.check()
    page = await list_suppressions(call.work, limit=limit, cursor=cursor, wanted=wanted)
    items = [
        Suppression(
            channel=each.channel,
            masked_address=each.masked_address,
            reason=each.reason,
            by=each.actor_kind,
            created_at=render_instant(each.created_at),
        )
        for each in page.items
    ]
    return SuppressionList(items, page.next_cursor)


FIND_ENDPOINTS = (
    ApiEndpoint(FIND_COMMUNICATIONS, _find, DatabaseScope.CONNECTION),
    ApiEndpoint(FIND_SUPPRESSIONS, _find_suppressions, DatabaseScope.CONNECTION),
)
