"""After a restore nothing is sent until a person says how much was lost, and then nothing twice."""

import asyncio
from datetime import datetime, timedelta

import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.audit_log import list_installation_audit
from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.claim_holds import resume_claim
from dunwell.operations.recovery.restore_hold import REASON, resume_installation, wait_until_resumed
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

DAY = timedelta(days=1)
_RESTORED = "INSERT INTO restores (taken_at) VALUES ($1)"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def note_restore(resources: Resources, taken_at: datetime) -> None:
    async with resources.database.connection() as connection:
        await connection.execute(_RESTORED, taken_at)


async def test_claims_whose_contacts_may_have_been_sent_are_paused_after_a_restore(
    resources: Resources, clock: MovableClock, harness: Harness
) -> None:
    [due, later] = await harness.create("A-1", "A-2")
    async with resources.database.connection() as connection:
        await connection.execute(
            "UPDATE claims SET due_at = $1 WHERE claim_id = $2", clock.now() + 9 * DAY, later
        )
    await note_restore(resources, clock.now())
    clock.advance(DAY)

    assert await resume_installation(resources, clock.now()) == 1

    await harness.run()
    assert harness.channels[0].sent == []
    assert [each.reason for each in (await harness.read(due)).holds] == [REASON]
    assert (await harness.read(later)).holds == []
    async with harness.work() as work:
        await resume_claim(work, due)
    await harness.run()
    assert [message.claim_id for message in harness.channels[0].sent] == [due]


async def test_planned_contacts_wait_after_a_restore(
    resources: Resources, clock: MovableClock, harness: Harness
) -> None:
    [claim_id] = await harness.create()
    await Engine(resources).run_once()
    await note_restore(resources, clock.now())
    assert await resume_installation(resources, clock.now()) == 1
    await harness.run()
    assert harness.channels[0].sent == []
    assert [each.reason for each in (await harness.read(claim_id)).holds] == [REASON]


async def test_resuming_after_a_restore_is_audited(
    resources: Resources, clock: MovableClock, harness: Harness
) -> None:
    await harness.create()
    await note_restore(resources, clock.now())
    await resume_installation(resources, clock.now())
    async with resources.database.connection() as tx:
        [entry] = (await list_installation_audit(tx, COMMAND_LINE, limit=10)).items
    assert (entry.action, entry.actor_kind) == ("restore.resume", "OPERATOR")
    assert entry.after == {"lostUntil": clock.now().isoformat(), "paused": 1}


async def test_a_worker_waits_until_it_is_resumed(
    resources: Resources, clock: MovableClock
) -> None:
    await note_restore(resources, clock.now())
    waiting = asyncio.create_task(wait_until_resumed(resources, asyncio.Event()))
    done, _ = await asyncio.wait([waiting], timeout=0.3)
    assert not done
    assert await resume_installation(resources, clock.now()) == 0
    await asyncio.wait_for(waiting, 5)


async def test_a_waiting_worker_can_be_stopped(resources: Resources, clock: MovableClock) -> None:
    await note_restore(resources, clock.now())
    stop = asyncio.Event()
    waiting = asyncio.create_task(wait_until_resumed(resources, stop))
    stop.set()
    await asyncio.wait_for(waiting, 5)


async def test_resuming_needs_a_pending_restore_and_a_possible_time(
    resources: Resources, clock: MovableClock
) -> None:
    with pytest.raises(InvalidState):
        await resume_installation(resources, clock.now())
    await note_restore(resources, clock.now())
    for impossible in (clock.now() - DAY, clock.now() + DAY):
        with pytest.raises(InvalidState):
            await resume_installation(resources, impossible)
