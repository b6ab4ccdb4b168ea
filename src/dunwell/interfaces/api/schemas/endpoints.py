"""Webhook endpoints and how they are doing (CONTRACT 5 and 9)."""

from typing import Annotated, Literal

from msgspec import Meta

from dunwell.core.events.webhooks.endpoint import MOST_COUNTED
from dunwell.platform.text.wire import Instant, Uuid, Wire


class FoundEndpoint(Wire, frozen=True):
    """An endpoint of yours. Its secrets are shown once, when they are made, and never here."""

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
        Meta(ge=0, description=f"Since its last success; counted up to {MOST_COUNTED}."),
    ]
    waiting_deliveries: Annotated[
        int, Meta(ge=0, description=f"Events it was not sent yet; counted up to {MOST_COUNTED}.")
    ]
    last_try_at: Instant | None
    last_success_at: Annotated[
        Instant | None, Meta(description=f"Among its last {MOST_COUNTED} tries.")
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
