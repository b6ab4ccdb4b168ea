"""openid-client, a common client in JavaScript, can use the token endpoint."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.api_server import a_server

_ROOT = Path(__file__).parents[2]
_LIBRARY = _ROOT / "var/openid-client/node_modules/openid-client/build/index.js"
_PROGRAM = _ROOT / "tests/support/oauth_client.mjs"
_WAYS = ("form", "basic")


@pytest.fixture
async def api(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    async with an_api(resources, clock) as api:
        yield api


async def run_client(asked: list[dict[str, str]]) -> list[dict[str, Any]]:
    assert _LIBRARY.is_file(), f"{_LIBRARY} is missing; make e2e installs it"
    pipe = asyncio.subprocess.PIPE
    node = await asyncio.create_subprocess_exec(
        "node", str(_PROGRAM), str(_LIBRARY), stdin=pipe, stdout=pipe
    )
    answer, _ = await node.communicate(json.dumps(asked).encode())
    results: list[dict[str, Any]] = json.loads(answer)
    return results


def asking(api: Api, origin: str, way: str, **changes: str) -> dict[str, str]:
    credential = api.nordwind.credential
    known = {"clientId": credential.client_id, "clientSecret": credential.client_secret}
    return {"way": way, "tokenEndpoint": f"{origin}/api/token", **known, **changes}


async def test_the_client_gets_tokens_by_form_and_by_basic_that_work_for_an_hour(
    api: Api, clock: MovableClock
) -> None:
    async with a_server(api.app) as origin:
        url = f"{origin}/api/merchants/{api.nordwind.merchant_id}/workflows-meta"
        tokens = await run_client([asking(api, origin, way) for way in _WAYS])
        using = [{"token": each["access_token"], "url": url} for each in tokens]
        clock.advance(timedelta(seconds=3599))
        fresh = await run_client(using)
        clock.advance(timedelta(seconds=1))
        expired = await run_client(using)

    kinds = [(each["token_type"], each["expires_in"]) for each in tokens]
    assert kinds == [("bearer", 3600)] * 2
    assert fresh == [{"status": 200}] * 2
    assert [each["status"] for each in expired] == [401, 401]


async def test_the_client_reads_the_refusal_of_a_wrong_secret(api: Api) -> None:
    async with a_server(api.app) as origin:
        wrong = [asking(api, origin, way, clientSecret="dws_wrong") for way in _WAYS]
        unknown_clients = [asking(api, origin, way, clientId="dwc_nobody") for way in _WAYS]
        refused = await run_client([*wrong, *unknown_clients])

    assert [each["status"] for each in refused] == [401] * 4
    # The client reports the challenge. The body is the usual `invalid_client`.
    assert {each["error"] for each in refused} == {"OAUTH_WWW_AUTHENTICATE_CHALLENGE"}
