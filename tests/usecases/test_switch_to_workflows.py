"""The switch to workflows: its effect on scenarios, rules and the merchant."""

from datetime import timedelta

import asyncpg
import pytest

from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.assignment.rules import Rule, RuleSet, Share
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.assignment.store import load_rules
from dunwell.cases.rollout.delete_workflow import delete_workflow
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.cases.rollout.scenarios.switch_to_workflows import (
    SwitchedScenario,
    switch_to_workflows,
)
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.scenarios.store import load_scenarios
from dunwell.core.workflows.store import load_current
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

OTHER = a_definition(snippets={"signature": {"de": "Gruß", "en": "Regards"}})


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    """A merchant with the scenarios Standard, which is the default, and Other."""
    harness = await a_harness(resources, clock, a_definition(), switched_to_workflows=False)
    async with harness.work() as work:
        await save_scenario(work, "Other", OTHER)
    return harness


async def test_each_scenario_becomes_a_workflow_with_the_same_name(harness: Harness) -> None:
    await harness.create()
    async with harness.work() as work:
        standard, other = await load_scenarios(work.tx, work.merchant_id)
    report = await harness.switch()
    assert (report.merchant_id, report.key) == (harness.merchant.merchant_id, "nordwind")
    assert report.scenarios == [
        SwitchedScenario(
            scenario.scenario_id, name, scenario.workflow_id, "v1.0", scenario.reserved_version_id,
            is_default, claims,
        )
        for scenario, name, is_default, claims in (
            (standard, "Standard", True, 1), (other, "Other", False, 0),
        )
    ]  # fmt: skip
    async with harness.work() as work:
        current = await load_current(work.tx, work.merchant_id, other.workflow_id)
    assert current is not None
    assert (current.version_id, current.name, current.definition) == (
        other.reserved_version_id, "v1.0", OTHER,
    )  # fmt: skip


async def test_the_merchant_is_switched_as_a_new_revision_with_an_audit_row(
    harness: Harness,
) -> None:
    async with harness.work() as work:
        before = work.merchant
    await harness.switch()
    async with harness.work() as work:
        assert work.merchant.switched_to_workflows
        assert work.merchant.revision == before.revision + 1
    [audited] = await harness.rows(
        "SELECT subject, details FROM audit_log"
        " WHERE merchant_id = $1 AND action = 'merchant.switch_to_workflows'"
    )
    assert tuple(audited) == (f"merchant:{harness.merchant.merchant_id}", {"scenarios": 2})


async def test_rules_point_to_the_copies(harness: Harness) -> None:
    async with harness.work() as work:
        standard, other = [
            each.workflow_id for each in await load_scenarios(work.tx, work.merchant_id)
        ]
        rules = RuleSet(standard, (Rule("Split", (Share(standard, 50), Share(other, 50))),))
        await publish_rules(work, rules)
    await harness.switch()
    async with harness.work() as work:
        assert await load_rules(work.tx, work.merchant_id) == rules
    created = await harness.create(*(f"INV-{n}" for n in range(20)))
    rows = await harness.rows(
        "SELECT workflow_id, workflow_major FROM claims WHERE merchant_id = $1"
    )
    assert len(created) == 20
    assert {tuple(row) for row in rows} == {(standard, 1), (other, 1)}


async def test_a_switched_merchant_cannot_switch_again(
    harness: Harness, resources: Resources
) -> None:
    await harness.switch()
    with pytest.raises(asyncpg.RaiseError, match="published and cannot be changed"):
        async with resources.database.transaction() as tx:
            await tx.execute("UPDATE workflow_versions SET definition = '{}'")


async def test_a_second_switch_is_refused_and_changes_nothing(harness: Harness) -> None:
    await harness.switch()
    before = await harness.rows("SELECT * FROM workflow_versions WHERE merchant_id = $1")
    with pytest.raises(InvalidState) as refusal:
        await harness.switch()
    assert refusal.value.details == {"state": "SWITCHED"}
    assert '"nordwind" already uses workflows' in refusal.value.message
    assert await harness.rows("SELECT * FROM workflow_versions WHERE merchant_id = $1") == before


async def switch_and_stop(harness: Harness) -> None:
    async with harness.work() as work:
        await switch_to_workflows(work)
        raise RuntimeError("the machine stops")


async def test_a_rolled_back_switch_changes_nothing(harness: Harness) -> None:
    tables = ("merchants", "workflow_versions", "audit_log", "scenarios")
    statements = [f"SELECT * FROM {table} WHERE merchant_id = $1" for table in tables]
    before = [await harness.rows(statement) for statement in statements]
    with pytest.raises(RuntimeError):
        await switch_and_stop(harness)
    assert [await harness.rows(statement) for statement in statements] == before
    await harness.run()


async def test_claims_can_be_assigned_and_versions_published_from_then_on(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    await harness.switch()
    async with harness.work() as work:
        _, other = await load_scenarios(work.tx, work.merchant_id)
        outcome = await assign_to_workflow(work, other.workflow_id, [claim_id])
        assert [each.claim_id for each in outcome.assigned] == [claim_id]
        await save_draft(work, "New", a_definition())
    clock.advance(timedelta(hours=1))
    version = await harness.publish(OTHER, "Standard")
    assert version.name == "v1.1"


async def test_a_workflow_that_a_scenario_is_mapped_to_is_not_deleted(harness: Harness) -> None:
    await harness.switch()
    async with harness.work() as work:
        _, other = await load_scenarios(work.tx, work.merchant_id)
    with pytest.raises(InvalidState, match=f"scenario {other.scenario_id} is mapped to it"):
        async with harness.work() as work:
            await delete_workflow(work, other.workflow_id)


async def test_a_merchant_without_scenarios_can_be_switched(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, switched_to_workflows=False)
    assert (await harness.switch()).scenarios == []
    assert (await harness.publish(a_definition())).name == "v1.0"
