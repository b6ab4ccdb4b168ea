"""Replays of events."""

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


async def test_a_replay_returns_the_number_of_deliveries(api: Api) -> None:
    await some_events(api)

    answer = await api.nordwind.post("/events/replay", {"since": "2026-03-01T00:00:00Z"})

    assert answer.json()["result"] == {"replayed": 2}
    assert await api.count("deliveries") == 2


async def test_a_replay_to_an_unknown_endpoint_is_refused(api: Api) -> None:
    await some_events(api)
    asked = {
        "since": "2026-03-01T00:00:00Z", "endpointId": "0195547b-2b11-7c9a-a0b1-c2d3e4f50617",
    }  # fmt: skip

    answer = await api.nordwind.post("/events/replay", asked)

    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == ["/endpointId"]
    assert await api.count("deliveries") == 0
