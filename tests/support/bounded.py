"""An application behind the server that bounds requests, spoken to in bytes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from dunwell.errors import Refusal
from dunwell.kit.http_server import Bounds, ServerLimits, Words, build_server


@asynccontextmanager
async def bounded(
    app: Any,
    answer: Callable[[Refusal], Words],
    limits: ServerLimits,
    is_proxy: Callable[[str], bool] = lambda _host: False,
) -> AsyncIterator[int]:
    """The port it is served at until the block ends."""
    server = build_server(app, Bounds(answer, is_proxy, limits))
    config = server.config
    config.host, config.port = "127.0.0.1", 0
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.force_exit = True
        await server.shutdown()


async def talk(port: int, *pieces: bytes) -> bytes:
    """All that comes back until the server ends the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for piece in pieces:
        writer.write(piece)
    answer = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return answer


def read_response(answer: bytes) -> httpx.Response:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    return httpx.Response(int(status.split()[1]), headers=headers, content=body)
