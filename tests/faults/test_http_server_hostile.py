"""The resources that one client can use on the server: memory, time, and the time that stopping
takes."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
import structlog.testing
import uvicorn

from dunwell.platform.http.server import ConnectionBounds, ServerLimits, build_server
from tests.support.limited_server import BodyKeeper, answer_in_json, running

_QUICK = ServerLimits(
    head_seconds=0.3, idle_seconds=0.3, body_seconds=0.3, response_seconds=0.3, linger_seconds=0.3,
    examine_seconds=0.05,
)  # fmt: skip
_GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
_LAST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
_POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


class _Sender:
    """An application that reads nothing and answers with a number of pieces of equal size."""

    def __init__(self, pieces: int, size: int = 65_536) -> None:
        self._pieces = pieces
        self._size = size
        self.ended = asyncio.Event()

    async def __call__(self, _scope: Any, _receive: Any, send: Any) -> None:
        length = (b"content-length", b"%d" % (self._pieces * self._size))
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        for left in reversed(range(self._pieces)):
            body = bytes(self._size)
            await send({"type": "http.response.body", "body": body, "more_body": left > 0})
        self.ended.set()


def _build(app: Any, limits: ServerLimits = _QUICK, grace_seconds: int = 20) -> uvicorn.Server:
    bounds = ConnectionBounds(answer_in_json, lambda _host: True, limits)
    return build_server(app, bounds, grace_seconds=grace_seconds)


def _connect(port: int) -> socket.socket:
    """Connect with the smallest buffer, so that nearly all of a response remains at the server."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect(("127.0.0.1", port))
    connection.settimeout(10)
    return connection


async def _wait_until(is_so: Callable[[], bool], seconds: float = 10) -> float:
    """Return the number of seconds until the condition was true."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, "it never was"
        await asyncio.sleep(0.02)
    return time.monotonic() - began


@pytest.mark.parametrize(
    ("app", "request_"),
    [
        (_Sender(2_000), _GET),
        (_Sender(1, 16_000_000), _GET),
        (_Sender(1, 16_000_000), _LAST),
        (_Sender(1, 4_000), _GET * 10_000),
    ],
    ids=["in pieces", "in one piece", "in one piece and closed", "of many requests"],
)
async def test_a_client_that_does_not_read_its_response_is_disconnected(
    app: _Sender, request_: bytes
) -> None:
    server = _build(app)
    async with running(server) as port:
        with _connect(port) as client:
            client.sendall(request_)
            await _wait_until(lambda: bool(server.server_state.connections))
            seconds = await _wait_until(lambda: not server.server_state.connections)
        assert seconds >= _QUICK.response_seconds
        await _wait_until(lambda: not server.server_state.tasks)


async def test_a_client_that_reads_slowly_gets_all_of_its_response() -> None:
    limits = ServerLimits(response_bytes=2_000, response_seconds=0.5, examine_seconds=0.05)
    server = _build(_Sender(1, 6_000_000), limits)
    async with running(server) as port:
        with _connect(port) as client:
            client.sendall(_LAST)
            size = 0
            # The socket buffer of the server accepts most of the response at once. The client reads
            # so slowly that the buffer is not empty for several times the limit.
            until = time.monotonic() + 5 * limits.response_seconds
            while time.monotonic() < until:
                size += len(await asyncio.to_thread(client.recv, 4_096))
                await asyncio.sleep(0.02)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_000_000)
            while piece := await asyncio.to_thread(client.recv, 65_536):
                size += len(piece)
    assert size > 6_000_000


async def test_requests_sent_ahead_are_not_read_before_their_turn() -> None:
    served = BodyKeeper()
    server = _build(served)
    async with running(server) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_GET * 1_000_000 + _LAST)
        await _wait_until(lambda: bool(server.server_state.tasks))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(writer.drain(), 0.5)
        [connection] = server.server_state.connections
        unread: Any = connection
        assert unread._reader.unread_bytes <= 512 * 1024
        assert len(server.server_state.tasks) == 1
        served.reading.set()
        await asyncio.wait_for(reader.readexactly(100_000), 10)
        writer.close()


async def test_requests_sent_ahead_are_answered_in_their_order() -> None:
    served = BodyKeeper()
    served.reading.set()
    bodies = [b"%d" % number for number in range(3_000)]
    async with running(_build(served)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for body in bodies:
            writer.write(_POST + b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.write(_LAST)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert answer.count(b"200 OK") == len(bodies) + 1
    assert served.bodies == [*bodies, b""]


def _send_endless(port: int, head: bytes, piece: bytes) -> tuple[int, bytes]:
    """Send until the server stops reading. Return the number of bytes sent, and the response."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as client:
        client.sendall(head)
        sent = 0
        while sent < 200_000_000:
            try:
                sent += client.send(piece)
            except OSError:
                break
        try:
            return sent, client.recv(65_536)
        except OSError:
            return sent, b""


