"""Lease the next set of an endpoint's due deliveries, with the endpoint as it is by now."""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.installation.webhook_networks import PUBLIC_REACH, WebhookReach
from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.retry import plan_next_probe
from dunwell.core.events.store_deliveries import Delivery, lease_deliveries
from dunwell.core.events.store_endpoints import (
    load_endpoint,
    load_reach,
    lock_endpoint,
    save_health,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.heartbeat import begin_lease
from dunwell.platform.resources import Resources

# A try ends within 15 seconds, one over a stale connection within 17. None begins later in the
# lease than this, so that even the slowest is recorded before the lease runs out.
LEASE = timedelta(seconds=30)
BEGIN_WITHIN = timedelta(seconds=12)


@dataclass(frozen=True, slots=True)
class LeasedSet:
    """`endpoint` is None when it was removed, or is switched off and not to be probed now."""

    endpoint: Endpoint | None
    deliveries: list[Delivery]
    # Nothing else was due.
    was_last: bool
    # Where they may be sent.
    reach: WebhookReach = PUBLIC_REACH


_NOTHING = LeasedSet(None, [], was_last=True)


async def lease_set(
    resources: Resources, turn: asyncio.Semaphore, endpoint: Endpoint, size: int
) -> LeasedSet:
    """Take at most `size` deliveries, and a single one as the probe of a switched-off endpoint."""
    async with turn, resources.database.transaction() as tx:
        now = resources.clock.now()
        present = await load_endpoint(tx, endpoint.merchant_id, endpoint.endpoint_id)
        if present is None:
            return _NOTHING
        if present.is_disabled:
            if not await _take_probe(tx, present, now):
                return _NOTHING
            size = 1
        lease = begin_lease(resources, LEASE)
        deliveries = await lease_deliveries(tx, present, lease, now=now, size=size)
        was_last = len(deliveries) < size or present.is_disabled
        reach = await load_reach(tx, present.merchant_id)
        return LeasedSet(present, deliveries, was_last, reach)


def find_last_begin(lease: Lease) -> datetime:
    """The instant before which a try under the lease must begin."""
    return lease.until - LEASE + BEGIN_WITHIN


async def _take_probe(tx: Connection, endpoint: Endpoint, now: datetime) -> bool:
    """Make the probe that is due one's own; False when another dispatcher just did."""
    present = await lock_endpoint(tx, endpoint.merchant_id, endpoint.endpoint_id)
    if present is None or present.health.probe_at is None or present.health.probe_at > now:
        return False
    health = plan_next_probe(present.health, now)
    await save_health(tx, endpoint.merchant_id, endpoint.endpoint_id, health)
    return True
