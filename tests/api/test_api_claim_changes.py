"""Changes of claims: contact data, ends and pauses."""

from typing import Any

import pytest

from tests.support.api import Api

MERGE_PATCH = {"Content-Type": "application/merge-patch+json"}


async def patch(api: Api, claim_id: int, body: Any, **given: Any) -> Any:
    path = f"/merchants/{api.nordwind.merchant_id}/claims/{claim_id}"
    return await api.nordwind.send("PATCH", path, json=body, **given)


async def read(api: Api, claim_id: int) -> dict[str, Any]:
    result: dict[str, Any] = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    return result


@pytest.mark.parametrize("headers", [{}, MERGE_PATCH], ids=["json", "merge-patch"])
async def test_a_patch_returns_the_changed_claim(api: Api, headers: dict[str, str]) -> None:
    [claim_id] = await api.nordwind.create(mobileNumber="+4915112345678")
    before = await read(api, claim_id)

    body = {"mobileNumber": None, "address": {"street": "Am Markt 1", "city": "Hamburg"}}
    answer = await patch(api, claim_id, body, headers=headers)

    assert answer.status_code == 200
    assert answer.json()["result"] == {**before, **body} == await read(api, claim_id)


async def test_a_faulty_patch_reports_every_fault_and_changes_nothing(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    before = await read(api, claim_id)

    body = {"emial": "a@example.org", "email": "nobody", "currency": "USD", "debtorName": 7}
    answer = await patch(api, claim_id, body)

    assert answer.status_code == 422
    faults = {each["path"]: each for each in answer.json()["error"]["details"]["errors"]}
    assert sorted(faults) == ["/currency", "/debtorName", "/email", "/emial"]
    assert 'Did you mean "email"?' in faults["/emial"]["message"]
    assert await read(api, claim_id) == before


async def test_a_patch_that_is_not_a_json_object_is_refused(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    path = f"/merchants/{api.nordwind.merchant_id}/claims/{claim_id}"
    for content, kind, status in (
        (b"{", "application/json", 400),
        (b"[]", "application/json", 422),
        (b"null", "application/json", 422),
        (b"{}", "text/plain", 415),
        (b'{"debtorName": "\\ud800"}', "application/json", 400),
    ):
        answer = await api.nordwind.send(
            "PATCH", path, content=content, headers={"Content-Type": kind}
        )
        assert answer.status_code == status, (content, answer.text)


@pytest.mark.parametrize(("action", "status"), [("withdraw", "WITHDRAWN"), ("archive", "ARCHIVED")])
async def test_an_ended_claim_cannot_be_ended_in_another_way(
    api: Api, action: str, status: str
) -> None:
    [claim_id] = await api.nordwind.create()
    other = {"withdraw": "archive", "archive": "withdraw"}[action]

    first = await api.nordwind.post(f"/claims/{claim_id}/{action}")
    again = await api.nordwind.post(f"/claims/{claim_id}/{action}")
    refused = await api.nordwind.post(f"/claims/{claim_id}/{other}")

    assert first.json()["result"]["status"] == status
    assert (again.status_code, again.content) == (200, first.content)
    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "InvalidState")
    assert refused.json()["error"]["details"] == {"state": status}
    assert await api.count("events") == 0


async def test_a_pause_lasts_until_the_claim_is_resumed(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    until = "2026-03-24T08:00:00.000Z"

    paused = await api.nordwind.post(f"/claims/{claim_id}/pause", {"until": until, "reason": "x"})
    open_ended = await api.nordwind.post(f"/claims/{claim_id}/pause")
    resumed = await api.nordwind.post(f"/claims/{claim_id}/resume")

    [hold] = paused.json()["result"]["holds"]
    assert (hold["kind"], hold["until"], hold["by"]) == ("PAUSE", until, "CREDENTIAL")
    assert paused.json()["result"]["nextStepAt"] is None
    [hold] = open_ended.json()["result"]["holds"]
    assert (hold["until"], hold["reason"]) == (None, None)
    assert (resumed.status_code, resumed.json()["result"]["holds"]) == (200, [])
