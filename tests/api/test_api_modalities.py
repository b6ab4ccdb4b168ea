"""Payment modalities over HTTP: listed, approved, rejected."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.modalities import DEFERMENT, OFFERING, PLAN, Arrangement

ABSENT = "01955b00-7a10-7c44-9b1d-2e5f60718293"


@pytest.fixture
async def offering(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    """Nordwind offers plans and deferments; it is a sandbox merchant."""
    async with an_api(resources, clock, configuration=OFFERING, sandbox=True) as api:
        yield api


async def an_asking_debtor(api: Api, reference: str = "INV-1001") -> tuple[Arrangement, str]:
    """The claim of a debtor who asked for a plan, and the address of its modalities."""
    [claim_id] = await api.nordwind.create(reference)
    arrangement = Arrangement(api.harness, claim_id)
    return arrangement, f"/claims/{claim_id}/payment-modalities"


async def listed(api: Api, path: str, **params: Any) -> dict[str, Any]:
    answer = await api.nordwind.get(path, params=params)
    result: dict[str, Any] = answer.json()["result"]
    return result


async def test_a_plan_is_listed_with_what_is_paid_of_each_rate(offering: Api) -> None:
    arrangement, path = await an_asking_debtor(offering)
    assert await listed(offering, path) == {"items": [], "nextCursor": None}
    asked = await arrangement.ask(PLAN)
    payment = {"amount": 5000, "currency": "EUR", "transactionId": "t-1"}
    await offering.nordwind.post(f"/claims/{arrangement.claim_id}/payments", payment)

    assert (await listed(offering, path))["items"] == [
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


async def test_an_approved_deferment_stops_the_process(offering: Api) -> None:
    arrangement, path = await an_asking_debtor(offering)
    asked = await arrangement.ask(DEFERMENT)

    answer = await offering.nordwind.post(f"{path}/{asked.modality_id}/approve")

    result = answer.json()["result"]
    assert result["type"] == "PAYMENT_DEFEREMENT"
    assert (result["state"], result["answeredAt"]) == ("APPROVED", "2026-03-02T09:00:00.000Z")
    assert result["schedule"] == [
        {"number": 1, "dueDate": "2026-03-31", "value": "10240", "paid": "0"}
    ]
    claim = (await offering.nordwind.get(f"/claims/{arrangement.claim_id}")).json()["result"]
    [hold] = claim["holds"]
    assert (hold["kind"], hold["until"]) == ("MODALITY_ACTIVE", "2026-03-31T22:00:00.000Z")
    assert claim["nextStepAt"] is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [({}, None), ({"json": {}}, None), ({"json": {"reason": "Three at most."}}, "Three at most.")],
)
async def test_a_rejection_may_have_a_reason(
    offering: Api, given: dict[str, Any], reason: str | None
) -> None:
    arrangement, path = await an_asking_debtor(offering)
    asked = await arrangement.ask()

    answer = await offering.nordwind.post(f"{path}/{asked.modality_id}/reject", **given)

    result = answer.json()["result"]
    assert (result["state"], result["reason"]) == ("REJECTED", reason)
    assert (result["endedAt"], result["endedReason"]) == (result["answeredAt"], "REJECTED")
    assert (await listed(offering, path))["items"] == [result]


@pytest.mark.parametrize("answer", ["approve", "reject"])
async def test_the_same_answer_again_is_the_same_the_other_409(offering: Api, answer: str) -> None:
    arrangement, path = await an_asking_debtor(offering)
    path = f"{path}/{(await arrangement.ask()).modality_id}"
    other = "reject" if answer == "approve" else "approve"

    answers = [await offering.nordwind.post(f"{path}/{answer}") for _ in range(2)]
    refused = await offering.nordwind.post(f"{path}/{other}")

    assert [each.status_code for each in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "InvalidState")
    state = answers[0].json()["result"]["state"]
    assert await arrangement.states() == ["REQUESTED", state]


async def test_a_withdrawn_request_takes_no_answer(offering: Api) -> None:
    arrangement, path = await an_asking_debtor(offering)
    asked = await arrangement.ask()
    await arrangement.withdraw(asked.modality_id)

    answer = await offering.nordwind.post(f"{path}/{asked.modality_id}/approve")

    assert answer.status_code == 409
    assert answer.json()["error"]["details"] == {"state": "WITHDRAWN"}
    [item] = (await listed(offering, path))["items"]
    assert (item["state"], item["endedReason"]) == ("REQUESTED", "WITHDRAWN")


@pytest.mark.parametrize(
    ("given", "status", "at"),
    [
        ({"json": {"reason": ""}}, 422, "/reason"),
        ({"json": {"reason": "a\x00"}}, 422, "/reason"),
        ({"json": {"reason": "x" * 2001}}, 422, "/reason"),
        ({"json": {"reasn": "x"}}, 422, "/reasn"),
        ({"json": []}, 422, ""),
        ({"content": b"{", "headers": {"Content-Type": "application/json"}}, 400, None),
        ({"content": b"{}", "headers": {"Content-Type": "text/plain"}}, 415, None),
    ],
)
async def test_a_faulty_rejection_changes_nothing(
    offering: Api, given: dict[str, Any], status: int, at: str | None
) -> None:
    arrangement, path = await an_asking_debtor(offering)
    asked = await arrangement.ask()

    answer = await offering.nordwind.post(f"{path}/{asked.modality_id}/reject", **given)

    assert answer.status_code == status
    if at is not None:
        assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [at]
    assert await arrangement.look(asked.modality_id) == asked


@pytest.mark.parametrize("modality_id", [ABSENT, "1", "x", "%00"])
@pytest.mark.parametrize("answer", ["approve", "reject"])
async def test_an_unknown_modality_is_absent(offering: Api, modality_id: str, answer: str) -> None:
    _, path = await an_asking_debtor(offering)

    refused = await offering.nordwind.post(f"{path}/{modality_id}/{answer}")

    assert (refused.status_code, refused.json()["error"]["type"]) == (404, "NotFound")


async def test_another_merchants_modality_is_as_good_as_absent(offering: Api) -> None:
    arrangement, _ = await an_asking_debtor(offering)
    asked = await arrangement.ask()
    [theirs] = await offering.hansen.create("B-1")

    for answer in ("approve", "reject"):
        path = f"/claims/{theirs}/payment-modalities/{asked.modality_id}/{answer}"
        refused = await offering.hansen.post(path)
        assert (refused.status_code, refused.json()["error"]["type"]) == (404, "NotFound")
    assert await arrangement.look(asked.modality_id) == asked


async def test_pages_hang_together_newest_first(offering: Api) -> None:
    arrangement, path = await an_asking_debtor(offering)
    asked = []
    for _ in range(3):
        modality_id = (await arrangement.ask()).modality_id
        await arrangement.withdraw(modality_id)
        asked.append(str(modality_id))

    first = await listed(offering, path, limit=2)
    second = await listed(offering, path, limit=2, cursor=first["nextCursor"])

    assert [each["id"] for each in first["items"] + second["items"]] == asked[::-1]
    assert second["nextCursor"] is None


async def test_a_foreign_cursor_is_refused(offering: Api) -> None:
    arrangement, path = await an_asking_debtor(offering)
    _, other = await an_asking_debtor(offering, "INV-2")
    for _ in range(2):
        await arrangement.withdraw((await arrangement.ask()).modality_id)
    cursor = (await listed(offering, path, limit=1))["nextCursor"]

    for text in (cursor, "abc", ""):
        answer = await offering.nordwind.get(other, params={"cursor": text})
        assert answer.status_code == 422
        [fault] = answer.json()["error"]["details"]["errors"]
        assert fault["path"] == "/cursor"


async def test_the_event_is_listed_as_the_contract_shows_it(offering: Api) -> None:
    arrangement, _ = await an_asking_debtor(offering)
    asked = await arrangement.ask(DEFERMENT)

    [event] = (await offering.nordwind.get("/events")).json()["result"]["items"]

    assert event["type"] == "PAYMENT_MODALITY_STATE_CHANGE"
    assert event["source"] is None
    assert event["claim"]["paymentModality"] == {
        "type": "PAYMENT_DEFEREMENT",
        "state": "REQUESTED",
        "modalityId": str(asked.modality_id),
    }


async def test_a_sandbox_clock_stops_where_a_modality_ends(offering: Api) -> None:
    arrangement, path = await an_asking_debtor(offering)
    await arrangement.agree(PLAN)

    moved = await offering.nordwind.post("/test-clock", {"advanceTo": "2026-03-23T22:59:59Z"})
    assert moved.json()["result"]["stepsRun"] == 0
    assert (await listed(offering, path))["items"][0]["endedAt"] is None
    await offering.nordwind.post("/test-clock", {"advanceTo": "2026-03-30T09:00:00Z"})

    [item] = (await listed(offering, path))["items"]
    assert (item["endedAt"], item["endedReason"]) == ("2026-03-23T23:00:00.000Z", "BROKEN")
    # A day of rest, then the contact hours: Wednesday, 9:00 in Berlin.
    events = (await offering.nordwind.get("/events")).json()["result"]["items"]
    assert (events[-1]["type"], events[-1]["date"]) == ("ESCALATED", "2026-03-25T08:00:00Z")
