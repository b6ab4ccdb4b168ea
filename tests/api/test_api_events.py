"""The list of events: the webhooks' bodies, paged, filtered, nothing missed."""

import pytest

from tests.support.api import Api


async def test_events_come_oldest_first_with_the_bodies_of_the_webhooks(api: Api) -> None:
    claim_ids = await api.nordwind.create("A-1", "A-2", "A-3")
    await api.harness.run()

    answer = await api.nordwind.get("/events")

    result = answer.json()["result"]
    assert result["nextCursor"] is None
    assert [each["type"] for each in result["items"]] == ["ESCALATED"] * 3
    assert sorted(each["claim"]["id"] for each in result["items"]) == claim_ids
    assert result["items"][:1] == await api.harness.events(result["items"][0]["claim"]["id"])


async def test_pages_hang_together(api: Api) -> None:
    await api.nordwind.create("A-1", "A-2", "A-3")
    await api.harness.run()
    whole = (await api.nordwind.get("/events")).json()["result"]["items"]

    first = (await api.nordwind.get("/events", params={"limit": 2})).json()["result"]
    params = {"limit": 2, "cursor": first["nextCursor"]}
    second = (await api.nordwind.get("/events", params=params)).json()["result"]

    assert first["items"] + second["items"] == whole
    assert second["nextCursor"] is None


async def test_filters_choose(api: Api) -> None:
    claim_ids = await api.nordwind.create("A-1", "A-2")
    await api.harness.run()
    asked = {
        "claimId": (str(claim_ids[0]), 1),
        "type": ("ARCHIVED", 0),
        "since": ("2026-03-02T09:00:00Z", 2),
        "until": ("2026-03-02T09:00:00Z", 0),
    }
    for name, (value, count) in asked.items():
        answer = await api.nordwind.get("/events", params={name: value})

        assert len(answer.json()["result"]["items"]) == count, name


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=0", "/limit"),
        ("limit=201", "/limit"),
        ("limit=1&limit=2", "/limit"),
        ("limit=%D9%A1", "/limit"),
        ("cursor=abc", "/cursor"),
        ("cursor=", "/cursor"),
        ("type=escalated", "/type"),
        ("since=yesterday", "/since"),
        ("until=2026-03-02T09:00:00", "/until"),
        ("claimId=" + "9" * 40, "/claimId"),
        ("claimid=1", "/claimid"),
        ("type=%00", "/type"),
    ],
)
async def test_a_faulty_query_is_refused(api: Api, query: str, path: str) -> None:
    answer = await api.nordwind.get(f"/events?{query}")

    assert answer.status_code == 422
    assert path in {each["path"] for each in answer.json()["error"]["details"]["errors"]}


async def test_a_cursor_of_another_merchant_is_none(api: Api) -> None:
    await api.nordwind.create("A-1", "A-2")
    await api.harness.run()
    page = (await api.nordwind.get("/events", params={"limit": 1})).json()["result"]

    answer = await api.hansen.get("/events", params={"cursor": page["nextCursor"]})

    assert answer.status_code == 422
