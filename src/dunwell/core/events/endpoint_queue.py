"""One endpoint's deliveries: leased in sets, sent from slots of the endpoint's own.

A queue lives while its endpoint has something due. Its slots are tasks that each take the next
delivery, send it and go on; the next set is leased while the last is still being sent. How many
slots, and how large a set, follows from how the endpoint answers (pacing).
"""

import asyncio
import time
from collections import deque
from dataclasses import replace
from datetime import datetime

import structlog

from dunwell.accounts.installation.webhook_networks import PUBLIC_REACH, WebhookReach
from dunwell.core.events import pacing
from dunwell.core.events.delivery_pool import DeliveryPool
from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.lease_set import find_last_begin, lease_set
from dunwell.core.events.retry import decide_next_try, is_success, judge_endpoint
from dunwell.core.events.sender import Seals
from dunwell.core.events.store_deliveries import Delivery, Outcome, Reply, release_deliveries
from dunwell.core.events.store_endpoints import load_reach

_LOG = structlog.get_logger(__name__)


class EndpointQueue:
    """Delivers to one endpoint until nothing is due, or until told to stop."""

    def __init__(self, pool: DeliveryPool, endpoint: Endpoint) -> None:
        """Raises SealBroken when the endpoint's secrets were sealed under another key."""
        self._pool = pool
        self._clock = pool.resources.clock
        self._endpoint = endpoint
        self._seals = Seals(pool.resources.keys, endpoint)
        self._reach = PUBLIC_REACH
        most_slots = pool.limits.in_flight_per_endpoint
        self._pace = pacing.start_pace(
            most_slots, pool.limits.largest_set, is_failing=not endpoint.health.is_well
        )
        self._ready: deque[Delivery] = deque()
        self._unstarted: list[Delivery] = []
        self._slots = 0
        self._unrecorded = 0
        self._recorded = asyncio.Event()
        # Nothing more is due, or nothing more shall be begun.
        self._is_dry = False
        self._is_stopped = False
        self._leasing: asyncio.Task[None] | None = None
        self._leased_at = time.monotonic()
        self._finished_since = 0
        self.tries = 0

    def stop(self) -> None:
        """Begin nothing more; what is in flight is finished and recorded."""
        self._is_stopped = True
        self._recorded.set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            self._group = group
            self._fill_slots(at_least=1)
        self._unstarted.extend(self._ready)
        if self._unstarted:
            now = self._clock.now()
            async with self._pool.resources.database.connection() as connection:
                await release_deliveries(connection, self._endpoint, self._unstarted, now)

    def _fill_slots(self, at_least: int = 0) -> None:
        wanted = max(at_least, min(self._pace.slots, self._slots + len(self._ready)))
        while self._slots < wanted:
            self._slots += 1
            self._group.create_task(self._deliver())

    async def _deliver(self) -> None:
        """One slot. It is given up when nothing is left, or when the pace has slowed."""
        while self._slots <= self._pace.slots and (delivery := await self._next()):
            async with self._pool.places_for(self._endpoint):
                await self._try(delivery)
            # What a crash could make arrive twice is kept small: see Recorder.
            while self._unrecorded >= 2 * self._pace.most_slots and not self._is_stopped:
                self._recorded.clear()
                await self._recorded.wait()
        self._slots -= 1

    async def _try(self, delivery: Delivery) -> None:
        now = self._clock.now()
        if now < find_last_begin(delivery.lease):
            reach = await self._find_reach()
            reply = await self._pool.sender.send(self._seals, delivery, now, reach)
            self._finish(delivery, now, reply)
        else:
            self._unstarted.append(delivery)

    async def _find_reach(self) -> WebhookReach:
        """As the installation file says at this moment, where the set was leased with networks of
        the operator's: one that is taken back counts from the next try on."""
        if self._reach == PUBLIC_REACH:
            return PUBLIC_REACH
        async with self._pool.resources.database.connection() as connection:
            return await load_reach(connection, self._endpoint.merchant_id)

    async def _next(self) -> Delivery | None:
        while not self._is_stopped:
            if not self._ready:
                if self._is_dry:
                    return None
                await self._lease_ahead()
                continue
            delivery = self._ready.popleft()
            if len(self._ready) < self._pace.set_size // 4 and not self._is_dry:
                self._lease_ahead()
            return delivery
        return None

    def _lease_ahead(self) -> asyncio.Task[None]:
        """Start leasing the next set, unless that is under way."""
        if self._leasing is None or self._leasing.done():
            self._leasing = self._group.create_task(self._lease())
        return self._leasing

    async def _lease(self) -> None:
        self._resize_set()
        try:
            leased = await lease_set(
                self._pool.resources, self._pool.leasing, self._endpoint, self._pace.set_size
            )
        except Exception as error:  # noqa: BLE001 - what is in flight is still finished
            _LOG.warning("deliveries.not_leased", error=type(error).__name__)
            self._is_dry = True
            return
        if leased.endpoint is None:
            self.stop()
            return
        if leased.endpoint.has_other_secrets(self._endpoint):
            self._seals = Seals(self._pool.resources.keys, leased.endpoint)
        self._endpoint, self._reach = leased.endpoint, leased.reach
        self._ready.extend(leased.deliveries)
        self._is_dry = leased.was_last
        self._fill_slots()

    def _resize_set(self) -> None:
        now = time.monotonic()
        if self._finished_since:
            self._pace = pacing.after_set(self._pace, self._finished_since, now - self._leased_at)
        self._leased_at, self._finished_since = now, 0

    def _finish(self, delivery: Delivery, begun_at: datetime, reply: Reply) -> None:
        now = self._clock.now()
        decision = decide_next_try(
            reply.status,
            tries=delivery.tries + 1 - delivery.tries_before,
            now=now,
            wish=reply.wish,
            fraction=self._pool.fraction(),
        )
        outcome = Outcome(
            endpoint=self._endpoint, delivery=delivery, decision=decision, at=begun_at, reply=reply
        )
        self._adapt(reply.status, now)
        self.tries += 1
        self._finished_since += 1
        self._unrecorded += 1
        self._pool.recorder.add(outcome, self._note_recorded)
        self._fill_slots()

    def _adapt(self, status: int | None, now: datetime) -> None:
        if is_success(status):
            self._pace = pacing.after_success(self._pace)
        else:
            self._pace = pacing.after_failure(self._pace)
        endpoint = self._endpoint
        if not (endpoint.health.is_well and is_success(status)):
            health = judge_endpoint(endpoint.health, status, now)
            self._endpoint = replace(endpoint, health=health)

    def _note_recorded(self) -> None:
        self._unrecorded -= 1
        self._recorded.set()
