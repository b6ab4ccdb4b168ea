"""The security headers of every response of every interface, whether it comes from a route, a
refusal, a crash or the server itself."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from dunwell.interfaces.api.app import build_app
from dunwell.interfaces.api.edge import build_server_refusal_renderer
from dunwell.interfaces.wiring import open_web
from dunwell.platform.errors import (
    AddressTooLong,
    HeadTooLarge,
    InvalidRequest,
    RateLimited,
    Refusal,
    TooSlow,
    Unavailable,
)
from dunwell.platform.http.server import ServerLimits
from dunwell.platform.resources import Resources
from tests.support.application import connect
from tests.support.children import INSPECTOR
from tests.support.interfaces import list_addresses
from tests.support.limited_server import bounded, read_response, talk

_EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SEVERELY = "Strict-Transport-Security"
_REFUSALS = [
    InvalidRequest("-"), TooSlow("-"), AddressTooLong("-", limit=1), HeadTooLarge("-", limit=1),
    RateLimited("-", retry_after=1), Unavailable("-"),
]  # fmt: skip


def _in_production(resources: Resources) -> Resources:
    settings = replace(resources.settings, profile="production", public_url="https://127.0.0.1")
    return replace(resources, settings=settings)


@pytest.fixture(params=["development", "production"])
async def app(
    resources: Resources, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[Starlette, bool]]:
    """The whole application, and whether it is in production."""
    is_production = request.param == "production"
    async with open_web(_in_production(resources) if is_production else resources) as web:
        yield web.app, is_production


def _check(answer: httpx.Response, *, is_production: bool, what: str) -> None:
    headers = answer.headers
    assert {name: headers.get(name) for name in _EVERYWHERE} == _EVERYWHERE, what
    assert headers["Content-Security-Policy"].startswith("default-src 'none'"), what
    assert headers["Cache-Control"], what
    assert len(headers["X-Request-Id"]) == 36, what
    assert (headers.get(_SEVERELY) == "max-age=31536000") is is_production, what
    for name in headers:
        assert len(headers.get_list(name)) == 1, f"{what} says {name} twice"


async def test_every_response_of_every_address_has_the_security_headers(
    app: tuple[Starlette, bool],
) -> None:
    root, is_production = app
    addresses = [*list_addresses(root), "/nothing", "/claim/nothing", "/api/nothing", "/q"]

    async with connect(root) as http:
        for path in addresses:
            for method in ("GET", "POST", "OPTIONS", "TRACE"):
                answer = await http.request(method, path, headers={"Host": "127.0.0.1"})
                _check(answer, is_production=is_production, what=f"{method} {path}")

    assert len(addresses) > 90


async def test_responses_to_crashes_and_missing_hosts_have_the_security_headers(
    resources: Resources,
) -> None:
    async def crash(_request: object) -> None:
        raise RuntimeError

    app = build_app(_in_production(resources), [], INSPECTOR, [Route("/crash", crash)])

    async with connect(app) as http:
        crashed = await http.get("/crash", headers={"Host": "127.0.0.1"})
        refused = await http.get("/healthz", headers={"Host": "a b"})

    assert (crashed.status_code, refused.status_code) == (500, 400)
    _check(crashed, is_production=True, what="crash")
    _check(refused, is_production=True, what="host")


@pytest.mark.parametrize("refusal", _REFUSALS, ids=lambda each: each.type)
@pytest.mark.parametrize("profile", ["development", "production"])
def test_the_servers_own_refusals_have_the_security_headers(
    resources: Resources, refusal: Refusal, profile: str
) -> None:
    is_production = profile == "production"
    answer = build_server_refusal_renderer(
        _in_production(resources) if is_production else resources
    )

    status, headers, body = answer(refusal)

    response = httpx.Response(status, headers=headers, content=body)
    assert response.json()["error"]["type"] == refusal.type
    _check(response, is_production=is_production, what=refusal.type)


async def test_the_servers_refusals_are_sent_with_the_security_headers(
    resources: Resources,
) -> None:
    resources = _in_production(resources)
    app = build_app(resources, [], INSPECTOR)

    async with bounded(
        app, build_server_refusal_renderer(resources), ServerLimits(head_bytes=500)
    ) as port:
        broken = read_response(await talk(port, b"nothing\r\n\r\n"))
        large = read_response(await talk(port, b"GET / HTTP/1.1\r\nX: " + b"a" * 600))

    assert (broken.status_code, large.status_code) == (400, 431)
    _check(broken, is_production=True, what="broken")
    _check(large, is_production=True, what="large")
