"""The webhook dispatcher: decides which endpoint is served next, leases its due deliveries, and
sends them from the endpoint's own slots."""

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import structlog

from dunwell.accounts.installation.installation_file import PUBLIC_REACH, WebhookReach
from dunwell.core.events.webhooks import retry
from dunwell.core.events.webhooks.delivery import (
    OutcomeRecorder,
    WebhookRequestSigner,
    WebhookSender,
)
from dunwell.core.events.webhooks.endpoint import WebhookEndpoint
from dunwell.core.events.webhooks.retry import (
    compute_health,
    decide_next_attempt,
    is_success,
    schedule_next_probe,
)
from dunwell.core.events.webhooks.store import (
    AttemptResult,
    DeliveryOutcome,
    LeasedDelivery,
    lease_deliveries,
    list_due_endpoints,
    load_endpoint,
    load_reach,
    lock_endpoint,
    release_deliveries,
    save_health,
)
from dunwell.platform.crypto import DecryptionFailed
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.heartbeat import start_lease
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class DispatchLimits:
    """Limits of concurrency in one process."""

    in_flight_per_endpoint: int = 10
    in_flight: int = 200
    max_batch_size: int = 500
    # The largest number of endpoints that one search for due endpoints returns.
    endpoints: int = 400
    leases_at_once: int = 4


