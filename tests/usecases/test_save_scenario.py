"""Creating scenarios and editing them in place, without drafts and only before the switch."""

from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.rollout.publish_workflow import publish_workflow
from dunwell.cases.rollout.scenarios.save_scenario import SavedScenario, save_scenario
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.scenarios.store import load_scenarios
from dunwell.core.workflows.store import load_current, load_newest
from dunwell.core.workflows.versions.versions import ScenarioVersion
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition, a_document
from tests.support.harness import Harness, a_harness

SHORTER = a_definition(steps=a_document()["steps"][:2])
TEXTS = a_definition(snippets={"signature": {"de": "Gruß", "en": "Regards"}})


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, switched_to_workflows=False)


async def save(
    harness: Harness, definition: Definition, name: str = "Standard", description: str | None = None
) -> SavedScenario:
    async with harness.work() as work:
        return await save_scenario(work, name, definition, description)


async def scenarios(harness: Harness) -> list[ScenarioVersion]:
    async with harness.work() as work:
        return await load_scenarios(work.tx, work.merchant_id)


async def audited(harness: Harness) -> list[Any]:
    rows = await harness.rows("SELECT action, subject FROM audit_log WHERE merchant_id = $1")
    return [tuple(row) for row in rows]


async def test_a_scenario_is_stored_with_the_ids_of_its_workflow_copy(harness: Harness) -> None:
    saved = await save(harness, a_definition(), description="One reminder.")
    [scenario] = await scenarios(harness)
    # The usual definition waits a week before its fee.
    [warning] = saved.warnings
    assert warning.startswith('The wait after "First reminder" is too short for a pay-by date')
    assert saved == SavedScenario(
        scenario.scenario_id,
        scenario.workflow_id,
        is_new=True,
        is_changed=True,
        warnings=[warning],
    )
    assert (scenario.name, scenario.description) == ("Standard", "One reminder.")
    assert scenario.definition == a_definition()
    assert len({scenario.workflow_id, scenario.reserved_version_id, scenario.version_id}) == 3
    assert await audited(harness) == [("scenario.create", f"scenario:{saved.scenario_id}")]


async def test_an_edit_changes_only_the_version_id(harness: Harness) -> None:
    await save(harness, a_definition(), description="One reminder.")
    [before] = await scenarios(harness)
    saved = await save(harness, TEXTS)
    [after] = await scenarios(harness)
    assert (saved.is_new, saved.is_changed) == (False, True)
    assert (after.definition, after.description) == (TEXTS, "One reminder.")
    assert after.version_id != before.version_id
    assert (after.scenario_id, after.workflow_id, after.reserved_version_id) == (
        before.scenario_id, before.workflow_id, before.reserved_version_id,
    )  # fmt: skip
    rows = await harness.rows("SELECT state FROM workflow_versions WHERE merchant_id = $1")
    assert [row["state"] for row in rows] == ["SCENARIO"]


async def test_saving_the_same_changes_nothing(harness: Harness) -> None:
    await save(harness, a_definition(), description="One reminder.")
    before = await scenarios(harness), await audited(harness)
    saved = await save(harness, a_definition())
    assert (saved.is_new, saved.is_changed) == (False, False)
    assert (await scenarios(harness), await audited(harness)) == before


async def test_a_description_can_be_changed_alone(harness: Harness) -> None:
    await save(harness, a_definition())
    [before] = await scenarios(harness)
    assert (await save(harness, a_definition(), description="New.")).is_changed
    [after] = await scenarios(harness)
    assert (after.description, after.version_id) == ("New.", before.version_id)


async def test_a_scenario_runs_as_a_published_version_does(harness: Harness) -> None:
    saved = await save(harness, a_definition())
    async with harness.work() as work:
        pair = (saved.workflow_id, 1)
        current = await load_current(work.tx, work.merchant_id, saved.workflow_id)
        assert current is not None
        assert (current.name, current.definition) == ("v1.0", a_definition())
        assert await load_newest(work.tx, work.merchant_id, [pair]) == {pair: current}


async def test_a_faulty_definition_and_a_faulty_name_are_refused(harness: Harness) -> None:
    faulty = a_definition(templates={})
    with pytest.raises(ValidationError) as refusal:
        await save(harness, faulty)
    assert "/steps/0/template" in {fault.path for fault in refusal.value.faults}
    with pytest.raises(ValidationError) as refusal:
        await save(harness, a_definition(), name=" ")
    assert [fault.path for fault in refusal.value.faults] == ["/name"]
    assert (await scenarios(harness), await audited(harness)) == ([], [])


async def test_a_removed_step_id_cannot_be_reused(harness: Harness) -> None:
    await save(harness, a_definition())
    await save(harness, SHORTER)
    with pytest.raises(ValidationError) as refusal:
        await save(harness, a_definition())
    paths = [fault.path for fault in refusal.value.faults]
    assert paths == ["/steps/2/id", "/steps/3/id", "/steps/4/id"]
    [scenario] = await scenarios(harness)
    assert scenario.definition == SHORTER
    assert {each: step.name for each, step in scenario.retired.items()} == {
        3: "Dunning fee", 4: "Ask the ERP", 5: "Last wait",
    }  # fmt: skip


async def test_no_workflow_can_be_created_before_the_switch(harness: Harness) -> None:
    with pytest.raises(InvalidState) as refusal:
        async with harness.work() as work:
            await save_draft(work, "Standard", a_definition())
    assert refusal.value.details == {"state": "NOT_SWITCHED"}
    assert "dunwell scenario list nordwind" in refusal.value.message
    assert "dunwell switch nordwind" in refusal.value.message
    assert await harness.rows("SELECT 1 FROM workflows WHERE merchant_id = $1") == []


async def test_no_scenario_can_be_created_or_edited_after_the_switch(harness: Harness) -> None:
    await save(harness, a_definition())
    await harness.switch()
    before = await scenarios(harness), await audited(harness)
    for name in ("Standard", "Another"):
        with pytest.raises(InvalidState) as refusal:
            await save(harness, TEXTS, name)
        assert refusal.value.details == {"state": "SWITCHED"}
    assert (await scenarios(harness), await audited(harness)) == before


async def test_a_removed_step_id_cannot_be_reused_after_the_switch(harness: Harness) -> None:
    saved = await save(harness, a_definition())
    await save(harness, SHORTER)
    await harness.switch()
    fee_in_its_place = {**a_document()["steps"][4], "id": 3}
    other = a_definition(steps=[*a_document()["steps"][:2], fee_in_its_place])
    async with harness.work() as work:
        await save_draft(work, "Standard", other)
    with pytest.raises(ValidationError) as refusal:
        async with harness.work() as work:
            await publish_workflow(work, saved.workflow_id)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [
        ("/steps/2/id", "ID_REUSED")
    ]


async def test_scenarios_belong_to_one_merchant(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    other = await a_harness(resources, clock, key="hansen", switched_to_workflows=False)
    saved = await save(harness, a_definition())
    theirs = await save(other, a_definition())
    assert saved.scenario_id != theirs.scenario_id
    assert [each.scenario_id for each in await scenarios(harness)] == [saved.scenario_id]
    assert isinstance(theirs.workflow_id, UUID)
