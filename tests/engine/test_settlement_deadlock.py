"""The answer of a channel is not discarded when recording it fails at first."""

import asyncio

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.cases.assignment.assign_claims import assign_to_scenario
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.engine.test_races import InterruptedChannel
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness

_STATES = "SELECT state FROM communications WHERE merchant_id = $1"
_WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND $1 > 0"
EDITED = a_definition(steps=DOCUMENT["steps"][:4])


async def a_harness_on_two_scenarios(
    resources: Resources, clock: MovableClock, channel: InterruptedChannel
) -> Harness:
    """Return a harness with a claim and a planned contact on each of two scenarios."""
    harness = await a_harness(
        resources, clock, a_definition(), switched_to_workflows=False, channels=[channel]
    )
    claims = await harness.create("A", "B")
    async with harness.work() as work:
        saved = await save_scenario(work, "Second", a_definition())
        await assign_to_scenario(work, saved.scenario_id, claims[1:])
    await Engine(resources).run_once()
    return harness


async def test_a_deadlock_with_an_edit_of_two_scenarios_leaves_no_contact_in_doubt(
    resources: Resources, clock: MovableClock
) -> None:
    """A file edits the scenarios in its own order; answers are settled in the order of ids."""
    channel = InterruptedChannel(is_repeatable=False)
    harness = await a_harness_on_two_scenarios(resources, clock, channel)
    begun = asyncio.Event()
    editing: list[asyncio.Task[None]] = []

    async def edit_both() -> None:
        async with harness.work(COMMAND_LINE) as work:
            # Make the dispatcher the victim of the deadlock.
            await work.tx.execute("SET LOCAL deadlock_timeout = '30s'")
            await save_scenario(work, "Second", EDITED)
            begun.set()
            while (await harness.rows(_WAITING))[0][0] == 0:  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0)
            await save_scenario(work, "Standard", EDITED)

    async def begin_editing() -> None:
        editing.append(asyncio.create_task(edit_both()))
        await begun.wait()

    channel.meanwhile = begin_editing
    dispatcher = MessageDispatcher(resources, [channel])
    settled = await dispatcher.run_merchant(harness.merchant.merchant_id)
    await asyncio.gather(*editing)
    await dispatcher.close()
    assert settled == 2
    assert [row["state"] for row in await harness.rows(_STATES)] == ["ACCEPTED"] * 2
