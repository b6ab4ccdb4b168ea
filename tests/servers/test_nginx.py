"""Dunwell behind the nginx of examples/production: the client address that it sees, and what nginx
lets through."""

import asyncio
import itertools
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.platform.resources import Resources
from tests.servers.nginx import HOST, Nginx, run_nginx
from tests.support.served import ServedApplication, serve

_FORGED = {"X-Forwarded-For": "203.0.113.66", "Host": HOST}


@dataclass
class ReceivedRequests:
    """What the server behind the proxy receives."""

    headers: list[dict[str, str]] = field(default_factory=list)
    bytes_read: int = 0


@pytest.fixture
async def served(resources: Resources) -> AsyncIterator[ServedApplication]:
    given = check_installation({"trustedProxies": ["127.0.0.1"]})
    await apply_installation(resources, given)
    async with serve(resources, public_url=f"https://{HOST}") as served:
        yield served


async def ask(nginx: Nginx, path: str, **given: object) -> tuple[int, dict[str, str], bytes]:
    context = ssl.create_default_context(cafile=str(nginx.certificate))
    async with (
        aiohttp.ClientSession() as session,
        session.request(
            str(given.pop("method", "GET")), f"https://127.0.0.1:{nginx.port}{path}",
            headers=_FORGED, ssl=context, server_hostname=HOST, allow_redirects=False,
            data=given.pop("data", None),
        ) as answer,
    ):  # fmt: skip
        return answer.status, dict(answer.headers), await answer.read()


async def test_nginx_passes_pages_and_the_api(served: ServedApplication, tmp_path: Path) -> None:
    with run_nginx(tmp_path, served.port) as nginx:
        assert (await ask(nginx, "/healthz"))[0] == 200
        status, headers, body = await ask(nginx, "/q")
        assert (status, b"<form" in body) == (200, True)
        assert "default-src 'none'" in dict(headers)["Content-Security-Policy"]
        assert (await ask(nginx, "/api/merchants/1/claims"))[0] == 401
        assert (await ask(nginx, "/metrics"))[0] == 404
        async with (
            aiohttp.ClientSession() as session,
            session.get(
                f"http://127.0.0.1:{nginx.plain_port}/q?x=1", headers={"Host": HOST},
                allow_redirects=False,
            ) as answer,
        ):  # fmt: skip
            moved = answer.status, answer.headers["Location"]
        assert moved == (308, f"https://{HOST}/q?x=1")


async def test_nginx_sets_the_client_address_and_accepts_large_bodies(tmp_path: Path) -> None:
    """The server behind the proxy records the request."""
    received = ReceivedRequests()

    async def hear(request: web.Request) -> web.Response:
        received.headers.append(dict(request.headers))
        async for piece in request.content.iter_any():
            received.bytes_read += len(piece)
        return web.Response(text="heard")

    app = web.Application(client_max_size=100 * 2**20)
    app.router.add_route("*", "/{path:.*}", hear)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        with run_nginx(tmp_path, runner.addresses[0][1]) as nginx:
            size = 30 * 2**20
            status, _, _ = await ask(nginx, "/claim", method="POST", data=BytesIO(b"x" * size))
    finally:
        await runner.cleanup()
    assert (status, received.bytes_read) == (200, size)
    [headers] = received.headers
    assert (headers["Host"], headers["X-Forwarded-For"]) == (HOST, "127.0.0.1")


async def test_one_visitor_may_open_200_connections(tmp_path: Path) -> None:
    """The server behind the proxy responds only when the test lets it."""
    ending = asyncio.Event()
    async with a_backend(ending) as port:
        with run_nginx(tmp_path, port) as nginx:
            asked = [asyncio.create_task(ask(nginx, "/claim")) for _ in range(220)]
            refused = [await each for each in itertools.islice(asyncio.as_completed(asked), 20)]
            ending.set()
            statuses = [status for status, _, _ in await asyncio.gather(*asked)]
    assert [status for status, _, _ in refused] == [429] * 20
    assert (statuses.count(200), statuses.count(429)) == (200, 20)


async def test_requests_of_one_visitor_are_rate_limited(tmp_path: Path) -> None:
    """Uses smaller limits, because a busy machine cannot send that many requests."""
    ending = asyncio.Event()
    ending.set()
    changes = [("rate=100r/s", "rate=1r/m"), ("burst=400", "burst=5")]
    async with a_backend(ending) as port:
        with run_nginx(tmp_path, port, changes) as nginx:
            statuses = [(await ask(nginx, "/claim"))[0] for _ in range(8)]
    assert statuses == [200] * 6 + [429] * 2


@asynccontextmanager
async def a_backend(ending: asyncio.Event) -> AsyncIterator[int]:
    """Yield the port of a server that responds once `ending` is set."""

    async def wait(_request: web.Request) -> web.Response:
        await ending.wait()
        return web.Response(text="heard")

    app = web.Application()
    app.router.add_get("/{path:.*}", wait)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()
