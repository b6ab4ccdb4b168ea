"""Advance a sandbox merchant's clock, run everything that becomes due on the way (CONTRACT 12), and
report the time of the clock and when something is due next.

The clock stops at every instant at which something is due until it is done and its messages are
sent, so that things happen in the same order as in real time. Workers may take part; the clock
waits for messages that they are sending.
"""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.plan_collections import plan_collections
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.core.claims.claim_holds import expire_holds
from dunwell.operations.sandbox.store import (
    DueTimes,
    begin_count,
    count_since,
    load_due_times,
    move_clock,
)
from dunwell.platform.errors import Fault, InvalidState, Unavailable, ValidationError
from dunwell.platform.resources import Resources

_TIMEOUT_SECONDS = 50
_POLL_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class AdvanceResult:
    now: datetime
    steps_run: int
    events_raised: int


def check_sandbox(merchant: Merchant) -> datetime:
    """Return the time of the test clock. Raises InvalidState if the merchant is not a sandbox."""
    if merchant.sandbox_now is None:
        raise InvalidState("Only a sandbox merchant has a test clock.", state="LIVE")
    return merchant.sandbox_now


async def advance_clock(
    resources: Resources,
    adapters: Collection[ChannelAdapter],
    merchant: Merchant,
    actor: Actor,
    advance_to: datetime,
) -> AdvanceResult:
    """Advance the clock and run everything that becomes due. Raises InvalidState (not a sandbox),
    ValidationError (backwards) and Unavailable (the due work did not finish in time; the clock
    keeps the time that it has reached and can be advanced again)."""
    check_right(actor, Right.OPERATE)
    started_at = check_sandbox(merchant)
    if advance_to < started_at:
        message = f"The clock is at {started_at.isoformat()} and only moves forwards."
        raise ValidationError([Fault("/advanceTo", message, "BACKWARDS")])
    async with resources.database.transaction() as tx:
        work = Work.open(resources, tx, merchant, actor)
        await save_audit(
            work, "clock.advance", f"merchant:{merchant.merchant_id}",
            before={"now": started_at.isoformat()}, after={"now": advance_to.isoformat()},
            to=advance_to.isoformat(),
        )  # fmt: skip
        beginning = await begin_count(tx, merchant.merchant_id, started_at)
    runner = _Runner(resources, adapters, merchant.merchant_id)
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            await runner.run_until(started_at, advance_to)
    except TimeoutError as error:
        raise Unavailable(
            "Not everything that fell due could be run in time. Read the clock, and advance it "
            "again."
        ) from error
    finally:
        await runner.close()
    async with resources.database.connection() as connection:
        done = await count_since(connection, merchant.merchant_id, beginning)
    return AdvanceResult(advance_to, done.steps, done.events)


class _Runner:
    """Runs the due work of one merchant, instant by instant."""

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
            following = await self._run_due(now)
            if following is None or following > end:
                break
            now = following
            await self._move_clock(now)
        await self._move_clock(end)

    async def _run_due(self, now: datetime) -> datetime | None:
        """Run everything that is due now, including messages. Return when something is due next."""
        before = None
        while True:
            due_times = await self._load_due_times()
            if not due_times.is_due(now):
                return due_times.next_at
            done = await self._run_first(due_times, now)
            # A worker is processing what is due.
            if not done and due_times == before:
                await asyncio.sleep(_POLL_SECONDS)
            before = due_times

    async def _run_first(self, due_times: DueTimes, now: datetime) -> int:
        """Run one batch of the first kind that is due, in this order: payment modalities, debits,
        ends of holds, steps of claims, messages."""
        if due_times.modality_at is not None and due_times.modality_at <= now:
            return await sweep_modalities(self._resources, self._merchant_id)
        if due_times.mandate_at is not None and due_times.mandate_at <= now:
            return await plan_collections(self._resources, self._merchant_id)
        if due_times.hold_ends_at is not None and due_times.hold_ends_at <= now:
            return await expire_holds(self._resources, self._merchant_id)
        if due_times.claim_at is not None and due_times.claim_at <= now:
            return await self._engine.run_set(self._merchant_id)
        return await self._dispatcher.run_merchant(self._merchant_id)

    async def _load_due_times(self) -> DueTimes:
        async with self._resources.database.connection() as connection:
            return await load_due_times(connection, self._merchant_id)

    async def _move_clock(self, instant: datetime) -> None:
        async with self._resources.database.connection() as connection:
            await move_clock(connection, self._merchant_id, instant)


@dataclass(frozen=True, slots=True)
class TestClockState:
    """The time of the test clock, and when something is due next. `next_at` is None if nothing is
    scheduled."""

    now: datetime
    next_at: datetime | None


async def get_test_clock(work: Work) -> TestClockState:
    """Return the state of the test clock. Raises InvalidState if the merchant is not a sandbox."""
    work.require(Right.OPERATE)
    now = check_sandbox(work.merchant)
    return TestClockState(now, (await load_due_times(work.tx, work.merchant_id)).next_at)
