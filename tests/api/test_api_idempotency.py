"""`Idempotency-Key` (CONTRACT 1): a key has one effect and one response."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import httpx
import pytest

from dunwell.accounts.merchants.store import try_lock_idempotency_key
from dunwell.platform.clock import MovableClock
from tests.support.api import Api
from tests.support.claims import a_claim
from tests.support.files import a_pdf, an_image
from tests.support.web_processes import Web


async def test_a_repeated_request_gets_the_same_bytes_and_has_one_effect(api: Api) -> None:
    answers = [await api.nordwind.post("/claims", [a_claim()], key="k") for _ in range(3)]

    assert {each.content for each in answers} == {answers[0].content}
    assert answers[0].json()["result"][0]["error"] is None
    assert await api.count("claims") == 1


async def test_fifty_concurrent_requests_have_one_effect(api: Api) -> None:
    async def post() -> tuple[int, bytes]:
        answer = await api.nordwind.post("/claims", [a_claim()], key="k")
        if answer.status_code == 409:
            assert answer.json()["error"]["type"] == "IdempotencyConflict"
            assert answer.headers["Retry-After"] == "1"
        return answer.status_code, answer.content

    answers = await asyncio.gather(*[post() for _ in range(50)])

    assert await api.count("claims") == 1
    assert await api.count("idempotency_keys") == 1
    assert len({content for status, content in answers if status == 200}) == 1
    assert set(Counter(status for status, _ in answers)) <= {200, 409}
    assert (await post())[0] == 200


async def test_fifty_concurrent_requests_in_two_processes_have_one_effect(
    api: Api, webs: Sequence[Web]
) -> None:
    path = f"/api/merchants/{api.nordwind.merchant_id}/claims"
    headers = {
        "Authorization": f"Bearer {webs[0].token_of(api.nordwind.credential)}",
        "Idempotency-Key": "k",
    }
    async with httpx.AsyncClient(headers=headers, timeout=30) as http:
        posts = [http.post(f"{web.origin}{path}", json=[a_claim()]) for web in [*webs] * 25]
        answers = await asyncio.gather(*posts)
        last = [await http.post(f"{web.origin}{path}", json=[a_claim()]) for web in webs]

    assert [each.status_code for each in last] == [200, 200]
    assert {each.status_code for each in answers} <= {200, 409}
    refused = [each for each in answers if each.status_code == 409]
    assert {each.headers["Retry-After"] for each in refused} <= {"1"}
    done = [each.content for each in [*answers, *last] if each.status_code == 200]
    assert set(done) == {last[0].content}
    assert len(done) + len(refused) == 52
    assert await api.count("claims") == 1
    assert await api.count("idempotency_keys") == 1


async def test_another_request_with_the_same_key_is_refused(api: Api) -> None:
    await api.nordwind.post("/claims", [a_claim("A-1")], key="k")

    answer = await api.nordwind.post("/claims", [a_claim("A-2")], key="k")

    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "IdempotencyConflict")
    assert "Retry-After" not in answer.headers
    assert await api.count("claims") == 1


async def test_a_request_whose_key_is_in_progress_is_refused_for_a_second(api: Api) -> None:
    async with api.resources.database.transaction() as tx:
        assert await try_lock_idempotency_key(tx, api.nordwind.merchant_id, "k")
        answer = await api.nordwind.post("/claims", [a_claim()], key="k")

    assert (answer.status_code, answer.headers["Retry-After"]) == (409, "1")
    assert await api.count("claims") == 0


async def test_a_key_is_kept_for_thirty_days(api: Api, clock: MovableClock) -> None:
    first = await api.nordwind.post("/claims", [a_claim("A-1")], key="k")
    clock.advance(timedelta(days=30, microseconds=-1))
    await api.nordwind.obtain_token()
    again = await api.nordwind.post("/claims", [a_claim("A-1")], key="k")
    clock.advance(timedelta(microseconds=1))

    answer = await api.nordwind.post("/claims", [a_claim("A-2")], key="k")

    assert again.content == first.content
    assert answer.status_code == 200
    assert await api.count("claims") == 2


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/claims", [], 422),
        ("/claims/{claim}/payments", {"amount": 0, "currency": "EUR", "transactionId": "t"}, 422),
        ("/assignments/workflows/{workflow}", [999_999], 422),
        ("/test-clock", {"advanceTo": "2026-03-10T09:00:00Z"}, 409),
    ],
)
async def test_permanent_refusals_are_stored(api: Api, path: str, body: Any, status: int) -> None:
    [claim_id] = await api.nordwind.create()
    path = path.format(claim=claim_id, workflow=api.version.workflow_id)

    answers = [await api.nordwind.post(path, body, key="k") for _ in range(2)]

    assert [each.status_code for each in answers] == [status, status]
    assert answers[0].content == answers[1].content
    assert await api.count("idempotency_keys") == 1


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("/claims", {"content": b"{", "headers": {"Content-Type": "application/json"}}, 400),
        ("/claims", {"json": [], "token": "dwt_wrong"}, 401),
        (
            "/claims/1/payments",
            {"json": {"amount": 1, "currency": "EUR", "transactionId": "t"}},
            404,
        ),
        ("/claims", {"content": b"[]"}, 415),
        (
            "/uploads",
            {"files": {"fileName": ("a.pdf", b"<html>"), "friendlyName": (None, "A")}},
            415,
        ),
    ],
)
async def test_temporary_refusals_are_not_stored(
    api: Api, path: str, given: dict[str, Any], status: int
) -> None:
    answer = await api.nordwind.post(path, key="k", **given)

    assert answer.status_code == status
    assert await api.count("idempotency_keys") == 0


async def test_an_upload_is_identified_by_the_contents_of_its_parts(api: Api) -> None:
    pdf = a_pdf()
    first = await api.nordwind.upload("invoice.pdf", pdf, key="k")

    again = await api.nordwind.upload("invoice.pdf", pdf, key="k")
    other = await api.nordwind.upload("invoice.pdf", an_image("PNG"), key="k")

    assert (again.status_code, again.content) == (200, first.content)
    assert (other.status_code, other.json()["error"]["type"]) == (409, "IdempotencyConflict")
    assert await api.count("uploads") == 1


async def test_a_partly_failed_assignment_is_stored(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    path = f"/assignments/workflows/{api.version.workflow_id}"

    answers = [await api.nordwind.post(path, [claim_id, 999_999], key="k") for _ in range(2)]

    assert answers[0].content == answers[1].content
    errors = answers[0].json()["error"]["details"]["errors"]
    assert [each["claimId"] for each in errors] == [999_999]


@pytest.mark.parametrize("key", ["", "k" * 256, "a\tb"])
async def test_a_malformed_key_is_refused(api: Api, key: str) -> None:
    answer = await api.nordwind.post("/claims", [a_claim()], key=key)

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidRequest")
    assert await api.count("claims") == 0
