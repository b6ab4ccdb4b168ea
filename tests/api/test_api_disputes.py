"""Disputes over HTTP."""

from typing import Any
from uuid import UUID

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.cases.disputes.dispute import render_case_number
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Answer, Api, an_api
from tests.support.disputes import dispute, withdraw
from tests.support.merchants import CONFIGURATION

ABSENT = "01955b2e-4c00-7a1f-8d3b-5a6978c0d1e2"
OWN = msgspec.structs.replace(
    CONFIGURATION, disputes=DisputeSettings((DisputeReason("WRONG_SIZE", {"de": "Falsche Größe"}),))
)


async def open_one(api: Api, claim_id: int, **changes: Any) -> Answer:
    given = {"type": "AMOUNT_WRONG", "message": "ten too much", **changes}
    answer = await api.nordwind.post(f"/claims/{claim_id}/disputes", given)
    assert answer.status_code == 200, answer.text
    opened: Answer = answer.json()["result"]
    return opened


async def read(api: Api, claim_id: int) -> Answer:
    claim: Answer = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    return claim


async def list_all(api: Api, claim_id: int) -> list[Answer]:
    listed = (await api.nordwind.get(f"/claims/{claim_id}/disputes")).json()["result"]
    assert listed["nextCursor"] is None
    found: list[Answer] = listed["items"]
    return found


