"""Asking for a replay over the API."""

from typing import Any

import pytest

from tests.support.api import Api

ADD_ENDPOINT = """
INSERT INTO webhook_endpoints (merchant_id, endpoint_id, url, types, secret_sealed, created_at)
VALUES ($1, gen_random_uuid(), 'https://hooks.example.org/', '{*}', '\\x00', now())
"""


async def some_events(api: Api) -> None:
    await api.nordwind.create("A-1")
    await api.nordwind.create("A-2", email="other@example.org")
    await api.harness.run()
    await api.harness.rows(ADD_ENDPOINT)


async def test_the_answer_says_how_many_are_due_again(api: Api) -> None:
    await some_events(api)

    answer = await api.nordwind.post("/events/replay", {"since": "2026-03-01T00:00:00Z"})

    assert answer.json()["result"] == {"replayed": 2}
    assert await api.count("deliveries") == 2


async def test_one_key_replays_once(api: Api) -> None:
    await some_events(api)
    asked = {"since": "2026-03-01T00:00:00Z"}
    first = await api.nordwind.post("/events/replay", asked, key="again")
    await api.harness.rows(
        "UPDATE deliveries SET state = 'DELIVERED', due_at = NULL WHERE merchant_id = $1"
    )
    second = await api.nordwind.post("/events/replay", asked, key="again")

    assert first.content == second.content
    due = "SELECT FROM deliveries WHERE merchant_id = $1 AND state = 'PENDING'"
    assert await api.harness.rows(due) == []


async def test_a_type_nothing_happened_of_replays_nothing(api: Api) -> None:
    await some_events(api)
    asked = {"since": "2026-03-01T00:00:00Z", "types": ["ARCHIVED"]}
    answer = await api.nordwind.post("/events/replay", asked)
    assert answer.json()["result"] == {"replayed": 0}


@pytest.mark.parametrize(
    ("body", "paths"),
    [
        ({}, {"/since"}),
        ({"since": "yesterday"}, {"/since"}),
        ({"since": "2026-03-01T00:00:00Z", "types": []}, {"/types"}),
        ({"since": "2026-03-01T00:00:00Z", "types": ["escalated"]}, {"/types/0"}),
        ({"since": "2026-03-01T00:00:00Z", "until": "2026-03-01T00:00:00Z"}, {"/until"}),
        ({"since": "2026-03-01T00:00:00Z", "endpointId": "x"}, {"/endpointId"}),
        (
            {
                "since": "2026-03-01T00:00:00Z",
                "endpointId": "0195547b-2b11-7c9a-a0b1-c2d3e4f50617",
            },
            {"/endpointId"},
        ),
        ({"since": "2026-03-01T00:00:00Z", "type": "ARCHIVED"}, {"/type"}),
    ],
)
async def test_a_faulty_request_is_refused(api: Api, body: dict[str, Any], paths: set[str]) -> None:
    await some_events(api)

    answer = await api.nordwind.post("/events/replay", body)

    assert answer.status_code == 422
    assert {each["path"] for each in answer.json()["error"]["details"]["errors"]} == paths
    assert await api.count("deliveries") == 0
