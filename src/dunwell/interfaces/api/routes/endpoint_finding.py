"""Find webhook endpoints, and how each is doing."""

from typing import Any

from dunwell.core.events.list_endpoints import EndpointFilter, list_endpoints
from dunwell.core.events.webhooks.endpoint import EndpointHealth, EndpointState
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Endpoint, Operation, Span
from dunwell.interfaces.api.routes.parameters import (
    CURSOR,
    LIMIT,
    MERCHANT_ID,
    SINCE,
    UNTIL,
    choose_parameter,
    read_page,
)
from dunwell.interfaces.api.schemas.endpoints import FoundEndpoint, FoundEndpointList
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.wire import write_instant

FIND_ENDPOINTS = Operation(
    operation_id="findWebhookEndpoints",
    method="GET",
    path="/merchants/{merchant_id}/webhook-endpoints",
    tag="Events",
    summary="Find webhook endpoints",
    description=(
        "Where your webhooks are sent, and how each address is doing, the newest first; with "
        "filters, those of which all given hold. `since` and `until` are about `createdAt`. "
        "Without scope `ALL`, `url` is the origin alone, such as `https://shop.example`: the rest "
        "of an address may be as good as a secret. "
        "Endpoints are added and changed by whoever operates this service."
    ),
    parameters=(
        MERCHANT_ID,
        choose_parameter("state", EndpointState, "Only those in this state."),
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


async def _find(call: Call) -> FoundEndpointList:
    query = call.query
    limit, cursor = read_page(query)
    state = query.choice("state", tuple(EndpointState))
    since, until = query.instant("since"), query.instant("until")
    query.check()
    wanted = EndpointFilter(EndpointState(state) if state else None, since=since, until=until)
    found = await list_endpoints(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return FoundEndpointList([_show(each) for each in found.items], found.next_cursor)


def _show(endpoint: EndpointHealth) -> FoundEndpoint:
    reason: Any = endpoint.health.disabled_reason
    return FoundEndpoint(
        id=str(endpoint.endpoint_id),
        url=endpoint.url,
        events=list(endpoint.types),
        state=endpoint.state.value,
        since=write_instant(endpoint.since),
        failing_since=write_instant(endpoint.failing_since),
        reason=reason,
        failures=endpoint.failures,
        waiting_deliveries=endpoint.waiting,
        last_try_at=write_instant(endpoint.last_try_at),
        last_success_at=write_instant(endpoint.last_success_at),
        next_probe_at=write_instant(endpoint.health.probe_at),
        created_at=write_instant(endpoint.created_at),
    )


ENDPOINTS = (Endpoint(FIND_ENDPOINTS, _find, Span.CONNECTION),)
