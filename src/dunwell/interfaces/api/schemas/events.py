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
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class EncodedEventList(Wire, frozen=True):
    """A page of events whose bodies are already encoded as JSON."""

    items: list[msgspec.Raw]
    next_cursor: str | None


class ReplayRequest(WireInput, frozen=True):
    """The events to send again."""

    since: Annotated[GivenInstant, Meta(description="Events of this date or later.")]
    until: Annotated[
        GivenInstant | None, Meta(description="Only events before this date. Default: all since.")
    ] = None
    types: Annotated[
        Annotated[list[EventType], Meta(min_length=1, max_length=20)] | None,
        Meta(description="Only events of these types. Default: all."),
    ] = None
    endpoint_id: Annotated[
        Uuid | None, Meta(description="Only to this endpoint. Default: all that ask for the type.")
    ] = None


class Replayed(Wire, frozen=True):
    replayed: Annotated[int, Meta(description="How many deliveries were made due again.")]


class FoundEndpoint(Wire, frozen=True):
    """One of your endpoints. Its secrets are shown only once, when they are created."""

    id: Uuid
    url: str
    events: Annotated[list[str], Meta(description='The types it is sent; `["*"]`: all.')]
    state: Annotated[
        Literal["WORKING", "FAILING", "SWITCHED_OFF"],
        Meta(
            description="WORKING: its last answer was a success, or it has given none yet. "
            "SWITCHED_OFF: it failed for days, or said that it is gone; it is tried again with "
            "growing gaps, and switched on by a success."
        ),
    ]
    since: Annotated[
        Instant | None,
        Meta(description="When it began to fail, or was switched off; null: it works."),
    ]
    failing_since: Annotated[
        Instant | None,
        Meta(
            description="When the first of its failures in a row was, also of one that was "
            "switched off since; null: it works."
        ),
    ]
    reason: Annotated[
        Literal["GONE", "FAILING"] | None,
        Meta(description="Why it was switched off: it answered 410, or nothing but failures."),
    ]
    failures: Annotated[
        int,
        Meta(ge=0, description=f"Since its last success; counted up to {MAX_COUNTED}."),
    ]
    waiting_deliveries: Annotated[
        int, Meta(ge=0, description=f"Events it was not sent yet; counted up to {MAX_COUNTED}.")
    ]
    last_try_at: Instant | None
    last_success_at: Annotated[
        Instant | None, Meta(description=f"Among its last {MAX_COUNTED} attempts.")
    ]
    next_probe_at: Annotated[
        Instant | None, Meta(description="When one that is switched off is tried again.")
    ]
    created_at: Instant


class FoundEndpointList(Wire, frozen=True):
    """A page of the merchant's webhook endpoints, newest first."""

    items: list[FoundEndpoint]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]
