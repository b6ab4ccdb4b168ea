"""Changing claims over HTTP: contact data, ends, pauses."""

from typing import Any

import msgspec
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
async def test_a_patch_answers_the_claim_as_it_is_now(api: Api, headers: dict[str, str]) -> None:
    [claim_id] = await api.nordwind.create(mobileNumber="+4915112345678")
    before = await read(api, claim_id)

    body = {"mobileNumber": None, "address": {"street": "Am Markt 1", "city": "Hamburg"}}
    answer = await patch(api, claim_id, body, headers=headers)

    assert answer.status_code == 200
    assert answer.json()["result"] == {**before, **body} == await read(api, claim_id)


async def test_a_faulty_patch_names_every_fault_and_changes_nothing(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    before = await read(api, claim_id)

    body = {"emial": "a@example.org", "email": "nobody", "currency": "USD", "debtorName": 7}
    answer = await patch(api, claim_id, body)

    assert answer.status_code == 422
    faults = {each["path"]: each for each in answer.json()["error"]["details"]["errors"]}
    assert sorted(faults) == ["/currency", "/debtorName", "/email", "/emial"]
    assert 'Did you mean "email"?' in faults["/emial"]["message"]
    assert await read(api, claim_id) == before


async def test_what_is_no_json_object_is_refused(api: Api) -> None:
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


@pytest.mark.parametrize(("word", "status"), [("withdraw", "WITHDRAWN"), ("archive", "ARCHIVED")])
async def test_a_claim_is_ended_once_and_for_good(api: Api, word: str, status: str) -> None:
    [claim_id] = await api.nordwind.create()
    other = {"withdraw": "archive", "archive": "withdraw"}[word]

    first = await api.nordwind.post(f"/claims/{claim_id}/{word}")
    again = await api.nordwind.post(f"/claims/{claim_id}/{word}")
    refused = await api.nordwind.post(f"/claims/{claim_id}/{other}")

    assert first.json()["result"]["status"] == status
    assert (again.status_code, again.content) == (200, first.content)
    assert (refused.status_code, refused.json()["error"]["type"]) == (409, "InvalidState")
    assert refused.json()["error"]["details"] == {"state": status}
    assert await api.count("events") == 0


async def test_a_pause_stands_until_it_is_resumed(api: Api) -> None:
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


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"until": "2026-03-01T08:00:00Z"}, "/until"),
        ({"until": "tomorrow"}, "/until"),
        ({"till": "2026-03-24T08:00:00Z"}, "/till"),
        ({"reason": ""}, "/reason"),
    ],
)
async def test_a_faulty_pause_is_refused(api: Api, body: dict[str, str], path: str) -> None:
    [claim_id] = await api.nordwind.create()

    answer = await api.nordwind.post(f"/claims/{claim_id}/pause", body)

    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [path]
    assert await api.count("holds") == 0


async def test_a_withdrawal_under_a_key_is_answered_the_same(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    first = await api.nordwind.post(f"/claims/{claim_id}/withdraw", key="k-1")
    again = await api.nordwind.post(f"/claims/{claim_id}/withdraw", key="k-1")

    assert first.content == again.content
    assert msgspec.json.decode(again.content)["result"]["status"] == "WITHDRAWN"


async def test_an_addresss_method_is_told_from_those_it_takes(api: Api) -> None:
    path = f"/merchants/{api.nordwind.merchant_id}/claims/1"
    answer = await api.nordwind.send("PUT", path, json={})

    assert answer.status_code == 405
    assert answer.json()["error"]["details"] == {"allowed": ["GET", "PATCH"]}
