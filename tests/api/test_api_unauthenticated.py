"""Limits for unauthenticated clients: how much of a body is read, how many requests of one visitor
are processed at a time, and that a refusal arrives although its request's body was not read."""

import asyncio
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from dunwell.interfaces.api.edge import MAX_REQUESTS_IN_PROGRESS, Edge
from dunwell.interfaces.portal.application import ROUTES as PORTAL_ROUTES
from dunwell.interfaces.wiring import open_web
from dunwell.platform.resources import Resources
from tests.support.application import connect
from tests.support.interfaces import fill, list_addresses
from tests.support.limited_server import read_response, talk
from tests.support.served import ServedApplication, serve

_CHUNK = 4 * 1024
_MOST = {
    # The signature covers the whole body, and providers send large ones.
    "/callbacks/payments/1": 64 * 1024,
    "/callbacks/channels/1/incoming": 16 * 1024,
    "/callbacks/channels/1/1": 16 * 1024,
    # The form has a signed token.
    "/portal/sign-in/with/1/logout": 16 * 1024,
}


def _list_posts(app: Starlette) -> list[str]:
    """Return the addresses of all interfaces that accept a form or a document."""
    portal = {fill(path): frozenset(runs) for path, runs in PORTAL_ROUTES.items()}
    addresses = {**list_addresses(app), **portal}
    return [path for path, methods in addresses.items() if "POST" in methods]


class EndlessBody:
    """Send an endless body, and count the bytes that were read before the response began."""

    def __init__(self, path: str, content_type: str) -> None:
        self.scope: Scope = {
            "type": "http", "method": "POST", "path": path, "raw_path": path.encode(),
            "query_string": b"", "root_path": "", "http_version": "1.1", "scheme": "http",
            "client": ("203.0.113.9", 4000), "server": ("127.0.0.1", 8000), "state": {},
            "headers": [
                (b"host", b"127.0.0.1:8000"), (b"transfer-encoding", b"chunked"),
                (b"content-type", content_type.encode()),
            ],
        }  # fmt: skip
        self.taken = 0
        self.status = 0

    async def receive(self) -> Message:
        if self.status:
            return {"type": "http.disconnect"}
        self.taken += _CHUNK
        return {"type": "http.request", "body": b"a" * _CHUNK, "more_body": True}

    async def send(self, message: Message) -> None:
        self.status = self.status or message["status"]


@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=a"],
)
async def test_no_address_reads_a_large_body_without_authentication(
    resources: Resources, content_type: str
) -> None:
    async with open_web(resources) as web:
        for path in _list_posts(web.app):
            sender = EndlessBody(path, content_type)
            await asyncio.wait_for(web.app(sender.scope, sender.receive, sender.send), 10)
            assert sender.taken <= _MOST.get(path, 8 * 1024) + _CHUNK, (path, sender.status)
            assert 300 <= sender.status < 500, path


async def test_no_address_invites_an_unauthenticated_client_to_send_a_large_body(
    resources: Resources,
) -> None:
    async with serve(resources) as served:
        for path in _list_posts(served.app):
            answer = await talk(_port(served), _head(served, path, "Expect: 100-continue"))
            response = read_response(answer)
            assert 300 <= response.status_code < 500, path
            assert response.headers["connection"] == "close", path


@pytest.mark.parametrize("framing", ["Content-Length: 8000000", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize(
    ("path", "status"), [("/api/merchants/1/claims", 401), ("/api/token", 413), ("/q", 413)]
)
async def test_a_client_that_sends_everything_first_can_read_the_refusal(
    resources: Resources, path: str, status: int, framing: str
) -> None:
    async with serve(resources) as served:
        head = _head(served, path, framing=framing)
        answer = await asyncio.to_thread(_send_all_then_read, _port(served), head)
    response = read_response(answer)
    assert (response.status_code, response.headers["connection"]) == (status, "close")


async def test_a_small_body_that_is_not_read_leaves_the_connection_open(
    resources: Resources,
) -> None:
    async with serve(resources) as served:
        first = _head(served, "/api/merchants/1/claims", framing="Content-Length: 60000")
        second = _head(served, "/healthz", "Connection: close", framing="Content-Length: 0")
        second = second.replace(b"POST", b"GET", 1)
        answer = await talk(_port(served), first, b"a" * 60_000 + second)
    assert (answer.count(b"HTTP/1.1 401"), answer.count(b"HTTP/1.1 200")) == (1, 1)


def _send_all_then_read(port: int, head: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(head)
        for _ in range(8):
            connection.sendall(b"f4240\r\n" + b"a" * 1_000_000 + b"\r\n")
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


def _head(
    served: ServedApplication, path: str, *headers: str, framing: str = "Content-Length: 1000000"
) -> bytes:
    host = urlsplit(served.origin).netloc
    lines = [
        f"POST {path} HTTP/1.1", f"Host: {host}", framing,
        "Content-Type: application/x-www-form-urlencoded", *headers,
    ]  # fmt: skip
    return "\r\n".join([*lines, "", ""]).encode()


def _port(served: ServedApplication) -> int:
    port = urlsplit(served.origin).port
    assert port is not None
    return port


class SlowApplication:
    """An application whose requests stay in progress until `ending` is set."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.ending = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun.release()
        if scope["path"] != "/healthz":
            await self.ending.wait()
        await Response("done")(scope, receive, send)

    async def wait_for(self, count: int) -> None:
        for _ in range(count):
            await self.begun.acquire()


async def test_one_visitor_may_have_a_hundred_requests_in_progress(
    resources: Resources,
) -> None:
    slow = SlowApplication()
    edge: Any = Edge(slow, resources, lambda peer, _: peer, free_paths=frozenset({"/healthz"}))
    async with (
        connect(edge, "2001:db8::1") as one, connect(edge, "2001:db8::2") as same,
        connect(edge, "2001:db8:0:1::1") as other,
    ):  # fmt: skip
        running = [asyncio.create_task(one.get("/claim")) for _ in range(100)]
        await slow.wait_for(100)
        refused = await asyncio.wait_for(same.get("/claim"), 10)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert refused.json()["error"]["type"] == "RateLimited"
        assert "100 requests from your address" in refused.json()["error"]["message"]
        assert (await one.get("/healthz")).status_code == 200
        elsewhere = asyncio.create_task(other.get("/claim"))
        await slow.wait_for(2)
        slow.ending.set()
        assert {each.status_code for each in await asyncio.gather(*running, elsewhere)} == {200}
        assert (await same.get("/claim")).status_code == 200
    assert MAX_REQUESTS_IN_PROGRESS == 100
