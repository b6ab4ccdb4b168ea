"""Leases are begun, and kept by a heartbeat while their holder works.

A worker renews its lease for as long as it renders, calls channels and records what they answer.
Real time.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

# What a killed worker held goes on after it. Three beats may be missed.
LEASE = timedelta(seconds=15)
BEAT_SECONDS = 4.0
# A lease that was renewed longer ago is not relied on any more: the rest of its time covers what
# passes between this look at it and the call that follows.
_SURE_SECONDS = 10.0

# Writes the lease's new end, where it is still held.
Renew = Callable[[Connection, datetime], Awaitable[None]]

log = structlog.get_logger(__name__)


def begin_lease(resources: Resources, lasts: timedelta = LEASE) -> Lease:
    """A lease that begins now, to be written into rows."""
    now = resources.clock.now()
    return Lease(resources.ids.new(now), now + lasts)


class HeldLease:
    """What its holder knows of a lease of messages. Each is renewed by itself: one whose row
    another transaction holds misses a beat that the others do not. A process that was stopped for
    a while notices that it may have lost all of them."""

    def __init__(self, lease: Lease) -> None:
        self._begun_at = lease.begun_at
        self._renewed_at: dict[UUID, float] = {}

    def is_surely_held(self, message_id: UUID) -> bool:
        renewed_at = self._renewed_at.get(message_id, self._begun_at)
        return time.monotonic() - renewed_at < _SURE_SECONDS

    def note_renewed(self, message_ids: Collection[UUID], at: float) -> None:
        """message_ids: those whose rows were found under the lease and have its new end. at: before
        the new end was computed."""
        self._renewed_at.update(dict.fromkeys(message_ids, at))


@asynccontextmanager
async def keep_lease(
    resources: Resources, renew: Renew, *, beat_seconds: float = BEAT_SECONDS
) -> AsyncIterator[None]:
    """Renew it again and again until the block ends."""
    beating = asyncio.create_task(_beat(resources, renew, beat_seconds))
    try:
        yield
    finally:
        beating.cancel()
        await asyncio.wait([beating])


async def _beat(resources: Resources, renew: Renew, beat_seconds: float) -> None:
    while True:
        await asyncio.sleep(beat_seconds)
        try:
            async with resources.database.connection() as connection:
                await renew(connection, resources.clock.now() + LEASE)
        except Unavailable:  # the next beat comes before the lease ends
            log.warning("lease not renewed", once_a_minute=True)
        except Exception:  # a heartbeat must not end before the work that it keeps
            log.exception("lease not renewed")
