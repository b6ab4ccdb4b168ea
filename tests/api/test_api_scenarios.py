"""Scenarios before and after the switch to workflows (spec, List scenarios; Versioning 5)."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.rollout.scenarios.save_scenario import SavedScenario, save_scenario
from dunwell.core.workflows.scenarios.store import load_scenarios
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.definitions import DOCUMENT, a_definition


@pytest.fixture
async def api(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    """Nordwind uses scenarios, with Standard as the default. Hansen has workflows."""
    async with an_api(resources, clock, switched_to_workflows=False) as api:
        yield api


async def scenario_id_of(api: Api, name: str = "Standard") -> int:
    async with api.harness.work() as work:
        scenarios = await load_scenarios(work.tx, work.merchant_id)
    return next(each.scenario_id for each in scenarios if each.name == name)


async def add_other(api: Api) -> SavedScenario:
    """Save a second scenario, without contact hours and holidays."""
    other = a_definition(settings={"languages": ["de", "en"], "currency": "EUR"})
    async with api.harness.work() as work:
        return await save_scenario(work, "Other", other, "Any time.")


def errors_of(answer: Any) -> list[dict[str, Any]]:
    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (422, "WorkflowAssignmentError")
    assert list(error) == ["type", "message", "details"]
    assert error["message"].startswith("Some claims were not assigned.")
    assert list(error["details"]) == ["errors"]
    found: list[dict[str, Any]] = error["details"]["errors"]
    assert all(list(each) == ["claimId", "message"] for each in found)
    return found


async def test_the_list_shows_each_scenario(api: Api) -> None:
    other = await add_other(api)
    standard, second = (await api.nordwind.get("/scenarios")).json()["result"]
    kinds = ["COMMUNICATION", "WAIT", "FEE", "CHECKPOINT", "WAIT"]
    assert standard == {
        "id": await scenario_id_of(api),
        "name": "Standard",
        "description": "",
        "merchantId": api.nordwind.merchant_id,
        "isDefault": True,
        "isActive": True,
        "languages": ["de", "en"],
        "calendars": [
            {
                "timezone": "Europe/Berlin",
                "contactHours": DOCUMENT["settings"]["contactHours"],
                "holidays": {"country": "DE", "subdivision": "HH"},
            }
        ],
        "actionSteps": [
            {"id": step["id"], "name": step["name"], "kind": kind}
            for step, kind in zip(DOCUMENT["steps"], kinds, strict=True)
        ],
    }
    assert (second["id"], second["description"]) == (other.scenario_id, "Any time.")
    assert (second["isDefault"], second["calendars"]) == (False, [])


async def test_the_list_still_works_after_the_switch(api: Api) -> None:
    before = (await api.nordwind.get("/scenarios")).json()
    await api.harness.switch()
    await api.harness.publish(a_definition(steps=DOCUMENT["steps"][:2]))
    assert (await api.nordwind.get("/scenarios")).json() == before


async def test_a_scenario_is_default_by_the_rules_and_active_by_its_workflow(api: Api) -> None:
    other = await add_other(api)
    async with api.harness.work() as work:
        await publish_rules(work, RuleSet(default=other.workflow_id))
        await work.tx.execute(
            "UPDATE workflows SET assignment_enabled = false WHERE workflow_id = $1",
            other.workflow_id,
        )
    listed = (await api.nordwind.get("/scenarios")).json()["result"]
    assert [(each["isDefault"], each["isActive"]) for each in listed] == [
        (False, True), (True, False),
    ]  # fmt: skip


async def test_a_merchant_that_started_with_workflows_has_no_scenarios(api: Api) -> None:
    assert (await api.hansen.get("/scenarios")).json() == {"error": None, "result": []}


@pytest.mark.parametrize("shape", ["object", "array", "objects"])
@pytest.mark.parametrize("is_switched", [False, True])
async def test_claims_are_assigned_to_a_scenario_from_each_shape_of_body(
    api: Api, shape: str, *, is_switched: bool
) -> None:
    other = await add_other(api)
    first, second = await api.nordwind.create("A-1", "A-2")
    if is_switched:
        await api.harness.switch()
    ids = [second, first, second]
    shapes: dict[str, Any] = {
        "object": {"claimIds": ids},
        "array": ids,
        "objects": [{"claimId": each} for each in ids],
    }
    path = f"/scenarios/{other.scenario_id}/assignments"
    answer = await api.nordwind.post(path, shapes[shape])
    named: dict[str, Any] = {"scenarioId": other.scenario_id}
    if is_switched:
        named = {"workflowId": str(other.workflow_id)}
    assert answer.json() == {
        "error": None,
        "result": [{"claimId": second, **named}, {"claimId": first, **named}],
    }
    rows = await api.harness.rows("SELECT workflow_id, run FROM claims WHERE merchant_id = $1")
    assert {tuple(row) for row in rows} == {(other.workflow_id, 2)}


async def test_claims_that_cannot_be_assigned_are_named_and_the_others_are_assigned(
    api: Api,
) -> None:
    other = await add_other(api)
    [claim_id] = await api.nordwind.create("A-1")
    [swiss] = await api.nordwind.create("A-2", currency="CHF")
    [theirs] = await api.hansen.create("B-1")
    path = f"/scenarios/{other.scenario_id}/assignments"
    answer = await api.nordwind.post(path, [theirs, claim_id, swiss, 999_999])
    assert errors_of(answer) == [
        {"claimId": theirs, "message": "There is no such claim."},
        {"claimId": swiss, "message": "The scenario accepts claims in EUR; this one is in CHF."},
        {"claimId": 999_999, "message": "There is no such claim."},
    ]
    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert claim["assignment"] == {"scenarioId": other.scenario_id}


async def test_before_the_switch_no_claim_can_be_assigned_to_a_workflow(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    [copy] = (await api.nordwind.get("/workflows-meta")).json()["result"]
    answer = await api.nordwind.post(
        f"/assignments/workflows/{copy['id']}", {"claimIds": [claim_id, 999_999, claim_id]}
    )
    assert [each["claimId"] for each in errors_of(answer)] == [claim_id, 999_999]
    await api.harness.switch()
    answer = await api.nordwind.post(f"/assignments/workflows/{copy['id']}", [claim_id])
    assert answer.json()["result"] == [{"claimId": claim_id, "workflowId": copy["id"]}]


async def test_the_workflow_list_shows_the_copies_of_scenarios_before_the_switch(api: Api) -> None:
    before = (await api.nordwind.get("/workflows-meta")).json()
    [copy] = before["result"]
    assert (copy["name"], copy["assignmentEnabled"]) == ("Standard", True)
    assert copy["createdAt"] == "2026-03-02T09:00:00.000Z"
    await api.harness.publish(a_definition(snippets={}))
    assert (await api.nordwind.get("/workflows-meta")).json() == before
    await api.harness.switch()
    assert (await api.nordwind.get("/workflows-meta")).json() == before


async def test_starting_the_assignment_returns_the_scenario_and_after_the_switch_the_workflow(
    api: Api,
) -> None:
    default = await scenario_id_of(api)
    async with api.harness.work() as work:
        rules = RuleSet(default=(await load_scenarios(work.tx, work.merchant_id))[0].workflow_id)
        await publish_rules(work, RuleSet())
    [claim_id] = await api.nordwind.create()
    path = f"/assignments/claim/{claim_id}"
    assert (await api.nordwind.post(path)).json()["result"] == {"claimId": claim_id}
    async with api.harness.work() as work:
        await publish_rules(work, rules)
    for _ in range(2):
        answer = await api.nordwind.post(path)
        assert answer.json()["result"] == {"claimId": claim_id, "scenarioId": default}
    await api.harness.switch()
    assert (await api.nordwind.post(path)).json()["result"] == {
        "claimId": claim_id, "workflowId": str(rules.default),
    }  # fmt: skip


async def test_a_claim_shows_its_scenario_and_after_the_switch_its_workflow(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert claim["assignment"] == {"scenarioId": await scenario_id_of(api)}
    await api.harness.switch()
    [copy] = (await api.nordwind.get("/workflows-meta")).json()["result"]
    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert claim["assignment"] == {"workflowId": copy["id"], "workflowVersion": "v1.0"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"scenarios_deprecated_on": date(2026, 6, 1)}, {"Deprecation": "@1780272000"}),
        (
            {
                "scenarios_deprecated_on": date(2026, 6, 1),
                "scenarios_retired_on": date(2027, 1, 31),
            },
            {"Deprecation": "@1780272000", "Sunset": "Sun, 31 Jan 2027 00:00:00 GMT"},
        ),
    ],
    ids=["unannounced", "deprecated", "retired"],
)
async def test_the_headers_announce_the_retirement_from_the_settings(
    resources: Resources, clock: MovableClock, given: dict[str, Any], expected: dict[str, str]
) -> None:
    announced = replace(resources, settings=replace(resources.settings, **given))
    async with an_api(announced, clock, switched_to_workflows=False) as api:
        for answer in (
            await api.nordwind.get("/scenarios"),
            await api.nordwind.post("/scenarios/1/assignments", []),
            await api.nordwind.get("/scenarios", token="wrong"),
        ):
            shown = {n: answer.headers[n] for n in ("Deprecation", "Sunset") if n in answer.headers}
            assert shown == expected
        other = await api.nordwind.get("/workflows-meta")
        assert not {"deprecation", "sunset"} & other.headers.keys()