class DeliveryPool:
    """The resources and slots that the queues of all endpoints share. `fraction` returns random
    numbers in [0, 1) for the schedule of retries."""

    def __init__(
        self,
        resources: Resources,
        sender: WebhookSender,
        limits: DispatchLimits,
        fraction: Callable[[], float],
    ) -> None:
        self.resources = resources
        self.sender = sender
        self.limits = limits
        self.fraction = fraction
        self.recorder = OutcomeRecorder(resources)
        self.lease_slots = asyncio.Semaphore(limits.leases_at_once)
        failing_slots = max(1, limits.in_flight // 4)
        self._failing_slots = asyncio.Semaphore(failing_slots)
        self._healthy_slots = asyncio.Semaphore(max(1, limits.in_flight - failing_slots))

    def get_slots(self, endpoint: WebhookEndpoint) -> asyncio.Semaphore:
        """Return the slots of the endpoint. Failing endpoints share a quarter of all slots, so that
        many hanging ones do not block healthy ones."""
        return self._healthy_slots if endpoint.health.is_well else self._failing_slots


# An attempt ends within 15 seconds, over a stale connection within 17. It must start within
# START_WITHIN, so that even the slowest is recorded before the lease ends.
LEASE = timedelta(seconds=30)
START_WITHIN = timedelta(seconds=12)


@dataclass(frozen=True, slots=True)
class LeasedBatch:
    """The leased deliveries of one endpoint. `endpoint` is None if it was removed, or if it is
    disabled and no probe is due."""

    endpoint: WebhookEndpoint | None
    deliveries: list[LeasedDelivery]
    # True if nothing else is due now, or if this is the only probe that is allowed.
    was_last: bool
    # Where the deliveries may be sent.
    reach: WebhookReach = PUBLIC_REACH


_NOTHING = LeasedBatch(None, [], was_last=True)


async def lease_batch(
    resources: Resources, lease_slots: asyncio.Semaphore, endpoint: WebhookEndpoint, size: int
) -> LeasedBatch:
    """Lease at most `size` deliveries; for a disabled endpoint a single one as its probe."""
    async with lease_slots, resources.database.transaction() as tx:
        now = resources.clock.now()
        current = await load_endpoint(tx, endpoint.merchant_id, endpoint.endpoint_id)
        if current is None:
            return _NOTHING
        if current.is_disabled:
            if not await _reserve_probe(tx, current, now):
                return _NOTHING
            size = 1
        lease = start_lease(resources, LEASE)
        deliveries = await lease_deliveries(tx, current, lease, now=now, size=size)
        was_last = len(deliveries) < size or current.is_disabled
        reach = await load_reach(tx, current.merchant_id)
        return LeasedBatch(current, deliveries, was_last, reach)


def compute_last_start(lease: Lease) -> datetime:
    """Return the time before which an attempt under this lease must start."""
    return lease.until - LEASE + START_WITHIN


async def _reserve_probe(tx: Connection, endpoint: WebhookEndpoint, now: datetime) -> bool:
    """Reserve the probe that is due. Return False if another dispatcher has just reserved it."""
    current = await lock_endpoint(tx, endpoint.merchant_id, endpoint.endpoint_id)
    if current is None or current.health.probe_at is None or current.health.probe_at > now:
        return False
    health = schedule_next_probe(current.health, now)
    await save_health(tx, endpoint.merchant_id, endpoint.endpoint_id, health)
    return True


_LOG = structlog.get_logger(__name__)


class EndpointQueue:
    """Delivers to one endpoint until nothing is due or it is stopped."""

    def __init__(self, pool: DeliveryPool, endpoint: WebhookEndpoint) -> None:
        """Decrypt the endpoint's secrets. Raises DecryptionFailed."""
        self._pool = pool
        self._clock = pool.resources.clock
        self._endpoint = endpoint
        self._signer = WebhookRequestSigner(pool.resources.keys, endpoint)
        self._reach = PUBLIC_REACH
        max_slots = pool.limits.in_flight_per_endpoint
        self._pace = retry.build_initial_pace(
            max_slots, pool.limits.max_batch_size, is_failing=not endpoint.health.is_well
        )
        # Leased deliveries that wait for a slot, and those whose lease had too little time left to
        # start them.
        self._ready: deque[LeasedDelivery] = deque()
        self._unstarted: list[LeasedDelivery] = []
        # How many slots are running, and how many outcomes are not recorded yet.
        self._slots = 0
        self._unrecorded = 0
        self._recorded = asyncio.Event()
        # `_is_drained`: nothing more is due. `_is_stopped`: stop() was called.
        self._is_drained = False
        self._is_stopped = False
        self._leasing: asyncio.Task[None] | None = None
        self._leased_at = time.monotonic()
        self._finished_since_lease = 0
        # The number of attempts that this queue has finished.
        self.attempts = 0

    def stop(self) -> None:
        """Start no more attempts. Those in flight are finished and recorded."""
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
        """Run one slot. It ends when no delivery is left, or when the pace allows fewer slots than
        are running."""
        while self._slots <= self._pace.slots and (delivery := await self._next_delivery()):
            async with self._pool.get_slots(self._endpoint):
                await self._attempt(delivery)
            # Limit unrecorded outcomes: after a crash these deliveries are sent again.
            while self._unrecorded >= 2 * self._pace.max_slots and not self._is_stopped:
                self._recorded.clear()
                await self._recorded.wait()
        self._slots -= 1

    async def _attempt(self, delivery: LeasedDelivery) -> None:
        now = self._clock.now()
        if now < compute_last_start(delivery.lease):
            reach = await self._find_reach()
            result = await self._pool.sender.send(self._signer, delivery, now, reach)
            self._finish(delivery, now, result)
        else:
            self._unstarted.append(delivery)

    async def _find_reach(self) -> WebhookReach:
        """Return where the webhooks may be sent now. If the batch was leased with private networks,
        the installation file is read again, so that a removed network counts from the next attempt
        on."""
        if self._reach == PUBLIC_REACH:
            return PUBLIC_REACH
        async with self._pool.resources.database.connection() as connection:
            return await load_reach(connection, self._endpoint.merchant_id)

    async def _next_delivery(self) -> LeasedDelivery | None:
        while not self._is_stopped:
            if not self._ready:
                if self._is_drained:
                    return None
                await self._lease_ahead()
                continue
            delivery = self._ready.popleft()
            if len(self._ready) < self._pace.batch_size // 4 and not self._is_drained:
                self._lease_ahead()
            return delivery
        return None

    def _lease_ahead(self) -> asyncio.Task[None]:
        """Start leasing the next batch, unless that is in progress."""
        if self._leasing is None or self._leasing.done():
            self._leasing = self._group.create_task(self._lease())
        return self._leasing

    async def _lease(self) -> None:
        self._resize_batch()
        try:
            leased = await lease_batch(
                self._pool.resources, self._pool.lease_slots, self._endpoint, self._pace.batch_size
            )
            if leased.endpoint is not None and leased.endpoint.has_other_secrets(self._endpoint):
                self._signer = WebhookRequestSigner(self._pool.resources.keys, leased.endpoint)
        except Exception as error:  # noqa: BLE001 - what is in flight is still finished
            _LOG.warning("deliveries.not_leased", error=type(error).__name__)
            self._is_drained = True
            return
        if leased.endpoint is None:
            self.stop()
            return
        self._endpoint, self._reach = leased.endpoint, leased.reach
        self._ready.extend(leased.deliveries)
        self._is_drained = leased.was_last
        self._fill_slots()

    def _resize_batch(self) -> None:
        now = time.monotonic()
        if self._finished_since_lease:
            self._pace = retry.resize_batch(
                self._pace, self._finished_since_lease, now - self._leased_at
            )
        self._leased_at, self._finished_since_lease = now, 0

    def _finish(
        self, delivery: LeasedDelivery, started_at: datetime, result: AttemptResult
    ) -> None:
        now = self._clock.now()
        decision = decide_next_attempt(
            result.status,
            attempts=delivery.attempts + 1 - delivery.attempts_before,
            now=now,
            retry_after=result.retry_after,
            fraction=self._pool.fraction(),
        )
        outcome = DeliveryOutcome(
            endpoint=self._endpoint,
            delivery=delivery,
            decision=decision,
            at=started_at,
            result=result,
        )
        self._update_pace_and_health(result.status, now)
        self.attempts += 1
        self._finished_since_lease += 1
        self._unrecorded += 1
        self._pool.recorder.add(outcome, self._on_recorded)
        self._fill_slots()

    def _update_pace_and_health(self, status: int | None, now: datetime) -> None:
        if is_success(status):
            self._pace = retry.add_slot(self._pace)
        else:
            self._pace = retry.halve_slots(self._pace)
        endpoint = self._endpoint
        if not (endpoint.health.is_well and is_success(status)):
            health = compute_health(endpoint.health, status, now)
            self._endpoint = replace(endpoint, health=health)

    def _on_recorded(self) -> None:
        self._unrecorded -= 1
        self._recorded.set()


_POLL_SECONDS = 0.2
_PAUSE_SECONDS = 1.0
_KEY_RETRY_DELAY = timedelta(seconds=30)
_BEGINNING = (0, UUID(int=0))


_EndpointKey: TypeAlias = tuple[int, UUID]


class WebhookDispatcher:
    """Delivers due events to all endpoints. `fraction` returns random numbers in [0, 1), to spread
    the delays of the schedule."""

    def __init__(
        self,
        resources: Resources,
        sender: WebhookSender,
        limits: DispatchLimits | None = None,
        fraction: Callable[[], float] = random.random,
    ) -> None:
        self._resources = resources
        self._pool = DeliveryPool(resources, sender, limits or DispatchLimits(), fraction)
        self._queues: dict[_EndpointKey, EndpointQueue] = {}
        self._skipped_until: dict[_EndpointKey, datetime] = {}
        self._last_key = _BEGINNING

    async def run_once(self) -> int:
        """Deliver everything that is due now and return the number of attempts; 0 if nothing was
        due."""
        async with self._recording(), asyncio.TaskGroup() as group:
            queues = await self._start_queues(group)
        return sum(queue.attempts for queue in queues)

    async def run(self, stop: asyncio.Event, on_search: Callable[[], None] = lambda: None) -> None:
        """Deliver until `stop` is set, then finish and record what is in flight. `on_search` is
        called after each successful search for due endpoints."""
        async with self._recording(), asyncio.TaskGroup() as group:
            while not stop.is_set():
                pause = _POLL_SECONDS
                try:
                    await self._start_queues(group)
                except Exception as error:  # noqa: BLE001 - the database is unavailable: search again later
                    _LOG.warning(
                        "endpoints.not_searched", error=type(error).__name__, once_a_minute=True
                    )
                    pause = _PAUSE_SECONDS
                else:
                    on_search()
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), pause)
            for queue in self._queues.values():
                queue.stop()

    @asynccontextmanager
    async def _recording(self) -> AsyncIterator[None]:
        """Record outcomes in the background. Leaves after all are recorded."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pool.recorder.run())
            yield
            self._pool.recorder.close()

    async def _start_queues(self, group: asyncio.TaskGroup) -> list[EndpointQueue]:
        """Start a queue for each due endpoint that has none."""
        queues = []
        for endpoint in await self._list_due_endpoints():
            key = (endpoint.merchant_id, endpoint.endpoint_id)
            queue = None if key in self._queues else self._build_queue(key, endpoint)
            if queue is not None:
                queues.append(queue)
                self._queues[key] = queue
                group.create_task(self._run_queue(key, queue))
        return queues

    async def _list_due_endpoints(self) -> list[WebhookEndpoint]:
        limit = self._pool.limits.endpoints
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            endpoints = await list_due_endpoints(connection, now, self._last_key, limit)
        is_end = len(endpoints) < limit
        last = _BEGINNING if is_end else (endpoints[-1].merchant_id, endpoints[-1].endpoint_id)
        self._last_key = last
        return endpoints

    def _build_queue(self, key: _EndpointKey, endpoint: WebhookEndpoint) -> EndpointQueue | None:
        """Return None if the endpoint's secrets cannot be decrypted, or could not a moment ago.
        Its deliveries wait until the right secret key is configured."""
        now = self._resources.clock.now()
        if self._skipped_until.get(key, now) > now:
            return None
        try:
            return EndpointQueue(self._pool, endpoint)
        except DecryptionFailed:
            _LOG.exception("endpoint.secret_not_opened", endpoint_id=str(endpoint.endpoint_id))
            self._skipped_until[key] = now + _KEY_RETRY_DELAY
            return None

    async def _run_queue(self, key: _EndpointKey, queue: EndpointQueue) -> None:
        try:
            await queue.run()
        except Exception as error:  # noqa: BLE001 - a failing queue must not stop the others
            _LOG.warning("deliveries.queue_failed", error=type(error).__name__)
        finally:
            del self._queues[key]
