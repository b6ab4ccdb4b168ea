"""Moves a sandbox merchant's clock and runs what falls due on the way (CONTRACT 12).

The clock stops at every instant at which something is due, and stands there until it is done and
its messages are sent, so that things happen in the order real time would give. Workers may take
part: what they have in hand is waited for.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dunwell.claims.expire_holds import expire_holds
from dunwell.errors import Fault, InvalidState, Unavailable, ValidationError
from dunwell.escalation.dispatch import MessageDispatcher
from dunwell.escalation.engine import Engine
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Merchant, Work
from dunwell.merchants.actor import Actor
from dunwell.merchants.audit import save_audit
from dunwell.messages.channel import ChannelAdapter
from dunwell.sandbox.store import count_since, find_next_instant, is_under_way, move_clock

_PATIENCE_SECONDS = 50
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Advance:
    now: datetime
    steps_run: int
    events_raised: int


def check_sandbox(merchant: Merchant) -> datetime:
    """The clock of a sandbox merchant. Raises InvalidState for any other."""
    if merchant.sandbox_now is None:
        raise InvalidState("Only a sandbox merchant has a clock to read or move.", state="LIVE")
    return merchant.sandbox_now


async def advance_clock(
    resources: Resources,
    adapters: Collection[ChannelAdapter],
    merchant: Merchant,
    actor: Actor,
    advance_to: datetime,
) -> Advance:
    """Raises InvalidState (no sandbox), ValidationError (backwards) and Unavailable (what is due
    did not finish in time; the clock then stands where it got to, and may be moved again)."""
    started_at = check_sandbox(merchant)
    if advance_to < started_at:
        message = f"The clock stands at {started_at.isoformat()} and only moves forwards."
        raise ValidationError([Fault("/advanceTo", message, "BACKWARDS")])
    async with resources.database.transaction() as tx:
        work = Work(tx, merchant, actor, started_at, resources.ids)
        await save_audit(
            work, "clock.advance", f"merchant:{merchant.merchant_id}", to=advance_to.isoformat()
        )
        before = await count_since(tx, merchant.merchant_id, started_at)
    runner = _Runner(resources, adapters, merchant.merchant_id)
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            await runner.run_until(started_at, advance_to)
    except TimeoutError as error:
        raise Unavailable(
            "Not all that fell due could be run in time. Read the clock, and move it again."
        ) from error
    finally:
        await runner.close()
    async with resources.database.connection() as connection:
        after = await count_since(connection, merchant.merchant_id, started_at)
    return Advance(advance_to, after.steps - before.steps, after.events - before.events)


class _Runner:
    """Runs one merchant's due work, instant by instant."""

    def __init__(
        self, resources: Resources, adapters: Collection[ChannelAdapter], merchant_id: int
    ) -> None:
        self._resources = resources
        self._merchant_id = merchant_id
        self._engine = Engine(resources)
        self._dispatcher = MessageDispatcher(resources, adapters)

    async def close(self) -> None:
        await self._dispatcher.close()

    async def run_until(self, now: datetime, end: datetime) -> None:
        while True:
            await self._run_due(now)
            following = await self._find_next()
            if following is None or following > end:
                break
            now = following
            await self._move(now)
        await self._move(end)

    async def _run_due(self, now: datetime) -> None:
        """Everything due at the instant the clock stands at, messages included."""
        while True:
            done = await expire_holds(self._resources, self._merchant_id)
            done += await self._engine.run_set(self._merchant_id)
            done += await self._dispatcher.run_set(self._merchant_id)
            if done:
                continue
            following = await self._find_next()
            if (following is None or following > now) and not await self._is_under_way():
                return
            await asyncio.sleep(_POLL_SECONDS)

    async def _find_next(self) -> datetime | None:
        async with self._resources.database.connection() as connection:
            return await find_next_instant(connection, self._merchant_id)

    async def _is_under_way(self) -> bool:
        async with self._resources.database.connection() as connection:
            return await is_under_way(connection, self._merchant_id)

    async def _move(self, instant: datetime) -> None:
        async with self._resources.database.transaction() as tx:
            await move_clock(tx, self._merchant_id, instant)
