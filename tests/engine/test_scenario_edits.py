"""A scenario is edited while claims run on it: each remaining step runs once."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.cases.assignment.rulebook import load_rulebook
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.cases.rollout.scenarios.save_scenario import SavedScenario, save_scenario
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.escalation.reports.delivery_reports import report_failure
from dunwell.contact.sending.channel import Outcome, Permanent, Temporary
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.engine.test_races import InterruptedChannel
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.waiting import wait_until_blocked

DAY = timedelta(days=1)
REMINDER, WEEK, FEE, CHECKPOINT, LAST_WAIT = DOCUMENT["steps"]
CALL = {**CHECKPOINT, "id": 9, "name": "Call", "message": "call them"}
_HISTORY = """
SELECT step_id, outcome, reason
FROM step_history
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY at, step_id
"""
_POSITION = """
SELECT next_step_id, due_at, status
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
"""
_STATES = "SELECT step_id, state FROM communications WHERE merchant_id = $1 ORDER BY planned_at"


async def on_a_scenario(resources: Resources, clock: MovableClock, **given: Any) -> Harness:
    return await a_harness(resources, clock, a_definition(), switched_to_workflows=False, **given)


async def edit(harness: Harness, *steps: dict[str, Any]) -> SavedScenario:
    async with harness.work(COMMAND_LINE) as work:
        return await save_scenario(work, "Standard", a_definition(steps=list(steps)))


async def history(harness: Harness, claim_id: int) -> list[tuple[int, str, str | None]]:
    return [tuple(row) for row in await harness.rows(_HISTORY, claim_id)]


async def load_position(harness: Harness, claim_id: int) -> tuple[Any, ...]:
    [row] = await harness.rows(_POSITION, claim_id)
    return tuple(row)


async def list_event_types(harness: Harness, claim_id: int) -> list[str]:
    return [event["type"] for event in await harness.events(claim_id)]


async def test_a_changed_fee_applies_when_its_step_runs(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await harness.run()
    saved = await edit(harness, REMINDER, WEEK, {**FEE, "value": "777"}, CHECKPOINT, LAST_WAIT)
    assert (saved.is_changed, saved.effects) == (True, [])
    await harness.run_until(clock.now() + 7 * DAY)
    events = await harness.events(claim_id)
    assert [event["type"] for event in events] == ["ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED"]
    assert events[1]["claim"]["fee"]["value"] == "777"


async def test_a_claim_at_a_removed_step_continues_with_the_next_step_at_the_same_time(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await harness.run()
    due_at = clock.now() + 7 * DAY
    assert await load_position(harness, claim_id) == (3, due_at, "IN_PROCESS")
    saved = await edit(harness, REMINDER, WEEK, CHECKPOINT, LAST_WAIT)
    assert saved.effects == ['1 claim at step 3 "Dunning fee" continues at step 4 "Ask the ERP"']
    assert await load_position(harness, claim_id) == (4, due_at, "IN_PROCESS")
    await harness.run_until(due_at)
    assert await list_event_types(harness, claim_id) == ["ESCALATED", "CHECKPOINT_REACHED"]
    assert (3, "SKIPPED", "TAKEN_OUT") in await history(harness, claim_id)


async def test_a_claim_that_had_run_all_steps_continues_with_appended_steps(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await harness.run_until(clock.now() + 8 * DAY)
    assert (await load_position(harness, claim_id))[0] is None
    await edit(harness, *DOCUMENT["steps"], CALL)
    await harness.run_until(clock.now() + 20 * DAY)
    assert await list_event_types(harness, claim_id) == [
        "ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED", "CHECKPOINT_REACHED", "ARCHIVED",
    ]  # fmt: skip


async def test_a_claim_that_has_not_started_begins_with_the_new_first_step(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await edit(harness, CALL, WEEK, FEE, CHECKPOINT, LAST_WAIT)
    assert await load_position(harness, claim_id) == (9, clock.now(), "CREATED")
    await harness.run()
    assert await list_event_types(harness, claim_id) == ["CHECKPOINT_REACHED"]


async def test_a_claim_created_during_the_edit_begins_with_the_new_first_step(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    async with harness.work() as work:
        merchant = work.merchant
        rulebook = await load_rulebook(work.tx, merchant)
    await edit(harness, CALL, WEEK, FEE, CHECKPOINT, LAST_WAIT)
    [version] = rulebook.versions.values()
    [claim_id] = await harness.create()
    # Stored as by a request that read the rules before.
    await harness.rows(
        "UPDATE claims SET next_step_id = $3 WHERE merchant_id = $1 AND claim_id = $2",
        claim_id, version.definition.steps[0].id,
    )  # fmt: skip
    await harness.run()
    assert await list_event_types(harness, claim_id) == ["CHECKPOINT_REACHED"]


async def test_the_planned_contact_of_a_removed_step_is_cancelled(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await Engine(resources).run_once()
    assert await load_position(harness, claim_id) == (1, None, "IN_PROCESS")
    await edit(harness, WEEK, FEE, CHECKPOINT, LAST_WAIT)
    assert await load_position(harness, claim_id) == (2, clock.now(), "IN_PROCESS")
    await harness.run()
    assert harness.channels[0].sent == []
    assert [tuple(row) for row in await harness.rows(_STATES)] == [(1, "CANCELLED")]
    assert [step for step, *_ in await history(harness, claim_id)] == [1, 2]


@pytest.mark.parametrize(
    ("answers", "events"),
    [
        ([], ["ESCALATED"]),
        ([Permanent("no such address")], []),
        ([Temporary(60)], []),
    ],
    ids=["accepted", "refused", "later"],
)
async def test_the_outcome_of_a_contact_is_recorded_although_its_step_was_removed(
    resources: Resources, clock: MovableClock, answers: list[Outcome | Exception], events: list[str]
) -> None:
    channel = InterruptedChannel(answers)
    harness = await on_a_scenario(resources, clock, channels=[channel])
    [claim_id] = await harness.create()
    channel.meanwhile = lambda: edit(harness, WEEK, FEE, CHECKPOINT, LAST_WAIT)
    await harness.run_until(clock.now() + timedelta(hours=2))
    assert len(channel.sent) == 1
    assert await list_event_types(harness, claim_id) == events
    assert (await load_position(harness, claim_id))[0] == 3
    outcomes = {step: outcome for step, outcome, _ in await history(harness, claim_id)}
    assert outcomes == {1: "DONE" if events else "FAILED", 2: "DONE"}


async def test_a_late_failure_of_a_removed_step_does_not_move_the_claim(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await harness.run()
    await edit(harness, WEEK, FEE, CHECKPOINT, LAST_WAIT)
    before = await load_position(harness, claim_id)
    [contact] = await harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id=$1"
    )
    async with harness.work() as work:
        await report_failure(work, resources.keys, contact["communication_id"], "bounced")
    assert await load_position(harness, claim_id) == before
    assert [tuple(row) for row in await harness.rows(_STATES)] == [(1, "FAILED")]


async def test_an_edit_that_would_repeat_a_step_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await harness.run()
    before = await load_position(harness, claim_id)
    with pytest.raises(ValidationError) as refusal:
        await edit(harness, WEEK, FEE, REMINDER, CHECKPOINT, LAST_WAIT)
    codes = [(fault.path, fault.code) for fault in refusal.value.faults]
    assert codes == [("/steps/2", "WOULD_REPEAT")]
    assert await load_position(harness, claim_id) == before
    await harness.run_until(clock.now() + 7 * DAY)
    assert await list_event_types(harness, claim_id) == [
        "ESCALATED",
        "FEE_ADDED",
        "CHECKPOINT_REACHED",
    ]


async def test_a_collected_claim_continues_with_the_edited_steps_after_a_reversal(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    await harness.run()
    paid = await harness.pay(claim_id, 10240)
    await edit(harness, REMINDER, WEEK, CHECKPOINT, LAST_WAIT)
    assert await load_position(harness, claim_id) == (4, None, "COLLECTED")
    async with harness.work() as work:
        await reverse_payment(work, claim_id, paid.payment.payment_id)
    await harness.run_until(clock.now() + 8 * DAY)
    assert await list_event_types(harness, claim_id) == ["ESCALATED", "CHECKPOINT_REACHED"]


async def test_an_edit_waits_for_an_engine_that_moves_a_claim_to_the_removed_step(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await on_a_scenario(resources, clock)
    [claim_id] = await harness.create()
    async with harness.work() as work:
        # The lock that an engine holds while it decides by the old definition.
        await work.tx.execute("SELECT FROM claims FOR NO KEY UPDATE")
        editing = asyncio.create_task(edit(harness, REMINDER, WEEK, CHECKPOINT, LAST_WAIT))
        await wait_until_blocked(resources.database, editing)
        await work.tx.execute(
            "UPDATE claims SET next_step_id = 3, due_at = $1, status = 'IN_PROCESS'", clock.now()
        )
    await editing
    assert (await load_position(harness, claim_id))[0] == 4


async def test_after_the_outcome_of_a_contact_its_claim_continues_with_the_edited_steps(
    resources: Resources, clock: MovableClock
) -> None:
    """The dispatcher has loaded the next step of the claim; an edit then removes it."""
    channel = InterruptedChannel()
    harness = await on_a_scenario(resources, clock, channels=[channel])
    [claim_id] = await harness.create()
    await Engine(resources).run_once()
    begun, may_continue = asyncio.Event(), asyncio.Event()

    async def edit_slowly() -> None:
        async with harness.work(COMMAND_LINE) as work:
            steps = [REMINDER, FEE, CHECKPOINT, LAST_WAIT]
            await save_scenario(work, "Standard", a_definition(steps=steps))
            begun.set()
            await may_continue.wait()

    async def begin_editing() -> None:
        editing.append(asyncio.create_task(edit_slowly()))
        await begun.wait()

    editing: list[asyncio.Task[None]] = []
    channel.meanwhile = begin_editing
    dispatcher = MessageDispatcher(resources, [channel])
    sending = asyncio.create_task(dispatcher.run_once())
    await begun.wait()
    await wait_until_blocked(resources.database, sending)
    may_continue.set()
    await asyncio.gather(sending, *editing)
    await dispatcher.close()
    assert (await load_position(harness, claim_id))[0] == 3
    await harness.run_until(clock.now() + DAY)
    assert await list_event_types(harness, claim_id) == [
        "ESCALATED",
        "FEE_ADDED",
        "CHECKPOINT_REACHED",
    ]
