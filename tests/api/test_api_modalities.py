"""Payment modalities are listed, approved and rejected."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.modalities import DEFERMENT, OFFERING, PLAN, Arrangement


@pytest.fixture
async def api(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    """Nordwind offers plans and deferrals. It is a sandbox merchant."""
    async with an_api(resources, clock, configuration=OFFERING, sandbox=True) as api:
        yield api


async def a_debtor_who_may_request_plans(
    api: Api, reference: str = "INV-1001"
) -> tuple[Arrangement, str]:
    """Create the claim of a debtor who may request a plan, and return it with the path of its
    modalities."""
    [claim_id] = await api.nordwind.create(reference)
    arrangement = Arrangement(api.harness, claim_id)
    return arrangement, f"/claims/{claim_id}/payment-modalities"


async def list_modalities(api: Api, path: str, **params: Any) -> dict[str, Any]:
    answer = await api.nordwind.get(path, params=params)
    result: dict[str, Any] = answer.json()["result"]
    return result


async def test_a_plan_is_listed_with_the_paid_part_of_each_instalment(api: Api) -> None:
    arrangement, path = await a_debtor_who_may_request_plans(api)
    assert await list_modalities(api, path) == {"items": [], "nextCursor": None}
    asked = await arrangement.ask(PLAN)
    payment = {"amount": 5000, "currency": "EUR", "transactionId": "t-1"}
    await api.nordwind.post(f"/claims/{arrangement.claim_id}/payments", payment)

    assert (await list_modalities(api, path))["items"] == [
        {
            "id": str(asked.modality_id),
            "claimId": arrangement.claim_id,
            "type": "PAYMENT_PLAN",
            "state": "REQUESTED",
            "currency": "EUR",
            "total": "10240",
            "schedule": [
                {"number": 1, "dueDate": "2026-03-16", "value": "3414", "paid": "3414"},
                {"number": 2, "dueDate": "2026-04-16", "value": "3413", "paid": "1586"},
                {"number": 3, "dueDate": "2026-05-16", "value": "3413", "paid": "0"},
            ],
            "requestedAt": "2026-03-02T09:00:00.000Z",
            "answeredAt": None,
            "reason": None,
            "endedAt": None,
            "endedReason": None,
        }
    ]


async def test_an_approved_deferral_stops_the_workflow(api: Api) -> None:
    arrangement, path = await a_debtor_who_may_request_plans(api)
    asked = await arrangement.ask(DEFERMENT)

    answer = await api.nordwind.post(f"{path}/{asked.modality_id}/approve")

    result = answer.json()["result"]
    assert result["type"] == "PAYMENT_DEFEREMENT"
    assert (result["state"], result["answeredAt"]) == ("APPROVED", "2026-03-02T09:00:00.000Z")
    assert result["schedule"] == [
        {"number": 1, "dueDate": "2026-03-31", "value": "10240", "paid": "0"}
    ]
    claim = (await api.nordwind.get(f"/claims/{arrangement.claim_id}")).json()["result"]
    [hold] = claim["holds"]
    assert (hold["kind"], hold["until"]) == ("MODALITY_ACTIVE", "2026-03-31T22:00:00.000Z")
    assert claim["nextStepAt"] is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [({}, None), ({"json": {}}, None), ({"json": {"reason": "Three at most."}}, "Three at most.")],
)
async def test_a_rejection_may_have_a_reason(
    api: Api, given: dict[str, Any], reason: str | None
) -> None:
    arrangement, path = await a_debtor_who_may_request_plans(api)
    asked = await arrangement.ask()

    answer = await api.nordwind.post(f"{path}/{asked.modality_id}/reject", **given)

    result = answer.json()["result"]
    assert (result["state"], result["reason"]) == ("REJECTED", reason)
    assert (result["endedAt"], result["endedReason"]) == (result["answeredAt"], "REJECTED")
    assert (await list_modalities(api, path))["items"] == [result]


@pytest.mark.parametrize("answer", ["approve", "reject"])
async def test_repeating_an_answer_returns_it_and_the_other_answer_is_refused(
    api: Api, answer: str
) -> None:
    arrangement, path = await a_debtor_who_may_request_plans(api)
    path = f"{path}/{(await arrangement.ask()).modality_id}"
    other = "reject" if answer == "approve" else "approve"

    answers = [await api.nordwind.post(f"{path}/{answer}") for _ in range(2)]
    refused = await api.nordwind.post(f"{path}/{other}")

    assert [each.status_code for each in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "InvalidState")
    state = answers[0].json()["result"]["state"]
    assert await arrangement.states() == ["REQUESTED", state]


async def test_a_faulty_rejection_changes_nothing(api: Api) -> None:
    arrangement, path = await a_debtor_who_may_request_plans(api)
    asked = await arrangement.ask()

    body = {"reason": "a\x00", "reasn": "x"}
    answer = await api.nordwind.post(f"{path}/{asked.modality_id}/reject", body)

    assert answer.status_code == 422
    faults = answer.json()["error"]["details"]["errors"]
    assert [each["path"] for each in faults] == ["/reason", "/reasn"]
    assert await arrangement.look(asked.modality_id) == asked


async def test_a_test_clock_stops_at_the_end_of_a_modality(api: Api) -> None:
    arrangement, path = await a_debtor_who_may_request_plans(api)
    await arrangement.agree(PLAN)

    moved = await api.nordwind.post("/test-clock", {"advanceTo": "2026-03-23T22:59:59Z"})
    assert moved.json()["result"]["stepsRun"] == 0
    assert (await list_modalities(api, path))["items"][0]["endedAt"] is None
    await api.nordwind.post("/test-clock", {"advanceTo": "2026-03-30T09:00:00Z"})

    [item] = (await list_modalities(api, path))["items"]
    assert (item["endedAt"], item["endedReason"]) == ("2026-03-23T23:00:00.000Z", "BROKEN")
    # After a day without contacts come the contact hours: Wednesday at 9:00 in Berlin.
    events = (await api.nordwind.get("/events")).json()["result"]["items"]
    assert (events[-1]["type"], events[-1]["date"]) == ("ESCALATED", "2026-03-25T08:00:00Z")
