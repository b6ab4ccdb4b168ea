"""The switch to workflows while engines, dispatchers and assignments run: nothing is skipped or
doubled."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.assign_claims import assign_to_scenario
from dunwell.cases.assignment.decision import AssignmentOutcome
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.cases.rollout.scenarios.switch_to_workflows import SwitchReport, switch_to_workflows
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.engine.test_races import InterruptedChannel
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.waiting import wait_until_blocked

DAY = timedelta(days=1)
CLAIMS = 40
_EVENTS = "SELECT claim_id, type FROM events WHERE merchant_id = $1"
_PLACES = """
SELECT claim_id, workflow_id, workflow_major, run, next_step_id, due_at
FROM claims
WHERE merchant_id = $1
ORDER BY claim_id
"""


async def on_a_scenario(resources: Resources, clock: MovableClock, **given: Any) -> Harness:
    return await a_harness(resources, clock, a_definition(), switched_to_workflows=False, **given)


async def create_many(harness: Harness) -> list[int]:
    """Create claims of as many persons, so that the daily limit holds none back."""
    claim_ids = []
    for n in range(CLAIMS):
        claim_ids += await harness.create(f"INV-{n}", email=f"debtor-{n}@example.org")
    return claim_ids


async def work_until(done: asyncio.Event, works: Engine | MessageDispatcher) -> None:
    """Run rounds without pause, as a worker's loop does, and once more at the end."""
    while not done.is_set():
        await works.run_once()
        await asyncio.sleep(0)
    while await works.run_once() or (isinstance(works, MessageDispatcher) and not works.is_idle):
        pass


@pytest.mark.parametrize("switched_in", [0, 1])
async def test_two_engines_and_two_dispatchers_continue_during_the_switch(
    resources: Resources, clock: MovableClock, switched_in: int
) -> None:
    harness = await on_a_scenario(resources, clock)
    claim_ids = await create_many(harness)
    dispatchers = [MessageDispatcher(resources, harness.channels) for _ in range(2)]
    loops: list[Engine | MessageDispatcher] = [*dispatchers, Engine(resources), Engine(resources)]
    for round_number in range(4):
        done = asyncio.Event()
        workers = [asyncio.create_task(work_until(done, each)) for each in loops]
        await asyncio.sleep(0)
        if round_number == switched_in:
            await harness.switch()
        done.set()
        await asyncio.gather(*workers)
        clock.advance(7 * DAY)
    for each in dispatchers:
        await each.close()
    await harness.run()
    event_counts = Counter((row["claim_id"], row["type"]) for row in await harness.rows(_EVENTS))
    types = ("ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED", "ARCHIVED")
    assert event_counts == {(claim_id, each): 1 for claim_id in claim_ids for each in types}
    assert len(harness.channels[0].sent) == CLAIMS


async def test_the_switch_and_an_engine_do_not_wait_for_each_other(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    async with harness.work() as work:
        await work.tx.execute("SELECT FROM claims FOR NO KEY UPDATE")
        await asyncio.wait_for(harness.switch(), timeout=5)
    other = await on_a_scenario(resources, clock, key="hansen")
    [theirs] = await other.create()
    async with other.work() as work:
        await switch_to_workflows(work)
        await asyncio.wait_for(Engine(resources).run_once(), timeout=5)
    for one, created in ((harness, claim_id), (other, theirs)):
        await one.run()
        assert [event["type"] for event in await one.events(created)] == ["ESCALATED"]


async def test_a_contact_at_its_channel_during_the_switch_is_settled_once(
    resources: Resources, clock: MovableClock
) -> None:
    channel = InterruptedChannel()
    harness = await on_a_scenario(resources, clock, channels=[channel])
    [claim_id] = await harness.create()
    channel.meanwhile = harness.switch
    await harness.run_until(clock.now() + 7 * DAY)
    assert len(channel.sent) == 1
    assert [event["type"] for event in await harness.events(claim_id)] == [
        "ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED",
    ]  # fmt: skip


async def test_positions_and_planned_contacts_stay_unchanged(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    await harness.create("A", email="a@example.org")
    await harness.run()
    await harness.create("B", email="b@example.org")
    await Engine(resources).run_once()
    contacts = "SELECT * FROM communications WHERE merchant_id = $1 ORDER BY communication_id"
    before = await harness.rows(_PLACES), await harness.rows(contacts)
    await harness.switch()
    assert (await harness.rows(_PLACES), await harness.rows(contacts)) == before


async def test_an_assignment_that_began_before_the_switch_uses_the_copied_workflow(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    async with harness.work() as work:
        saved = await save_scenario(work, "Other", a_definition(snippets={}))
    [claim_id] = await harness.create()

    async def assign(stale: Work) -> AssignmentOutcome:
        async with resources.database.transaction() as tx:
            return await assign_to_scenario(replace(stale, tx=tx), saved.scenario_id, [claim_id])

    async with harness.work() as work:
        await switch_to_workflows(work)
        outcome = await asyncio.wait_for(assign(work), timeout=5)
    again = await assign(work)
    assert outcome == again
    assert [each.workflow_id for each in again.assigned] == [saved.workflow_id]
    await harness.run()
    assert len(harness.channels[0].sent) == 1


async def test_the_second_of_two_concurrent_switches_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    outcomes = await asyncio.gather(harness.switch(), harness.switch(), return_exceptions=True)
    assert {type(each) for each in outcomes} == {SwitchReport, InvalidState}
    audited = await harness.rows(
        "SELECT 1 FROM audit_log WHERE merchant_id = $1 AND action = 'merchant.switch_to_workflows'"
    )
    assert len(audited) == 1


async def test_an_edit_that_waited_for_the_switch_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)

    async def edit() -> None:
        async with harness.work() as work:
            await save_scenario(work, "Standard", a_definition(snippets={}))

    async with harness.work() as work:
        await switch_to_workflows(work)
        editing = asyncio.create_task(edit())
        await wait_until_blocked(resources.database, editing)
    with pytest.raises(InvalidState) as refusal:
        await editing
    assert refusal.value.details == {"state": "SWITCHED"}
