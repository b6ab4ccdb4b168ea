"""List events and read one: the same bodies as the webhooks, for merchants that missed one or want
no webhooks; and have webhooks sent again."""

from collections.abc import Iterator
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.body import EVENT_TYPES, EXAMPLE, Event
from dunwell.core.events.deliveries.replay import (
    MOST_DELIVERIES,
    Replay,
    find_time_faults,
    replay_events,
)
from dunwell.core.events.event_log import EventFilter, find_events, get_event
from dunwell.interfaces.api.call import Call
from dunwell.interfaces.api.operation import Body, Endpoint, Operation, Parameter, Span
from dunwell.interfaces.api.paths import read_event_id
from dunwell.interfaces.api.query import read_instant
from dunwell.interfaces.api.reading import read_shape
from dunwell.interfaces.api.routes.parameters import CURSOR, EVENT_ID, LIMIT, MERCHANT_ID, read_page
from dunwell.interfaces.api.routes.payments import find_faulty_instant, read_given_instant
from dunwell.interfaces.api.schemas.events import (
    EncodedEventList,
    EventList,
    Replayed,
    ReplayRequest,
)
from dunwell.platform.errors import Fault, InvalidRequest, ValidationError
from dunwell.platform.text.wire import read_as_json

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
        CURSOR,
        LIMIT,
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
    example=read_as_json(EventList([EXAMPLE], None)),
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
        "The event with the body its webhook carries; of a type that no webhook is set up for too. "
        "It is there as long as the list shows it."
    ),
    parameters=(MERCHANT_ID, EVENT_ID),
    result=Event,
    example=read_as_json(EXAMPLE),
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
        "Makes the webhooks of a range of events due again: delivered ones, given up ones, and "
        "those that wait for their next try. They keep their eventId and their body, run behind "
        "live deliveries, and are tried again like new ones. An endpoint that has asked for a "
        "type since is sent the events it has missed. Events of erased claims are skipped.\n\n"
        f"More than {MOST_DELIVERIES} deliveries at once are refused, and nothing is sent."
    ),
    parameters=(MERCHANT_ID,),
    body=Body(
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


async def _list(call: Call) -> EncodedEventList:
    query = call.query
    limit, cursor = read_page(query)
    wanted = EventFilter(
        since=query.instant("since"),
        until=query.instant("until"),
        type=query.choice("type", EVENT_TYPES),
        claim_id=query.integer("claimId"),
    )
    query.check()
    page = await find_events(call.work, limit=limit, cursor=cursor, wanted=wanted)
    return EncodedEventList([msgspec.Raw(body.encode()) for body in page.items], page.next_cursor)


async def _read(call: Call) -> msgspec.Raw:
    event_id = read_event_id(call.path["event_id"])
    call.query.check()
    return msgspec.Raw((await get_event(call.work, event_id)).encode())


async def _replay(call: Call) -> Replayed:
    call.query.check()
    given = read_shape(call.body, ReplayRequest, _find_faulty_replay)
    wanted = Replay(
        since=read_given_instant(given.since, "/since"),
        until=None if given.until is None else read_given_instant(given.until, "/until"),
        types=None if given.types is None else tuple(given.types),
        endpoint_id=None if given.endpoint_id is None else UUID(given.endpoint_id),
    )
    return Replayed(await replay_events(call.work, wanted))


def _find_faulty_replay(given: ReplayRequest) -> Iterator[Fault]:
    yield from find_faulty_instant(given.since, "/since")
    yield from find_faulty_instant(given.until, "/until")
    since = read_instant(given.since) if given.since else None
    until = read_instant(given.until) if given.until else None
    if since is not None:
        yield from find_time_faults(since, until)


ENDPOINTS = (
    Endpoint(LIST_EVENTS, _list, Span.CONNECTION),
    Endpoint(READ_EVENT, _read, Span.CONNECTION),
    Endpoint(REPLAY_EVENTS, _replay),
)
