"""Asks providers about requests whose notice has not come: run by a timer, in sets.

The next look is written before this one is made, so a crash costs one look, two sweeps never look
at the same request at once, and a provider that is away is asked again after the usual gap.
"""

import asyncio
from uuid import UUID

import structlog

from dunwell.cases.payments.provider import Providers
from dunwell.cases.payments.requests.request_states import decide_next_check
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.store import (
    find_merchants_to_check,
    lock_due_requests,
    postpone_checks,
)
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources

# The first gap is a minute.
SWEEP_SECONDS = 5.0
_SET_SIZE = 100
_MERCHANTS_PER_TURN = 50
_CALLS_AT_ONCE = 10

log = structlog.get_logger(__name__)


async def sweep_requests(resources: Resources, providers: Providers) -> int:
    """One set of each merchant that has requests to look at; how many were looked at."""
    now = resources.clock.now()
    async with resources.database.connection() as connection:
        merchant_ids = await find_merchants_to_check(connection, now, _MERCHANTS_PER_TURN)
    looked_at = 0
    for merchant_id in merchant_ids:
        request_ids = await _take_set(resources, merchant_id)
        slots = asyncio.Semaphore(_CALLS_AT_ONCE)
        await asyncio.gather(
            *(_look(resources, providers, (merchant_id, each), slots) for each in request_ids)
        )
        looked_at += len(request_ids)
    return looked_at


async def _take_set(resources: Resources, merchant_id: int) -> list[UUID]:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        due = await lock_due_requests(tx, merchant_id, now, _SET_SIZE)
        following = {
            each.request_id: decide_next_check(each.created_at, each.checks + 1, now)
            for each in due
        }
        await postpone_checks(tx, merchant_id, following)
    return list(following)


async def _look(
    resources: Resources, providers: Providers, key: tuple[int, UUID], slots: asyncio.Semaphore
) -> None:
    """One request's trouble is no other's."""
    merchant_id, request_id = key
    try:
        async with slots:
            await settle_payment(resources, providers, merchant_id, request_id)
    except Refusal as refusal:
        log.warning("payment not looked at", payment_request_id=str(request_id), error=refusal.type)
    except Exception:
        log.exception("payment not settled", payment_request_id=str(request_id))
