"""Files of merchants on scenarios: created, edited in place, and replaced by workflows at the
switch."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from dunwell.core.workflows.scenarios.store import load_scenarios
from dunwell.core.workflows.versions.versions import ScenarioVersion
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_document
from tests.support.harness import Harness, ScriptedChannel
from tests.usecases.test_apply import Applying

Fault = tuple[str, str]


@pytest.fixture
def applying(resources: Resources, tmp_path: Path) -> Applying:
    applying = Applying(resources, tmp_path)
    [standard] = applying.document.pop("workflows")
    applying.document |= {
        "switchedToWorkflows": False,
        "scenarios": [{**standard, "description": "One reminder."}],
    }
    return applying


def first_of(applying: Applying) -> dict[str, Any]:
    scenario: dict[str, Any] = applying.document["scenarios"][0]
    return scenario


async def harness_of(applying: Applying, clock: MovableClock) -> Harness:
    return Harness(applying.resources, clock, await applying.merchant(), [ScriptedChannel()])


async def scenarios(applying: Applying) -> list[ScenarioVersion]:
    merchant = await applying.merchant()
    async with applying.resources.database.connection() as connection:
        return await load_scenarios(connection, merchant.merchant_id)


async def faults_of(applying: Applying) -> list[Fault]:
    """Return the faults of the file, and check that it has changed nothing."""
    before = await applying.rows()
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    assert await applying.rows() == before
    return [(fault.path, fault.code) for fault in refusal.value.faults]


async def test_scenarios_are_created_and_rules_name_them(
    applying: Applying, clock: MovableClock
) -> None:
    report = await applying.apply()
    assert report.changes[-2:] == [
        'scenario "Standard" created',
        'default workflow "Standard"; new claims get it',
    ]
    [scenario] = await scenarios(applying)
    assert (scenario.name, scenario.description) == ("Standard", "One reminder.")
    harness = await harness_of(applying, clock)
    [claim_id] = await harness.create()
    await harness.run()
    assert [event["type"] for event in await harness.events(claim_id)] == ["ESCALATED"]
    assert (await applying.apply()).changes == []


async def test_a_changed_definition_is_edited_in_place(
    applying: Applying, clock: MovableClock
) -> None:
    await applying.apply()
    harness = await harness_of(applying, clock)
    await harness.create()
    await harness.run()
    del first_of(applying)["definition"]["steps"][2]
    continuation = '1 claim at step 3 "Dunning fee" continues at step 4 "Ask the ERP"'
    changes = [
        'scenario "Standard": step 3 "Dunning fee" removed',
        f'scenario "Standard": {continuation}',
    ]
    heading = "changed in place; claims in process follow it with their next step: 1"
    plan = await applying.plan()
    assert plan.changes == [f'scenario "Standard" would be {heading}', *changes]
    assert (await applying.apply()).changes == [f'scenario "Standard" {heading}', *changes]
    assert (await applying.apply()).changes == []


async def test_a_description_is_changed_and_kept_when_absent(applying: Applying) -> None:
    await applying.apply()
    del first_of(applying)["description"]
    assert (await applying.apply()).changes == []
    first_of(applying)["description"] = "Two reminders."
    assert (await applying.apply()).changes == ['scenario "Standard": description changed']
    assert [each.description for each in await scenarios(applying)] == ["Two reminders."]


async def test_a_definition_can_be_in_its_own_file(applying: Applying) -> None:
    await applying.apply()
    (applying.path.parent / "standard.yaml").write_text(yaml.safe_dump(a_document()))
    applying.document["scenarios"] = [{"name": "Standard", "file": "standard.yaml"}]
    assert (await applying.apply()).changes == []
    (applying.path.parent / "standard.yaml").write_text(yaml.safe_dump(a_document(templates={})))
    assert {path for path, _ in await faults_of(applying)} == {"/scenarios/0/file"}


async def test_an_order_that_would_repeat_a_step_is_a_fault_of_the_file(
    applying: Applying, clock: MovableClock
) -> None:
    await applying.apply()
    harness = await harness_of(applying, clock)
    await harness.create()
    await harness.run()
    steps = first_of(applying)["definition"]["steps"]
    steps.append(steps.pop(0))
    assert await faults_of(applying) == [("/scenarios/0/definition/steps/4", "WOULD_REPEAT")]


async def test_a_scenario_may_use_values_that_the_same_file_adds(
    applying: Applying,
) -> None:
    applying.document["payment"] = {"methods": [{"provider": "bank"}]}
    await applying.apply()
    body = first_of(applying)["definition"]["templates"]["reminder"]["EMAIL"]["body"]
    body |= {language: f"{text}\n{{{{ bank.iban }}}}" for language, text in body.items()}
    assert {code for _, code in await faults_of(applying)} == {"MISSING_VALUE"}
    applying.document["payment"]["bankAccount"] = {
        "iban": "DE02 1203 0000 0000 2020 51", "holder": "Nordwind",
    }  # fmt: skip
    assert 'scenario "Standard" changed in place' in " ".join((await applying.apply()).changes)


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"switchedToWorkflows": True}, [("/scenarios", "SWITCHED")]),
        ({"workflows": [{"name": "A"}]}, {"/scenarios", "/workflows", "/workflows/0"}),
        ({"scenarios": [{"name": "A"}]}, {"/scenarios/0"}),
    ],
    ids=["workflows", "both", "no definition"],
)
async def test_a_merchant_has_scenarios_or_workflows(
    applying: Applying, change: dict[str, Any], faults: list[Fault] | set[str]
) -> None:
    applying.document |= change
    found = await faults_of(applying)
    assert (found if isinstance(faults, list) else {path for path, _ in found}) == faults


async def test_scenarios_of_a_switched_merchant_are_a_fault(applying: Applying) -> None:
    del applying.document["switchedToWorkflows"]
    assert await faults_of(applying) == [("/scenarios", "SWITCHED")]


async def test_after_the_switch_the_file_has_workflows(
    applying: Applying, clock: MovableClock
) -> None:
    await applying.apply()
    await (await harness_of(applying, clock)).switch()
    assert sorted(await faults_of(applying)) == [
        ("/scenarios", "SWITCHED"), ("/switchedToWorkflows", "FIXED"),
    ]  # fmt: skip
    [standard] = applying.document.pop("scenarios")
    del standard["description"]
    applying.document |= {"switchedToWorkflows": True, "workflows": [standard]}
    assert (await applying.apply()).changes == []


async def test_only_the_switch_converts_scenarios_to_workflows(applying: Applying) -> None:
    await applying.apply()
    kept = copy.deepcopy(applying.document)
    applying.document["switchedToWorkflows"] = True
    del applying.document["scenarios"]
    with pytest.raises(ValidationError) as refusal:
        await applying.apply()
    [fault] = refusal.value.faults
    assert (fault.path, fault.code) == ("/switchedToWorkflows", "FIXED")
    assert '"dunwell switch nordwind"' in fault.message
    applying.document = kept
    applying.document["workflows"] = applying.document.pop("scenarios")
    del applying.document["switchedToWorkflows"]
    del applying.document["workflows"][0]["description"]
    assert await faults_of(applying) == [("/workflows", "NOT_SWITCHED")]
