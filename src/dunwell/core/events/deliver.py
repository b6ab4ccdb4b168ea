"""The webhook dispatcher: finds endpoints with something due and gives each a queue.

Any number of dispatchers may run against one database. Endpoints are looked for in the order of
merchants, each look going on where the last one ended, so that none waits for another's million.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import TypeAlias
from uuid import UUID

import structlog

from dunwell.core.events.delivery_pool import DeliveryPool, Limits
from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.endpoint_queue import EndpointQueue
from dunwell.core.events.sender import WebhookSender
from dunwell.core.events.store_deliveries import find_due_endpoints
from dunwell.platform.crypto import SealBroken
from dunwell.platform.resources import Resources

_POLL_SECONDS = 0.2
_PAUSE_SECONDS = 1.0
_REST = timedelta(seconds=30)
_BEGINNING = (0, UUID(int=0))
_LOG = structlog.get_logger(__name__)

_Key: TypeAlias = tuple[int, UUID]


class WebhookDispatcher:
    """Delivers what is due. `fraction` draws from [0, 1), to spread the schedule's gaps."""

    def __init__(
        self,
        resources: Resources,
        sender: WebhookSender,
        limits: Limits | None = None,
        fraction: Callable[[], float] = random.random,
    ) -> None:
        self._resources = resources
        self._pool = DeliveryPool(resources, sender, limits or Limits(), fraction)
        self._queues: dict[_Key, EndpointQueue] = {}
        self._resting: dict[_Key, datetime] = {}
        self._behind = _BEGINNING

    async def run_once(self) -> int:
        """Deliver all that is due now; the number of tries made, 0 when idle."""
        async with self._recording(), asyncio.TaskGroup() as group:
            queues = await self._start_queues(group)
        return sum(queue.tries for queue in queues)

    async def run(self, stop: asyncio.Event, note_look: Callable[[], None] = lambda: None) -> None:
        """Deliver until told to stop; then finish and record what is in flight. `note_look` is
        called each time the dispatcher has looked for endpoints with something due."""
        async with self._recording(), asyncio.TaskGroup() as group:
            while not stop.is_set():
                pause = _POLL_SECONDS
                try:
                    await self._start_queues(group)
                except Exception as error:  # noqa: BLE001 - the database is away: look again later
                    _LOG.warning(
                        "endpoints.not_found", error=type(error).__name__, once_a_minute=True
                    )
                    pause = _PAUSE_SECONDS
                else:
                    note_look()
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), pause)
            for queue in self._queues.values():
                queue.stop()

    @asynccontextmanager
    async def _recording(self) -> AsyncIterator[None]:
        """Record outcomes meanwhile; end when all are recorded."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pool.recorder.run())
            yield
            self._pool.recorder.close()

    async def _start_queues(self, group: asyncio.TaskGroup) -> list[EndpointQueue]:
        """A queue for each endpoint found that has none."""
        queues = []
        for endpoint in await self._find():
            key = (endpoint.merchant_id, endpoint.endpoint_id)
            queue = None if key in self._queues else self._build_queue(key, endpoint)
            if queue is not None:
                queues.append(queue)
                self._queues[key] = queue
                group.create_task(self._run_queue(key, queue))
        return queues

    async def _find(self) -> list[Endpoint]:
        limit = self._pool.limits.endpoints
        now = self._resources.clock.now()
        async with self._resources.database.connection() as connection:
            found = await find_due_endpoints(connection, now, self._behind, limit)
        is_end = len(found) < limit
        last = _BEGINNING if is_end else (found[-1].merchant_id, found[-1].endpoint_id)
        self._behind = last
        return found

    def _build_queue(self, key: _Key, endpoint: Endpoint) -> EndpointQueue | None:
        """None for an endpoint whose secrets cannot be opened: its deliveries wait, tried by
        nobody, until the installation has its key again."""
        if self._resting.get(key, self._resources.clock.now()) > self._resources.clock.now():
            return None
        try:
            return EndpointQueue(self._pool, endpoint)
        except SealBroken:
            _LOG.exception("endpoint.secret_not_opened", endpoint_id=str(endpoint.endpoint_id))
            self._resting[key] = self._resources.clock.now() + _REST
            return None

    async def _run_queue(self, key: _Key, queue: EndpointQueue) -> None:
        try:
            await queue.run()
        except Exception as error:  # noqa: BLE001 - one queue's fault is not the others'
            _LOG.warning("deliveries.queue_failed", error=type(error).__name__)
        finally:
            del self._queues[key]