async def test_a_merchants_dispute_holds_the_claim_and_raises_the_event(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    opened = await open_one(api, claim_id)

    assert opened == {
        "id": opened["id"], "claimId": claim_id, "type": "AMOUNT_WRONG", "reason": None,
        "label": None, "message": "ten too much", "answers": {}, "files": [], "state": "OPEN",
        "caseNumber": render_case_number(UUID(opened["id"])), "openedBy": "MERCHANT",
        "openedAt": "2026-03-02T09:00:00.000Z", "resolvedAt": None,
        "resolution": None, "claimEnded": None,
    }  # fmt: skip
    assert await list_all(api, claim_id) == [opened]
    [hold] = (await read(api, claim_id))["holds"]
    assert hold["kind"] == "DISPUTE"
    [event] = (await api.nordwind.get("/events")).json()["result"]["items"]
    assert event["claim"]["disputeReason"] == {"type": "AMOUNT_WRONG", "disputeId": opened["id"]}


async def test_a_reason_of_the_merchants_own_is_other_in_its_words(
    resources: Resources, clock: MovableClock
) -> None:
    async with an_api(resources, clock, configuration=OWN) as api:
        [claim_id] = await api.nordwind.create()
        opened = await open_one(api, claim_id, type="WRONG_SIZE")
        [event] = (await api.nordwind.get("/events")).json()["result"]["items"]
    assert [opened[name] for name in ("type", "reason", "label", "message")] == [
        "OTHER", "WRONG_SIZE", "Falsche Größe", "ten too much",
    ]  # fmt: skip
    assert event["claim"]["disputeReason"] == {
        "type": "OTHER", "message": "Falsche Größe", "disputeId": opened["id"],
    }  # fmt: skip


async def test_accepting_withdraws_the_claim(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await open_one(api, claim_id)
    path = f"/claims/{claim_id}/disputes/{opened['id']}/resolve"

    answer = await api.nordwind.post(path, {"outcome": "ACCEPTED", "message": "Right you are."})

    assert answer.json()["result"] == {
        **opened, "state": "ACCEPTED", "resolvedAt": "2026-03-02T09:00:00.000Z",
        "resolution": "Right you are.", "claimEnded": True,
    }  # fmt: skip
    claim = await read(api, claim_id)
    assert (claim["status"], claim["holds"], claim["nextStepAt"]) == ("WITHDRAWN", [], None)
    again = await api.nordwind.post(path, {"outcome": "ACCEPTED"})
    assert (again.status_code, again.content) == (200, answer.content)


async def test_a_claim_may_live_on_after_an_accepted_dispute(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await open_one(api, claim_id)
    path = f"/claims/{claim_id}/disputes/{opened['id']}/resolve"

    answer = await api.nordwind.post(path, {"outcome": "ACCEPTED", "endClaim": False})

    assert answer.json()["result"]["claimEnded"] is False
    claim = await read(api, claim_id)
    # It rests until the debtor was told, and some days more.
    [hold] = claim["holds"]
    assert (claim["status"], hold["kind"], hold["until"]) == ("CREATED", "DISPUTE", None)


@pytest.mark.parametrize("key", [None, "key-1"])
async def test_the_other_outcome_is_refused_with_the_state(api: Api, key: str | None) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await open_one(api, claim_id)
    path = f"/claims/{claim_id}/disputes/{opened['id']}/resolve"
    await api.nordwind.post(path, {"outcome": "REJECTED"})

    answer = await api.nordwind.post(path, {"outcome": "ACCEPTED"}, key=key)

    assert answer.status_code == 409
    error = answer.json()["error"]
    assert (error["type"], error["details"]) == ("InvalidState", {"state": "REJECTED"})
    assert (await read(api, claim_id))["status"] == "CREATED"


async def test_a_debtors_dispute_is_listed_and_a_withdrawn_one_is_not_answered(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    theirs = await withdraw(api.harness, await dispute(api.harness, claim_id))

    [listed] = await list_all(api, claim_id)
    answer = await api.nordwind.post(
        f"/claims/{claim_id}/disputes/{theirs.dispute_id}/resolve", {"outcome": "REJECTED"}
    )

    assert (listed["openedBy"], listed["state"]) == ("DEBTOR", "WITHDRAWN")
    assert answer.json()["error"]["details"] == {"state": "WITHDRAWN"}


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"type": "AMOUNT_WORNG"}, {"/type"}),
        ({"type": ""}, {"/type"}),
        ({"type": None}, {"/type"}),
        ({"type": "OTHER", "message": None}, {"/message"}),
        ({"type": "OTHER", "message": "  "}, {"/message"}),
        ({"message": "x" * 2001}, {"/message"}),
        ({"message": "a\x00"}, {"/message"}),
        ({"message": ""}, {"/message"}),
        ({"mesage": "a", "type": 1}, {"/mesage", "/type"}),
    ],
)
async def test_a_faulty_dispute_is_refused_and_changes_nothing(
    api: Api, changes: dict[str, Any], paths: set[str]
) -> None:
    [claim_id] = await api.nordwind.create()

    given = {"type": "AMOUNT_WRONG", "message": "a", **changes}
    answer = await api.nordwind.post(f"/claims/{claim_id}/disputes", given)

    assert answer.status_code == 422
    assert {each["path"] for each in answer.json()["error"]["details"]["errors"]} == paths
    assert [await api.count(table) for table in ("disputes", "holds", "events")] == [0, 0, 0]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/outcome"),
        ({"outcome": "WITHDRAWN"}, "/outcome"),
        ({"outcome": "ACCEPTED", "endClaim": "no"}, "/endClaim"),
        ({"outcome": "REJECTED", "endClaim": True}, "/endClaim"),
        ({"outcome": "REJECTED", "message": "x" * 2001}, "/message"),
        ({"outcome": "ACCEPTED", "endclaim": False}, "/endclaim"),
    ],
)
async def test_a_faulty_answer_is_refused_and_changes_nothing(
    api: Api, body: dict[str, Any], path: str
) -> None:
    [claim_id] = await api.nordwind.create()
    opened = await open_one(api, claim_id)

    answer = await api.nordwind.post(f"/claims/{claim_id}/disputes/{opened['id']}/resolve", body)

    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [path]
    assert await list_all(api, claim_id) == [opened]


@pytest.mark.parametrize("dispute_id", [ABSENT, "1", "%00"])
async def test_an_unknown_dispute_is_absent(api: Api, dispute_id: str) -> None:
    [claim_id] = await api.nordwind.create()

    path = f"/claims/{claim_id}/disputes/{dispute_id}/resolve"
    answer = await api.nordwind.post(path, {"outcome": "ACCEPTED"})

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")


async def test_a_repeated_post_under_a_key_opens_one_dispute(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    answers = [
        await api.nordwind.post(f"/claims/{claim_id}/disputes", {"type": "DEFECTIVE"}, key="k")
        for _ in range(2)
    ]

    assert answers[0].content == answers[1].content
    assert len(await list_all(api, claim_id)) == 1
