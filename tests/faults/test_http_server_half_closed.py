"""A client that closes its sending side after a request (a half-closed connection) gets its
response."""

import asyncio
import socket
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from dunwell.platform.http.server import INPUT_ENDED, ServerLimits
from tests.support.limited_server import bounded

_REQUEST = b"POST /%s HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\none"
_LIMITS = ServerLimits(examine_seconds=0.05)


class _EchoApplication:
    """An application that returns the path after a while. It records the paths and the signals that
    it received."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.saw_input_end = False
        self.was_disconnected = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        while (await receive()).get("more_body"):
            pass
        self.paths.append(scope["path"])
        gone = asyncio.ensure_future(receive())
        await asyncio.wait([gone], timeout=0.3)
        self.was_disconnected |= gone.done()
        gone.cancel()
        self.saw_input_end |= scope["extensions"][INPUT_ENDED]["event"].is_set()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for part in (b"you asked for ", scope["path"].encode()):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})


async def _talk(port: int, *pieces: bytes, pause: float = 0.0) -> bytes:
    """Return everything that is received after the sending side was closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
        await asyncio.sleep(pause)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), 5)
    writer.close()
    return answer


def _refuse(_refusal: Any) -> Any:
    return 400, [], b"refused"


@pytest.mark.parametrize("pause", [0.0, 0.1])
async def test_a_request_is_answered_and_the_connection_closed(pause: float) -> None:
    echo = _EchoApplication()
    async with bounded(echo, _refuse, _LIMITS) as port:
        answer = await _talk(port, _REQUEST % b"first", pause=pause)
    assert b"200 OK" in answer
    assert b"/first" in answer
    assert b"connection: close" in answer.lower()
    assert echo.saw_input_end
    assert not echo.was_disconnected


async def test_complete_requests_are_answered_in_order() -> None:
    echo = _EchoApplication()
    async with bounded(echo, _refuse, _LIMITS) as port:
        answer = await _talk(port, _REQUEST % b"first" + _REQUEST % b"second")
    assert (answer.count(b"200 OK"), echo.paths) == (2, ["/first", "/second"])
    assert answer.index(b"/first") < answer.index(b"/second")


@pytest.mark.parametrize("rest", [_REQUEST[:20], (_REQUEST % b"second")[:-1]])
async def test_an_incomplete_request_ends_the_connection(rest: bytes) -> None:
    echo = _EchoApplication()
    async with bounded(echo, _refuse, _LIMITS) as port:
        answer = await _talk(port, _REQUEST % b"first" + rest)
        alone = await _talk(port, rest)
    assert (answer.count(b"200 OK"), alone) == (1, b"")


async def test_a_client_that_left_uses_no_resources_after_the_response() -> None:
    """The client has closed both sides, which the server notices only when it writes."""
    echo = _EchoApplication()
    async with bounded(echo, _refuse, ServerLimits(connections=1, examine_seconds=0.05)) as port:
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(_REQUEST % b"gone")
        await asyncio.sleep(0.6)
        answer = await _talk(port, _REQUEST % b"next")
    assert b"/next" in answer
