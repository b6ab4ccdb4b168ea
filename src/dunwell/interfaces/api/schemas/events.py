"""Lists of events, replays, and webhook endpoints on the wire (CONTRACT 5 and 9).

The bodies of events are passed through as they are stored.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from dunwell.core.events.body import Event, EventType
from dunwell.core.events.webhooks.endpoint import MAX_COUNTED
from dunwell.platform.text.wire import GivenInstant, Instant, Uuid, Wire, WireInput


class EventList(Wire, frozen=True):
    """A page of events, oldest first."""

    items: list[Event]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]


class EncodedEventList(Wire, frozen=True):
    """A page of events whose bodies are already encoded as JSON."""

    items: list[msgspec.Raw]
    next_cursor: str | None


class ReplayRequest(WireInput, frozen=True):
    """The events to send again."""

    since: Annotated[GivenInstant, Meta(description="Only events at or after this time.")]
    until: Annotated[
        GivenInstant | None, Meta(description="Only events before this time. Default: no end.")
    ] = None
    types: Annotated[
        Annotated[list[EventType], Meta(min_length=1, max_length=20)] | None,
        Meta(description="Only events of these types. Default: all that an endpoint is sent."),
    ] = None
    endpoint_id: Annotated[
        Uuid | None, Meta(description="Only to this endpoint. Default: all endpoints for the type.")
    ] = None


class Replayed(Wire, frozen=True):
    replayed: Annotated[int, Meta(description="The number of deliveries that are due again.")]


class FoundEndpoint(Wire, frozen=True):
    """One of your endpoints. Its secrets are shown only once, when they are created."""

    id: Uuid
    url: str
    events: Annotated[
        list[str],
        Meta(
            description=(
                "The event types that it is sent; `*` means all except for the additional types, "
                "which are listed by name."
            )
        ),
    ]
    state: Annotated[
        Literal["WORKING", "FAILING", "SWITCHED_OFF"],
        Meta(
            description=(
                "WORKING: its last response was a success, or there is none yet. FAILING: its "
                "last response was a failure. SWITCHED_OFF: it failed for days, or responded with "
                "410. It is then probed after growing delays, and enabled again by a success."
            )
        ),
    ]
    since: Annotated[
        Instant | None,
        Meta(description="When it began to fail or was disabled; null if it works."),
    ]
    failing_since: Annotated[
        Instant | None,
        Meta(
            description=(
                "When the first of its consecutive failures was, also for an endpoint that was "
                "disabled since; null if it works."
            )
        ),
    ]
    reason: Annotated[
        Literal["GONE", "FAILING"] | None,
        Meta(
            description=(
                "Why it was disabled. GONE: it responded with 410. FAILING: all deliveries failed."
            )
        ),
    ]
    failures: Annotated[
        int,
        Meta(ge=0, description=f"Failures since its last success, up to {MAX_COUNTED}."),
    ]
    waiting_deliveries: Annotated[
        int, Meta(ge=0, description=f"The pending deliveries, counted up to {MAX_COUNTED}.")
    ]
    last_try_at: Instant | None
    last_success_at: Annotated[
        Instant | None, Meta(description=f"Among its last {MAX_COUNTED} attempts.")
    ]
    next_probe_at: Annotated[
        Instant | None, Meta(description="When a disabled endpoint is probed again.")
    ]
    created_at: Instant


class FoundEndpointList(Wire, frozen=True):
    """A page of the merchant's webhook endpoints, newest first."""

    items: list[FoundEndpoint]
    next_cursor: Annotated[
        str | None, Meta(description="The cursor of the next page; null on the last page.")
    ]
