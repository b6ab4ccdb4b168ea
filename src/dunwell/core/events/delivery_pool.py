"""What the queues of one process share: means, limits, and places to be taken in turn."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.recorder import Recorder
from dunwell.core.events.sender import WebhookSender
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class Limits:
    """How much goes on at once in one process."""

    in_flight_per_endpoint: int = 10
    in_flight: int = 200
    largest_set: int = 500
    # Endpoints found by one look.
    endpoints: int = 400
    leases_at_once: int = 4


class DeliveryPool:
    """What every queue needs and none owns. `fraction` draws from [0, 1) for the schedule."""

    def __init__(
        self,
        resources: Resources,
        sender: WebhookSender,
        limits: Limits,
        fraction: Callable[[], float],
    ) -> None:
        self.resources = resources
        self.sender = sender
        self.limits = limits
        self.fraction = fraction
        self.recorder = Recorder(resources)
        self.leasing = asyncio.Semaphore(limits.leases_at_once)
        places_of_failing = max(1, limits.in_flight // 4)
        self._places_of_failing = asyncio.Semaphore(places_of_failing)
        self._places = asyncio.Semaphore(max(1, limits.in_flight - places_of_failing))

    def places_for(self, endpoint: Endpoint) -> asyncio.Semaphore:
        """Endpoints that have been failing share a quarter of the places among themselves, so
        that many which hang together do not hold those of the healthy."""
        return self._places if endpoint.health.is_well else self._places_of_failing
