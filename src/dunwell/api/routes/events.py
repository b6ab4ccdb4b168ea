"""List events: the same bodies as the webhooks, for who missed one or wants no webhooks."""

import msgspec

from dunwell.api.call import Call
from dunwell.api.operation import Endpoint, Operation, Parameter, Span
from dunwell.api.routes.parameters import MERCHANT_ID
from dunwell.api.schemas.events import EncodedEventList, EventList
from dunwell.errors import ValidationError
from dunwell.events.payloads import EVENT_TYPES
from dunwell.events.store import EventFilter, load_events_page

_DEFAULT_LIMIT, _GREATEST_LIMIT = 50, 200
_INSTANT = {"type": "string", "format": "date-time"}

LIST_EVENTS = Operation(
    operation_id="listEvents",
    method="GET",
    path="/merchants/{merchant_id}/events",
    tag="Events",
    summary="List events",
    description=(
        "The merchant's events of the last 30 days at least, oldest first, with the bodies their "
        "webhooks carry; types that no webhook is set up for too. Nothing ever appears behind a "
        "cursor that was handed out, so reading on from the last cursor misses nothing."
    ),
    parameters=(
        MERCHANT_ID,
        Parameter(
            name="cursor", place="query", schema={"type": "string", "minLength": 1},
            description="`nextCursor` of the page before.",
        ),
        Parameter(
            name="limit", place="query", example=50,
            schema={
                "type": "integer", "minimum": 1, "maximum": _GREATEST_LIMIT,
                "default": _DEFAULT_LIMIT,
            },
            description="How many events at most.",
        ),
        Parameter(
            name="since", place="query", schema=_INSTANT, example="2026-03-02T00:00:00Z",
            description="Only events of this date or later.",
        ),
        Parameter(
            name="until", place="query", schema=_INSTANT, example="2026-03-09T00:00:00Z",
            description="Only events before this date.",
        ),
        Parameter(
            name="type", place="query", schema={"type": "string", "enum": list(EVENT_TYPES)},
            description="Only events of this type.", example="ESCALATED",
        ),
        Parameter(
            name="claimId", place="query", schema={"type": "integer", "minimum": 1},
            description="Only events of this claim.", example=4711,
        ),
    ),
    result=EventList,
    example={
        "items": [
            {
                "type": "ESCALATED",
                "eventId": "0195547b-2c80-7b1d-8e55-9f0a1b2c3d4e",
                "date": "2026-03-02T09:00:01Z",
                "source": "ESCALATION",
                "claim": {
                    "id": 4711,
                    "merchantId": 1,
                    "referenceNumber": "INV-2026-0815",
                    "action": "ESCALATED",
                    "executedAt": "2026-03-02T09:00:01Z",
                    "communication": {
                        "channel": "EMAIL",
                        "reference": "0195547b-2b11-7c9a-a0b1-c2d3e4f50617",
                    },
                },
                "actionStep": {"id": 1, "name": "First reminder"},
            }
        ],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip


async def _list(call: Call) -> EncodedEventList:
    query = call.query
    cursor = query.text("cursor")
    limit = query.integer("limit", most=_GREATEST_LIMIT) or _DEFAULT_LIMIT
    wanted = EventFilter(
        since=query.instant("since"),
        until=query.instant("until"),
        type=query.choice("type", EVENT_TYPES),
        claim_id=query.integer("claimId"),
    )
    query.check()
    page = await load_events_page(
        call.work.tx, call.work.merchant_id, limit=limit, cursor=cursor, wanted=wanted
    )
    return EncodedEventList([msgspec.Raw(body.encode()) for body in page.bodies], page.next_cursor)


ENDPOINTS = (Endpoint(LIST_EVENTS, _list, Span.CONNECTION),)
