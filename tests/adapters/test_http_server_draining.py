"""A web process that stops answers every request that a proxy has already sent to it."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from dunwell.platform.http.server import (
    ConnectionBounds,
    DrainingServer,
    ServerLimits,
    build_server,
)
from tests.support.limited_server import BodyKeeper, answer_in_json

_LIMITS = ServerLimits(drain_seconds=0.5, examine_seconds=0.05)
_POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab"


@asynccontextmanager
async def a_draining_server() -> AsyncIterator[tuple[DrainingServer, socket.socket]]:
    """A server that has started, and the socket that it listens on."""
    served = BodyKeeper()
    served.reading.set()
    bounds = ConnectionBounds(answer_in_json, lambda _host: True, _LIMITS)
    server = build_server(served, bounds, kind=DrainingServer)
    assert isinstance(server, DrainingServer)
    server.config.load()
    server.lifespan = server.config.lifespan_class(server.config)
    listening = socket.create_server(("127.0.0.1", 0))
    await server.startup([listening])
    try:
        yield server, listening
    finally:
        server.force_exit = True
        with contextlib.suppress(OSError):
            await server.shutdown([listening])


async def read_all(client: socket.socket) -> bytes:
    client.setblocking(False)
    answer = b""
    async with asyncio.timeout(10):
        while part := await asyncio.get_running_loop().sock_recv(client, 65_536):
            answer += part
    return answer


async def test_a_request_that_was_sent_before_the_process_accepted_it_is_answered() -> None:
    async with a_draining_server() as (server, listening):
        # Nothing waits here, so the server cannot have accepted the connection before it has to
        # stop.
        with socket.create_connection(listening.getsockname()) as client:
            client.sendall(_POST)
            stopping = asyncio.create_task(server.shutdown([listening]))
            answer = await read_all(client)
            await stopping
    assert answer.startswith(b"HTTP/1.1 200 OK")


async def test_a_request_on_a_kept_connection_is_answered_and_the_connection_closed() -> None:
    async with a_draining_server() as (server, listening):
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        writer.write(_POST)
        first = await reader.readuntil(b"ok")
        stopping = asyncio.create_task(server.shutdown([listening]))
        await asyncio.sleep(0.1)
        writer.write(_POST)
        second = await asyncio.wait_for(reader.read(), 10)
        await stopping
        writer.close()
    assert (b"connection: close" in first, b"connection: close" in second) == (False, True)
    assert second.startswith(b"HTTP/1.1 200 OK")


async def test_an_idle_connection_does_not_delay_the_end_of_the_process() -> None:
    async with a_draining_server() as (server, listening):
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        began = time.monotonic()
        await server.shutdown([listening])
        assert 0.3 < time.monotonic() - began < 3
        assert await reader.read() == b""
        writer.close()


async def test_new_connections_are_refused_while_draining() -> None:
    async with a_draining_server() as (server, listening):
        address = listening.getsockname()
        await server.shutdown([listening])
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*address)
