"""List, read and replay events, and find webhook endpoints. The bodies of events are those of the
webhooks."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.body import EXAMPLE, KNOWN_EVENT_TYPES, Event
from dunwell.core.events.deliveries.replay import (
    MAX_DELIVERIES,
    ReplayFilter,
    find_time_faults,
    replay_events,
)
from dunwell.core.events.event_log import EventFilter, get_event, list_events
from dunwell.core.events.webhooks.endpoint import EndpointHealth, EndpointState
from dunwell.core.events.webhooks.endpoints import EndpointFilter, list_endpoints
from dunwell.interfaces.api.address import parse_event_id, parse_query_instant
from dunwell.interfaces.api.operation import (
    ApiCall,
    ApiEndpoint,
    DatabaseScope,
    Operation,
    Parameter,
    RequestBody,
)
from dunwell.interfaces.api.reading import parse_body
from dunwell.interfaces.api.routes.parameters import (
    CURSOR,
    EVENT_ID,
    LIMIT,
    MERCHANT_ID,
    SINCE,
    UNTIL,
    build_choice_parameter,
    parse_page,
)
from dunwell.interfaces.api.routes.payments import list_instant_faults, parse_body_instant
from dunwell.interfaces.api.schemas.events import (
    EncodedEventList,
    EventList,
    FoundEndpoint,
    FoundEndpointList,
    Replayed,
    ReplayRequest,
)
from dunwell.platform.errors import Fault, InvalidRequest, ValidationError
from dunwell.platform.text.wire import convert_to_json, render_instant

_INCLUDED = ("additions",)
_INSTANT = {"type": "string", "format": "date-time"}

LIST_EVENTS = Operation(
    operation_id="listEvents",
    method="GET",
    path="/merchants/{merchant_id}/events",
    tag="Events",
    summary="List events",
    description=(
        "The merchant's events of at least the last 30 days, oldest first, with the bodies of "
        "the webhooks, including types for which no webhook is set up. No event is ever added "
        "after a cursor that was returned, so continuing from the last cursor misses nothing.\n\n"
        "Additional types, such as PAYMENT_REFUNDED, are listed only with `include=additions`, or "
        "if `type` names one."
    ),
    parameters=(
        MERCHANT_ID,
        CURSOR,
        LIMIT,
        Parameter(
            name="since", place="query", schema=_INSTANT, example="2026-03-02T00:00:00Z",
            description="Only events at or after this time.",
        ),
        Parameter(
            name="until", place="query", schema=_INSTANT, example="2026-03-09T00:00:00Z",
            description="Only events before this time.",
        ),
        Parameter(
            name="type", place="query",
            schema={"type": "string", "enum": list(KNOWN_EVENT_TYPES)},
            description="Only events of this type.", example="ESCALATED",
        ),
        Parameter(
            name="include", place="query",
            schema={"type": "string", "enum": list(_INCLUDED)},
            description="Also events of additional types.", example="additions",
        ),
        Parameter(
            name="claimId", place="query", schema={"type": "integer", "minimum": 1},
            description="Only events of this claim.", example=4711,
        ),
    ),
    result=EventList,
    example=convert_to_json(EventList([EXAMPLE], None)),
    refusals=(ValidationError,),
    is_addition=True,
)  # fmt: skip

READ_EVENT = Operation(
    operation_id="readEvent",
    method="GET",
    path="/merchants/{merchant_id}/events/{event_id}",
    tag="Events",
    summary="Read an event",
    description=(
        "The event with the body of its webhook, even if no webhook is set up for its type. It "
        "is available as long as it is in the list."
    ),
    parameters=(MERCHANT_ID, EVENT_ID),
    result=Event,
    example=convert_to_json(EXAMPLE),
    refusals=(ValidationError,),
    is_addition=True,
)

REPLAY_EVENTS = Operation(
    operation_id="replayEvents",
    right=Right.OPERATE,
    method="POST",
    path="/merchants/{merchant_id}/events/replay",
    tag="Events",
    summary="Send events again",
    description=(
        "Makes the webhooks of a range of events due again: delivered, failed and pending "
        "ones. They keep their eventId and body, are sent after new deliveries, and are "
        "retried like new ones. If an endpoint has subscribed to a type since, it is sent the "
        "events that it has missed. Events of erased claims are skipped.\n\n"
        f"A replay of more than {MAX_DELIVERIES} deliveries is refused, and nothing is sent."
    ),
    parameters=(MERCHANT_ID,),
    body=RequestBody(
        media_type="application/json",
        shape=ReplayRequest,
        example={
            "since": "2026-03-02T00:00:00Z",
            "until": "2026-03-03T00:00:00Z",
            "types": ["ESCALATED", "PAYMENT_COMPLETED"],
        },
    ),
    result=Replayed,
    example={"replayed": 2},
    refusals=(InvalidRequest, ValidationError),
    is_addition=True,
)


async def _list(call: ApiCall) -> EncodedEventList:
    query = call.query
    limit, cursor = parse_page(query)
    wanted = EventFilter(
        since=query.instant("since"),
        until=query.instant("until"),
        type=query.choice("type", KNOWN_EVENT_TYPES),
        claim_id=query.integer("claimId"),
        includes_additional_types=query.choice("include", _INCLUDED) is not None,
    )
    query.check()
    page = await list_events(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return EncodedEventList([msgspec.Raw(body.encode()) for body in page.items], page.next_cursor)


async def _read(call: ApiCall) -> msgspec.Raw:
    event_id = parse_event_id(call.path["event_id"])
    call.query.check()
    return msgspec.Raw((await get_event(call.work, event_id)).encode())


async def _replay(call: ApiCall) -> Replayed:
    call.query.check()
    submitted = parse_body(call.body, ReplayRequest, _list_replay_faults)
    wanted = ReplayFilter(
        since=parse_body_instant(submitted.since, "/since"),
        until=None if submitted.until is None else parse_body_instant(submitted.until, "/until"),
        types=None if submitted.types is None else tuple(submitted.types),
        endpoint_id=None if submitted.endpoint_id is None else UUID(submitted.endpoint_id),
    )
    return Replayed(await replay_events(call.work, wanted))


def _list_replay_faults(submitted: ReplayRequest) -> Iterator[Fault]:
    yield from list_instant_faults(submitted.since, "/since")
    yield from list_instant_faults(submitted.until, "/until")
    since = parse_query_instant(submitted.since) if submitted.since else None
    until = parse_query_instant(submitted.until) if submitted.until else None
    if since is not None:
        yield from find_time_faults(since, until)


ENDPOINTS = (
    ApiEndpoint(LIST_EVENTS, _list, DatabaseScope.CONNECTION),
    ApiEndpoint(READ_EVENT, _read, DatabaseScope.CONNECTION),
    ApiEndpoint(REPLAY_EVENTS, _replay),
)


FIND_WEBHOOK_ENDPOINTS = Operation(
    operation_id="findWebhookEndpoints",
    method="GET",
    path="/merchants/{merchant_id}/webhook-endpoints",
    tag="Events",
    summary="Find webhook endpoints",
    description=(
        "Your webhook endpoints and their health, newest first, that match all given filters. "
        "`since` and `until` refer to `createdAt`. Without scope `ALL`, `url` is only the "
        "origin, such as `https://shop.example`, because the rest of the URL may be "
        "confidential. The operator adds and changes endpoints."
    ),
    parameters=(
        MERCHANT_ID,
        build_choice_parameter("state", EndpointState, "Only endpoints in this state."),
        SINCE,
        UNTIL,
        LIMIT,
        CURSOR,
    ),
    result=FoundEndpointList,
    example={
        "items": [
            {
                "id": "01955479-1b00-7c11-9f2a-3b4c5d6e7f80",
                "url": "http://127.0.0.1:8099/webhooks",
                "events": ["*"],
                "state": "WORKING",
                "since": None,
                "failingSince": None,
                "reason": None,
                "failures": 0,
                "waitingDeliveries": 0,
                "lastTryAt": None,
                "lastSuccessAt": None,
                "nextProbeAt": None,
                "createdAt": "2026-03-13T09:00:00.000Z",
            }
        ],
        "nextCursor": None,
    },
    refusals=(ValidationError,),
    is_addition=True,
)


async def _find(call: ApiCall) -> FoundEndpointList:
    query = call.query
    limit, cursor = parse_page(query)
    state = query.choice("state", tuple(EndpointState))
    since, until = query.instant("since"), query.instant("until")
    query.check()
    wanted = EndpointFilter(EndpointState(state) if state else None, since=since, until=until)
    page = await list_endpoints(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return FoundEndpointList([_build_endpoint(each) for each in page.items], page.next_cursor)


def _build_endpoint(endpoint: EndpointHealth) -> FoundEndpoint:
    reason: Any = endpoint.health.disabled_reason
    return FoundEndpoint(
        id=str(endpoint.endpoint_id),
        url=endpoint.url,
        events=list(endpoint.types),
        state=endpoint.state.value,
        since=render_instant(endpoint.since),
        failing_since=render_instant(endpoint.failing_since),
        reason=reason,
        failures=endpoint.failures,
        waiting_deliveries=endpoint.waiting,
        last_try_at=render_instant(endpoint.last_try_at),
        last_success_at=render_instant(endpoint.last_success_at),
        next_probe_at=render_instant(endpoint.health.probe_at),
        created_at=render_instant(endpoint.created_at),
    )


FIND_ENDPOINTS = (ApiEndpoint(FIND_WEBHOOK_ENDPOINTS, _find, DatabaseScope.CONNECTION),)
