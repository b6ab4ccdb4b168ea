"""How a webhook endpoint is doing, for whoever looks after it. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit
from uuid import UUID

from dunwell.core.events.retry import Health

# Deliveries that wait, and failures in a row, are counted so far.
MOST_COUNTED = 1_000
# A failure that lasts this long is told to people: the first four tries have then failed, and a
# receiver that was merely restarted has long been back.
TOLD_AFTER = timedelta(hours=1)


class EndpointState(StrEnum):
    # Its last answer was a success, or it has given none yet.
    WORKING = "WORKING"
    FAILING = "FAILING"
    # After lasting failure; a probe switches it on again.
    SWITCHED_OFF = "SWITCHED_OFF"


@dataclass(frozen=True, slots=True)
class EndpointHealth:
    """All instants are real time."""

    endpoint_id: UUID
    url: str
    types: tuple[str, ...]
    created_at: datetime
    health: Health
    # Failed tries since the last success, at most MOST_COUNTED.
    failures: int
    # Deliveries that wait for a try, at most MOST_COUNTED.
    waiting: int
    last_success_at: datetime | None
    last_try_at: datetime | None

    def without_path(self) -> Self:
        """With no more of its address than where it leads."""
        return replace(self, url=find_origin(self.url))

    @property
    def state(self) -> EndpointState:
        if self.health.disabled_at is not None:
            return EndpointState.SWITCHED_OFF
        return EndpointState.WORKING if self.health.is_well else EndpointState.FAILING

    @property
    def failing_since(self) -> datetime | None:
        """When the first of its failures in a row was, also of one that was switched off for them.
        None: it works."""
        return self.health.first_failure_at

    @property
    def since(self) -> datetime | None:
        """When it began to fail, or was switched off. None: it works."""
        return self.health.disabled_at or self.health.first_failure_at


@dataclass(frozen=True, slots=True)
class ToldEndpoint:
    """An endpoint that somebody is told about."""

    merchant_id: int
    endpoint_id: UUID
    url: str
    # When it began to fail; none: it works again.
    since: datetime | None
    # Of its last try: the HTTP status, or why there was none.
    status: int | None
    error: str | None


@dataclass(frozen=True, slots=True)
class UndeliveredEvents:
    """What waits for one endpoint, at least one event."""

    endpoint_id: UUID
    count: int
    # Its id holds the time at which it was raised.
    oldest: UUID


def find_origin(url: str) -> str:
    """Where a webhook's address leads, such as https://erp.example:8443. The rest of it may be as
    good as a secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
