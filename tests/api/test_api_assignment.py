"""Workflows are listed and claims assigned, directly or by rules (spec, Assign claims to a
workflow)."""

from typing import Any

import pytest

from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.rules import a_rule

UNKNOWN = "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"


async def test_each_workflow_is_listed_with_its_current_version(api: Api) -> None:
    answer = await api.nordwind.get("/workflows-meta")

    assert answer.json() == {
        "error": None,
        "result": [
            {
                "id": str(api.version.workflow_id),
                "name": "Standard",
                "version": str(api.version.version_id),
                "assignmentEnabled": True,
                "createdAt": "2026-03-02T09:00:00.000Z",
            }
        ],
    }


@pytest.mark.parametrize("shape", ["object", "array", "objects"])
async def test_claims_are_assigned_in_order_from_each_shape_of_body(api: Api, shape: str) -> None:
    first, second = await api.nordwind.create("A-1", "A-2")
    ids = [second, first, second]
    shapes: dict[str, Any] = {
        "object": {"claimIds": ids},
        "array": ids,
        "objects": [{"claimId": each} for each in ids],
    }

    path = f"/assignments/workflows/{api.version.workflow_id}"
    answer = await api.nordwind.post(path, shapes[shape])

    workflow_id = str(api.version.workflow_id)
    assert answer.json()["result"] == [
        {"claimId": second, "workflowId": workflow_id},
        {"claimId": first, "workflowId": workflow_id},
    ]


async def test_claims_that_cannot_be_assigned_are_named_and_the_others_are_assigned(
    api: Api,
) -> None:
    async with api.harness.work() as work:
        await publish_rules(work, RuleSet())
    [claim_id] = await api.nordwind.create("A-1")
    [theirs] = await api.hansen.create("B-1")

    path = f"/assignments/workflows/{api.version.workflow_id}"
    answer = await api.nordwind.post(path, {"claimIds": [theirs, claim_id, 999_999]})

    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["type"] == "WorkflowAssignmentError"
    assert [each["claimId"] for each in error["details"]["errors"]] == [theirs, 999_999]
    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert claim["assignment"]["workflowId"] == str(api.version.workflow_id)


async def test_every_claim_of_a_merchant_on_scenarios_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    async with an_api(resources, clock, switched_to_workflows=False) as api:
        for given in (UNKNOWN, "no-uuid"):
            answer = await api.nordwind.post(f"/assignments/workflows/{given}", [1, 2])

            assert answer.status_code == 422
            errors = answer.json()["error"]["details"]["errors"]
            assert [each["claimId"] for each in errors] == [1, 2]


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({"claimIds": []}, {"/claimIds"}),
        ([], {""}),
        ({"claimIds": ["1"]}, {"/claimIds/0"}),
        ({"claimIds": [0]}, {"/claimIds/0"}),
        ({"claims": [1]}, {"/claimIds", "/claims"}),
        ("1", {""}),
    ],
)
async def test_a_body_of_another_shape_is_refused(api: Api, body: Any, paths: set[str]) -> None:
    path = f"/assignments/workflows/{api.version.workflow_id}"

    answer = await api.nordwind.post(path, body)

    assert answer.status_code == 422
    assert {each["path"] for each in answer.json()["error"]["details"]["errors"]} == paths


async def publish_rule(api: Api, *, default: bool = False, **when: Any) -> None:
    """Publish one rule with these conditions for the published workflow."""
    workflow_id = api.version.workflow_id
    rules = RuleSet(workflow_id if default else None, (a_rule("one", workflow_id, **when),))
    async with api.harness.work() as work:
        await publish_rules(work, rules)


async def read_assignment(api: Api, claim_id: int) -> Any:
    answer = await api.nordwind.get(f"/claims/{claim_id}")
    return answer.json()["result"]["assignment"]


async def test_a_created_claim_is_assigned_by_its_rule(api: Api) -> None:
    await publish_rule(api, country="DE")
    [german] = await api.nordwind.create("A-1", address={"country": "DE"})
    [other] = await api.nordwind.create("A-2")

    assert (await read_assignment(api, german))["workflowId"] == str(api.version.workflow_id)
    assert await read_assignment(api, other) is None


async def test_starting_the_assignment_applies_the_current_rules(api: Api) -> None:
    await publish_rule(api, country="AT")
    [claim_id] = await api.nordwind.create("A-1", address={"country": "DE"})
    path = f"/assignments/claim/{claim_id}"

    assert (await api.nordwind.post(path)).json()["result"] == {"claimId": claim_id}

    await publish_rule(api, country=["AT", "DE"])
    expected = {"claimId": claim_id, "workflowId": str(api.version.workflow_id)}
    for _ in range(2):
        answer = await api.nordwind.post(path)
        assert (answer.status_code, answer.json()["result"]) == (200, expected)
