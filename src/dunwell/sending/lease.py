"""Leases: who works on something has it for some seconds, and keeps it by a heartbeat.

What a dead worker held is free again when its lease runs out; a living one renews it for as long as
it renders, calls channels and records what they answer (CONTRACT 13). Real time.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.errors import Unavailable
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources

# What a killed worker held goes on after it. Three beats may be missed.
LEASE = timedelta(seconds=15)
BEAT_SECONDS = 4.0

# Writes the lease's new end, where it is still held.
Renew = Callable[[Connection, datetime], Awaitable[None]]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Lease:
    lease_id: UUID
    until: datetime


def begin_lease(resources: Resources) -> Lease:
    now = resources.clock.now()
    return Lease(resources.ids.new(now), now + LEASE)


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
