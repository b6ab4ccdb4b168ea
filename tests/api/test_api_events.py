"""The list of events: its order, its bodies and its filters."""

import pytest

from dunwell.cases.payments.reversals import reverse_payment
from tests.support.api import Api


async def test_events_are_listed_oldest_first_with_the_bodies_of_webhooks(api: Api) -> None:
    claim_ids = await api.nordwind.create("A-1", "A-2", "A-3")
    await api.harness.run()

    answer = await api.nordwind.get("/events")

    result = answer.json()["result"]
    assert result["nextCursor"] is None
    assert [each["type"] for each in result["items"]] == ["ESCALATED"] * 3
    assert sorted(each["claim"]["id"] for each in result["items"]) == claim_ids
    assert result["items"][:1] == await api.harness.events(result["items"][0]["claim"]["id"])


async def test_filters_select_events(api: Api) -> None:
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


async def test_additional_types_are_listed_only_when_they_are_asked_for(api: Api) -> None:
    [claim_id] = await api.nordwind.create("A-1")
    await api.harness.run()
    recorded = await api.harness.pay(claim_id, 4000)
    async with api.harness.work() as work:
        await reverse_payment(work, claim_id, recorded.payment.payment_id)
    [addition] = await api.harness.additions(claim_id)
    usual = await api.harness.events(claim_id)

    for query, expected in (
        ({}, usual),
        ({"claimId": str(claim_id)}, usual),
        ({"since": "2026-03-01T00:00:00Z"}, usual),
        ({"include": "additions"}, [*usual, addition]),
        ({"include": "additions", "since": "2026-03-01T00:00:00Z"}, [*usual, addition]),
        ({"type": "PAYMENT_REVERSED"}, [addition]),
        ({"type": "ESCALATED", "include": "additions"}, usual),
    ):
        answer = await api.nordwind.get("/events", params=query)
        assert answer.json()["result"]["items"] == expected, query
    read = await api.nordwind.get(f"/events/{addition['eventId']}")
    assert read.json()["result"] == addition


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("limit=1&limit=2", "/limit"),
        ("cursor=", "/cursor"),
        ("type=escalated", "/type"),
        ("include=all", "/include"),
        ("until=2026-03-02T09:00:00", "/until"),
        ("claimId=" + "9" * 40, "/claimId"),
        ("claimid=1", "/claimid"),
    ],
)
async def test_a_faulty_query_is_refused(api: Api, query: str, path: str) -> None:
    answer = await api.nordwind.get(f"/events?{query}")

    assert answer.status_code == 422
    assert path in {each["path"] for each in answer.json()["error"]["details"]["errors"]}