async def test_trailers_over_the_limit_are_refused_and_the_sender_can_read_why() -> None:
    served = BodyKeeper()
    served.reading.set()
    head = _POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n"
    async with running(_build(served, ServerLimits())) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + b"a:b\r\n" * 100_000)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        sent, _ = await asyncio.to_thread(_send_endless, port, head, b"a:b\r\n" * 10_000)
    assert b"trailers" in answer
    assert b'"HeadTooLarge"' in answer
    # The bytes that the server reads while it lingers, and the buffers of two sockets.
    assert sent < 100_000_000
    assert served.bodies == []


async def test_only_a_few_refused_clients_are_read_at_once() -> None:
    limits = ServerLimits(lingering=1, linger_seconds=1.5, examine_seconds=0.05)
    async with running(_build(BodyKeeper(), limits)) as port:
        first, second = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for reader, writer in (first, second):
            writer.write(b"not HTTP\r\n\r\n")
            assert await reader.readline() == b"HTTP/1.1 400 Bad Request\r\n"
        # More than the buffers of two sockets hold.
        for _, writer in (first, second):
            writer.write(bytes(32_000_000))
        await asyncio.wait_for(first[1].drain(), 1)
        drained = asyncio.create_task(second[1].drain())
        await asyncio.wait([drained], timeout=0.3)
        assert not drained.done()
        first[1].close()
        await asyncio.wait_for(drained, 1)
        second[1].close()


async def test_an_early_response_keeps_the_connection_if_little_of_the_body_is_missing() -> None:
    async with running(_build(_Sender(1, 2))) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_POST + b"Content-Length: 26\r\n\r\n")
        first = await reader.readuntil(b"\r\n\r\n\0\0")
        writer.write(_GET[:26])  # A body that looks like a request.
        writer.write(_LAST)
        rest = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert b"connection: close" not in first
    assert rest.count(b"200 OK") == 1


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 50000000\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"Content-Length: 5\r\nExpect: 100-continue\r\n\r\n",
    ],
)
async def test_an_early_response_is_the_last_if_what_follows_is_long_or_unknown(
    framing: bytes,
) -> None:
    async with running(_build(_Sender(1, 2), ServerLimits())) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_POST + framing)
        answer = await reader.readuntil(b"\r\n\r\n\0\0")
        # A client that reads the response only after sending its body still finds it.
        writer.write(b"10000\r\n" + b"x" * 20_000_000)
        await writer.drain()
        assert await asyncio.wait_for(reader.read(), 10) == b""
        writer.close()
    assert b"connection: close" in answer


async def test_a_refused_client_gets_no_continue() -> None:
    served = BodyKeeper()
    server = _build(served)
    async with running(server) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
        writer.write(_POST + head + b"no chunk\r\n")
        answer = await reader.readuntil(b"}")
        with structlog.testing.capture_logs() as logged:
            served.reading.set()
            await _wait_until(lambda: not server.server_state.tasks)
        answer += await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert b"InvalidRequest" in answer
    assert b"100 Continue" not in answer
    assert logged == []


async def test_continue_is_sent_once_the_application_reads() -> None:
    served = BodyKeeper()
    served.reading.set()
    async with running(_build(served)) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(_POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"ab" + _LAST)
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
    assert answer.count(b"200 OK") == 2
    assert served.bodies == [b"ab", b""]


async def test_the_server_stops_in_bounded_time_whatever_its_clients_do() -> None:
    served = BodyKeeper()  # An application that answers only when the test lets it.
    server = _build(served, ServerLimits(), grace_seconds=1)
    clients = []
    hostile = (
        b"", b"GET / HT", _POST + b"Content-Length: 100000\r\n\r\nab", _GET * 2_000,
        _POST + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n" + b"a:b\r\n" * 100,
        b"\x16\x03\x01 no HTTP at all",
    )  # fmt: skip
    async with running(server) as port:
        for number in range(300):
            client = await asyncio.open_connection("127.0.0.1", port)
            client[1].write(hostile[number % len(hostile)])
            clients.append(client)
        await _wait_until(lambda: len(server.server_state.tasks) >= 150)
        began = time.monotonic()
        await server.shutdown()
        assert time.monotonic() - began < 3
        await _wait_until(lambda: not server.server_state.tasks)
        for _, writer in clients:
            writer.close()
