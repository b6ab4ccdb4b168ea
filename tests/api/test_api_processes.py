"""Workflows listed and claims assigned over HTTP (spec, Assign claims to a workflow)."""

from typing import Any

import pytest

from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api

UNKNOWN = "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"


async def test_the_list_names_each_workflow_and_its_current_version(api: Api) -> None:
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
async def test_claims_are_assigned_in_the_order_given_whatever_the_shape(
    api: Api, shape: str
) -> None:
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


async def test_what_cannot_be_assigned_is_named_and_the_rest_is_assigned(api: Api) -> None:
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


async def test_an_unknown_workflow_is_absent(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    for given in (UNKNOWN, "standard", "0", UNKNOWN.replace("-", "")):
        answer = await api.nordwind.post(f"/assignments/workflows/{given}", [claim_id])

        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")


async def test_a_merchant_not_switched_gets_every_claim_back(
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


async def test_at_most_a_thousand_claims_are_assigned_at_once(api: Api) -> None:
    path = f"/assignments/workflows/{api.version.workflow_id}"

    answer = await api.nordwind.post(path, {"claimIds": list(range(1, 1002))})

    assert (answer.status_code, answer.json()["error"]["type"]) == (422, "ValidationError")


async def test_starting_the_assignment_answers_the_present_one(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    answer = await api.nordwind.post(f"/assignments/claim/{claim_id}")

    assert answer.json()["result"] == {
        "claimId": claim_id,
        "workflowId": str(api.version.workflow_id),
    }


async def test_an_ended_claim_cannot_be_assigned(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    payment = {"amount": 10240, "currency": "EUR", "transactionId": "t"}
    await api.nordwind.post(f"/claims/{claim_id}/payments", payment)

    answer = await api.nordwind.post(f"/assignments/claim/{claim_id}")

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (409, "InvalidState")
    assert error["details"] == {"state": "COLLECTED"}
