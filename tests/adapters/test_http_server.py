"""Limits of the HTTP server for heads, slow clients and connections. Each refusal has the error
envelope."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from dunwell.platform.http.server import ServerLimits
from tests.support.limited_server import BodyKeeper, served_bodies, talk

_HEAD = b"POST /claims HTTP/1.1\r\nHost: x\r\n"
_QUICK = ServerLimits(
    head_bytes=2_000, head_seconds=0.3, idle_seconds=0.3, body_bytes=100, body_seconds=0.3,
    response_bytes=1_000, response_seconds=0.3, connections=6, connections_per_visitor=4,
    linger_seconds=1.0, examine_seconds=0.05,
)  # fmt: skip


@asynccontextmanager
async def _served(
    limits: ServerLimits = _QUICK, proxies: frozenset[str] = frozenset()
) -> AsyncIterator[BodyKeeper]:
    async with served_bodies(limits, proxies.__contains__) as served:
        yield served


async def _talk(served: BodyKeeper, *pieces: bytes) -> bytes:
    return await talk(served.port, *pieces)


def _read_type(answer: bytes) -> Any:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"x-request-id: its-id" in head
    assert b"connection: close" in head
    return json.loads(body)["error"]["type"]


async def test_requests_follow_each_other_on_one_connection() -> None:
    async with _served() as served:
        one = _HEAD + b"Content-Length: 3\r\n\r\none"
        two = _HEAD + b"Content-Length: 3\r\nConnection: close\r\n\r\ntwo"
        answer = await _talk(served, one + two)
    assert (answer.count(b"200 OK"), served.bodies) == (2, [b"one", b"two"])


@pytest.mark.parametrize("filling", [b"a" * 3_000, b"X: a\r\n" * 500])
async def test_a_head_over_the_limit_is_refused(filling: bytes) -> None:
    async with _served() as served:
        answer = await _talk(served, b"POST /claims HTTP/1.1\r\nX: " + filling)
    assert (_read_type(answer), served.bodies) == ("HeadTooLarge", [])


async def test_a_head_at_the_limit_is_accepted() -> None:
    end = b"Connection: close\r\nContent-Length: 0\r\n\r\n"
    room = _QUICK.head_bytes - len(_HEAD) - len(end) - len(b"X: \r\n")
    async with _served() as served:
        taken = await _talk(served, _HEAD + b"X: " + b"a" * room + b"\r\n" + end)
        refused = await _talk(served, _HEAD + b"X: " + b"a" * (room + 1) + b"\r\n" + end)
    assert b"200 OK" in taken
    assert _read_type(refused) == "HeadTooLarge"


async def test_blank_lines_between_requests_count_as_a_head() -> None:
    async with _served() as served:
        answer = await _talk(served, b"\r\n" * 3_000)
    assert _read_type(answer) in {"HeadTooLarge", "AddressTooLong"}


async def test_an_address_over_the_limit_has_its_own_refusal() -> None:
    async with _served() as served:
        answer = await _talk(served, b"GET /" + b"a" * 3_000)
    assert _read_type(answer) == "AddressTooLong"


def _send_all_then_read(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(_HEAD + b"X: " + b"a" * 8_000_000)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


async def test_a_client_that_continues_to_send_can_read_the_refusal() -> None:
    async with _served() as served:
        answer = await asyncio.to_thread(_send_all_then_read, served.port)
    assert _read_type(answer) == "HeadTooLarge"


async def test_a_head_that_does_not_end_in_time_is_refused() -> None:
    async with _served() as served:
        answer = await _talk(served, _HEAD)
    assert _read_type(answer) == "TooSlow"


async def test_the_time_limit_applies_to_the_second_head_of_a_connection() -> None:
    async with _served() as served:
        answer = await _talk(served, _HEAD + b"Content-Length: 0\r\n\r\n", b"POST /cl")
    assert answer.startswith(b"HTTP/1.1 200")
    assert _read_type(answer.partition(b"ok")[2]) == "TooSlow"


async def test_a_client_that_sends_nothing_gets_no_response() -> None:
    async with _served() as served:
        assert await _talk(served) == b""


async def test_a_body_that_does_not_arrive_is_refused() -> None:
    async with _served() as served:
        answer = await _talk(served, _HEAD + b"Content-Length: 500\r\n\r\nab")
    assert (_read_type(answer), served.bodies) == ("TooSlow", [])


async def test_a_body_that_arrives_too_slowly_is_refused() -> None:
    async with _served() as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(_HEAD + b"Content-Length: 5000\r\n\r\n")
        reading = asyncio.ensure_future(reader.read())
        for _ in range(300):
            writer.write(b"a")
            done, _pending = await asyncio.wait([reading], timeout=_QUICK.body_seconds / 20)
            if done:
                break
        assert done, "it goes on"
        assert _read_type(await reading) == "TooSlow"
        writer.close()


async def test_a_body_that_is_not_read_yet_does_not_count_as_slow() -> None:
    body = b"a" * 300_000
    async with _served() as served:
        served.reading.clear()
        head = _HEAD + b"Connection: close\r\nContent-Length: 300000\r\n\r\n"
        talking = asyncio.ensure_future(_talk(served, head, body))
        await asyncio.wait([talking], timeout=3 * _QUICK.body_seconds)
        served.reading.set()
        assert b"200 OK" in await talking
    assert served.bodies == [body]


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"Content-Length: 2\r\n broken\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nnothing\r\n\r\n",
    ],
)
async def test_broken_framing_is_refused(framing: bytes) -> None:
    async with _served() as served:
        answer = await _talk(served, _HEAD + framing)
    assert (_read_type(answer), served.bodies) == ("InvalidRequest", [])


async def _open(served: BodyKeeper, count: int) -> list[tuple[asyncio.StreamReader, Any]]:
    return [await asyncio.open_connection("127.0.0.1", served.port) for _ in range(count)]


async def test_the_number_of_connections_of_a_visitor_is_limited() -> None:
    async with _served() as served:
        held = await _open(served, _QUICK.connections_per_visitor)
        assert _read_type(await _talk(served)) == "RateLimited"
        for _, writer in held:
            writer.close()
            await writer.wait_closed()
        end = b"Connection: close\r\nContent-Length: 0\r\n\r\n"
        assert b"200 OK" in await _talk(served, _HEAD + end)


async def test_a_proxy_may_have_more_connections_and_all_visitors_together_are_limited() -> None:
    async with _served(proxies=frozenset({"127.0.0.1"})) as served:
        held = await _open(served, _QUICK.connections)
        assert _read_type(await _talk(served)) == "Unavailable"
        for reader, writer in held:
            writer.write(_HEAD + b"Content-Length: 0\r\n\r\n")
            assert b"200 OK" in await reader.readuntil(b"ok")
            writer.close()
