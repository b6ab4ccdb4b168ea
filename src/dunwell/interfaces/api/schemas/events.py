"""Lists of events and replays of them (CONTRACT 5). What an event says is `events.body`'s: bodies
are passed through as they were stored.
"""

from typing import Annotated

import msgspec
from msgspec import Meta

from dunwell.core.events.body import Event, EventType
from dunwell.platform.text.wire import Given, GivenInstant, Uuid, Wire


class EventList(Wire, frozen=True):
    """A page of events, oldest first."""

    items: list[Event]
    next_cursor: Annotated[
        str | None, Meta(description="Where the next page begins; null: these are the last.")
    ]


class EncodedEventList(Wire, frozen=True):
    """The same, with bodies that are JSON already."""

    items: list[msgspec.Raw]
    next_cursor: str | None


class ReplayRequest(Given, frozen=True):
    """Which events are sent again."""

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
