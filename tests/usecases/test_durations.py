"""Both sides of the durations that need a database; see `tests/domain/test_durations.py`."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

import pytest

from dunwell.core.events.webhooks.dispatcher import compute_last_start, lease_batch
from dunwell.core.events.webhooks.store import LeasedDelivery, load_endpoint
from dunwell.interfaces.landing.sign_in.visitor_limits import (
    load_wrong_codes,
    record_wrong_code_of_visitor,
)
from dunwell.platform.heartbeat import start_lease
from dunwell.platform.resources import Resources
from tests.support.durations import JUST
from tests.support.webhooks import an_outbox

Look = Callable[[Resources, timedelta], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class StoredBoundary:
    """A condition that holds until `lasts` is over, and another from then on."""

    lasts: timedelta
    look: Look
    before: object = True
    after: object = False


async def _counts_as_wrong(resources: Resources, age: timedelta) -> bool:
    now, visitor = resources.clock.now(), str(age).encode()
    async with resources.database.transaction() as tx:
        await record_wrong_code_of_visitor(tx, visitor, None, now)
        return await load_wrong_codes(tx, visitor, now + age) is not None


async def _lease_delivery(resources: Resources) -> LeasedDelivery:
    outbox = await an_outbox(resources)
    added = await outbox.add_endpoint("https://erp.example/hooks")
    await outbox.raise_events()
    async with resources.database.connection() as connection:
        endpoint = await load_endpoint(connection, outbox.merchant.merchant_id, added.endpoint_id)
    assert endpoint is not None
    leased = await lease_batch(resources, asyncio.Semaphore(1), endpoint, 10)
    [delivery] = leased.deliveries
    return delivery


async def _find_end_of_delivery(resources: Resources) -> timedelta:
    return (await _lease_delivery(resources)).lease.until - resources.clock.now()


async def _find_last_begin(resources: Resources) -> timedelta:
    return compute_last_start((await _lease_delivery(resources)).lease) - resources.clock.now()


async def _find_end_of_lease(resources: Resources) -> timedelta:
    return start_lease(resources).until - resources.clock.now()


EDGES: Mapping[str, StoredBoundary] = {
    "interfaces/landing/sign_in/visitor_limits.py WINDOW": StoredBoundary(
        timedelta(minutes=16), _counts_as_wrong
    ),
}
LENGTHS: Mapping[str, tuple[Callable[[Resources], Awaitable[object]], object]] = {
    "core/events/webhooks/dispatcher.py START_WITHIN": (_find_last_begin, timedelta(seconds=12)),
    "core/events/webhooks/dispatcher.py LEASE": (_find_end_of_delivery, timedelta(seconds=30)),
    "platform/heartbeat.py LEASE": (_find_end_of_lease, timedelta(seconds=15)),
}


@pytest.mark.parametrize("name", EDGES)
async def test_each_change_happens_at_its_time_and_not_before(
    resources: Resources, name: str
) -> None:
    edge = EDGES[name]
    seen = [await edge.look(resources, age) for age in (edge.lasts - JUST, edge.lasts)]
    assert seen == [edge.before, edge.after]


@pytest.mark.parametrize("name", LENGTHS)
async def test_each_documented_duration_matches_the_code(resources: Resources, name: str) -> None:
    find, expected = LENGTHS[name]
    assert await find(resources) == expected
