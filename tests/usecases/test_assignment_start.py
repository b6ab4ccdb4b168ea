"""Start assignment: an unassigned claim gets the default, and an assigned claim keeps its
workflow.
"""

from datetime import timedelta

import pytest

from dunwell.cases.assignment.assign_claims import start_assignment
from dunwell.cases.assignment.decision import AssignedWorkflow
from dunwell.cases.assignment.rulebook import load_rulebook
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness


async def start(harness: Harness, claim_id: int) -> AssignedWorkflow:
    async with harness.work() as work:
        return await start_assignment(work, claim_id)


async def runs(harness: Harness) -> list[int]:
    rows = await harness.rows("SELECT run FROM claims WHERE merchant_id = $1 ORDER BY claim_id")
    return [row["run"] for row in rows]


async def test_an_unassigned_claim_gets_the_default(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    version = await harness.publish(a_definition())
    assert await start(harness, claim_id) == AssignedWorkflow(claim_id, version.workflow_id)
    assert await runs(harness) == [1]


async def test_a_claim_in_process_keeps_its_assignment(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    [row] = await harness.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1")
    await harness.publish(a_definition(), "Another default")
    assert await start(harness, claim_id) == AssignedWorkflow(claim_id, row["workflow_id"])
    assert await runs(harness) == [1]


async def test_a_claim_no_rule_matches_stays_unassigned(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    assert await start(harness, claim_id) == AssignedWorkflow(claim_id, None)
    [swiss] = await harness.create("B", currency="CHF")
    await harness.publish(a_definition())
    assert await start(harness, swiss) == AssignedWorkflow(swiss, None)
    assert await runs(harness) == [0, 0]


async def test_a_deactivated_default_assigns_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    await harness.publish(a_definition())
    await harness.rows("UPDATE workflows SET assignment_enabled = false WHERE merchant_id = $1")
    assert await start(harness, claim_id) == AssignedWorkflow(claim_id, None)


async def test_an_ended_or_unknown_claim_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await harness.run_until(clock.now() + timedelta(days=30))
    with pytest.raises(InvalidState) as refusal:
        await start(harness, claim_id)
    assert refusal.value.details == {"state": "ARCHIVED"}
    with pytest.raises(NotFound):
        await start(harness, claim_id + 1)
    assert await runs(harness) == [1]


async def test_the_cached_rulebook_is_reloaded_after_a_change(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    found = []
    for change in ("none", "publish", "unset"):
        if change == "publish":
            snippets = {"signature": {"de": "Neu", "en": "New"}}
            await harness.publish(a_definition(snippets=snippets))
        if change == "unset":
            async with harness.work() as work:
                await publish_rules(work, RuleSet())
        async with harness.work() as work:
            rulebook = await load_rulebook(work.tx, work.merchant)
        found.append([version.name for version in rulebook.versions.values()])
    assert found == [["v1.0"], ["v1.1"], []]
