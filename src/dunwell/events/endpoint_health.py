"""How a webhook endpoint is doing, for whoever looks after it. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Self
from urllib.parse import urlsplit
from uuid import UUID

from dunwell.events.retry import Health

# Deliveries that wait, and failures in a row, are counted so far.
MOST_COUNTED = 1_000


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
        """With no more of its address than where it leads: the rest may be as good as a secret."""
        parts = urlsplit(self.url)
        return replace(self, url=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")

    @property
    def state(self) -> EndpointState:
        if self.health.disabled_at is not None:
            return EndpointState.SWITCHED_OFF
        return EndpointState.WORKING if self.health.is_well else EndpointState.FAILING

    @property
    def since(self) -> datetime | None:
        """When it began to fail, or was switched off. None: it works."""
        return self.health.disabled_at or self.health.first_failure_at
