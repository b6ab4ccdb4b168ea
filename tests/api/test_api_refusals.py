"""Refusals of every route: unreadable bodies, other media types, crashes and too many requests."""

import json
from datetime import timedelta
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, a_credential, an_api, form_of

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[}", b'[{"a":"\xff"}]', b"[" * 2_900, b"[1,]", b"\x00", b"[NaN]"]
)
@pytest.mark.parametrize("path", ["/claims", "/claims/1/payments", "/assignments/workflows/x"])
async def test_a_body_that_is_not_json_is_refused(api: Api, path: str, content: bytes) -> None:
    answer = await api.nordwind.post(path, content=content, headers=JSON)

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidRequest")
    assert await api.count("claims") == 0


@pytest.mark.parametrize("body", [{}, "claims", 1, None, True, []])
async def test_a_body_that_is_not_a_list_of_claims_is_refused_as_a_whole(
    api: Api, body: Any
) -> None:
    answer = await api.nordwind.post("/claims", content=json.dumps(body), headers=JSON)

    assert (answer.status_code, answer.json()["error"]["type"]) == (422, "ValidationError")
    assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [""]


@pytest.mark.parametrize("content_type", ["text/plain", "", "application/jsonx", "text/json"])
async def test_another_media_type_is_refused(api: Api, content_type: str) -> None:
    answer = await api.nordwind.post(
        "/claims", content=b"[]", headers={"Content-Type": content_type}
    )

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (415, "UnsupportedMediaType")
    assert error["details"] == {"allowed": ["application/json"]}


async def test_the_response_to_a_crash_contains_only_the_request_id(
    resources: Resources, clock: MovableClock
) -> None:
    async def crash(_request: Request) -> Response:
        raise RuntimeError("the debtor's name is Mustermann")

    async with an_api(resources, clock, [Route("/crash", crash)]) as api:
        answer = await api.nordwind.http.get("/crash")

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (500, "InternalError")
    assert error["details"] == {"requestId": answer.headers["X-Request-Id"]}
    assert "Mustermann" not in answer.text


async def test_the_crash_of_an_operation_gets_the_same_response(api: Api) -> None:
    async with api.resources.database.connection() as connection:
        await connection.execute(
            "ALTER TABLE events RENAME TO events_elsewhere; "
            "CREATE VIEW events AS SELECT * FROM events_elsewhere WHERE 1 / 0 = 1"
        )
        answer = await api.nordwind.get("/events")
        await connection.execute("DROP VIEW events; ALTER TABLE events_elsewhere RENAME TO events")

    error = answer.json()["error"]
    assert (answer.status_code, error["type"]) == (500, "InternalError")
    assert error["details"] == {"requestId": answer.headers["X-Request-Id"]}


async def test_requests_above_the_rate_limit_wait_for_the_next_minute(
    api: Api, clock: MovableClock
) -> None:
    credential = await a_credential(api.harness, "small", requests_per_minute=3)
    answer = await api.nordwind.send("POST", "/token", token="", data=form_of(credential))
    token = answer.json()["access_token"]
    clock.advance(timedelta(seconds=20))

    statuses = [(await api.nordwind.get("/events", token=token)).status_code for _ in range(3)]
    refused = await api.nordwind.get("/events", token=token)
    clock.advance(timedelta(seconds=40))
    later = await api.nordwind.get("/events", token=token)

    assert statuses == [200, 200, 200]
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "RateLimited")
    assert refused.headers["Retry-After"] == "40"
    assert later.status_code == 200
