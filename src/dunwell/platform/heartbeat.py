"""Start a lease, and renew it by a heartbeat while its holder works. All instants are real time."""

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

# How long the rows of a killed worker stay leased. Three heartbeats may be missed.
LEASE = timedelta(seconds=15)
HEARTBEAT_SECONDS = 4.0
# Do not rely on a lease that was renewed longer ago than this. The remaining time covers what
# happens between the check and the call that follows it.
_TRUSTED_SECONDS = 10.0

# Writes the new end of the lease into the rows that still have it.
Renew = Callable[[Connection, datetime], Awaitable[None]]

log = structlog.get_logger(__name__)


def start_lease(resources: Resources, duration: timedelta = LEASE) -> Lease:
    """Return a lease that starts now. The caller writes it into rows."""
    now = resources.clock.now()
    return Lease(resources.ids.new(now), now + duration)


class LeaseRenewals:
    """When the lease of each message was last renewed. A renewal skips rows that another
    transaction has locked, so some rows may have missed it. After a process was suspended, none of
    its leases counts as held until it is renewed."""

    def __init__(self, lease: Lease) -> None:
        self._started_at = lease.started_at
        self._renewed_at: dict[UUID, float] = {}

    def is_surely_held(self, message_id: UUID) -> bool:
        """Return whether the message's lease was renewed recently enough to rely on it."""
        renewed_at = self._renewed_at.get(message_id, self._started_at)
        return time.monotonic() - renewed_at < _TRUSTED_SECONDS

    def record_renewal(self, message_ids: Collection[UUID], at: float) -> None:
        """Record the messages whose rows still had the lease and got its new end. `at` is the
        monotonic time before the new end was computed."""
        self._renewed_at.update(dict.fromkeys(message_ids, at))


@asynccontextmanager
async def keep_lease(
    resources: Resources, renew: Renew, *, heartbeat_seconds: float = HEARTBEAT_SECONDS
) -> AsyncIterator[None]:
    """Call `renew` with the lease's new end at regular intervals until the block ends."""
    heartbeat = asyncio.create_task(_renew_repeatedly(resources, renew, heartbeat_seconds))
    try:
        yield
    finally:
        heartbeat.cancel()
        await asyncio.wait([heartbeat])


async def _renew_repeatedly(resources: Resources, renew: Renew, heartbeat_seconds: float) -> None:
    while True:
        await asyncio.sleep(heartbeat_seconds)
        try:
            async with resources.database.connection() as connection:
                await renew(connection, resources.clock.now() + LEASE)
        except Unavailable:  # The next heartbeat comes before the lease ends.
            log.warning("lease not renewed", once_a_minute=True)
        except Exception:  # The heartbeat must not stop before the work that it protects.
            log.exception("lease not renewed")
