"""An application behind the server that limits requests, addressed with raw bytes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
import uvicorn

from dunwell.platform.errors import Refusal
from dunwell.platform.http.server import (
    ConnectionBounds,
    RenderedResponse,
    ServerLimits,
    build_server,
)


@asynccontextmanager
async def bounded(
    app: Any,
    answer: Callable[[Refusal], RenderedResponse],
    limits: ServerLimits,
    is_proxy: Callable[[str], bool] = lambda _host: False,
) -> AsyncIterator[int]:
    """Serve the application until the block ends, and yield its port."""
    async with running(build_server(app, ConnectionBounds(answer, is_proxy, limits))) as port:
        yield port


@asynccontextmanager
async def running(server: uvicorn.Server) -> AsyncIterator[int]:
    """Run the server until the block ends, and yield its port."""
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
    """Send the pieces and return everything that the server sends until it closes the
    connection."""
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


@dataclass
class BodyKeeper:
    """An application that records the method and the body of each request and answers "ok"."""

    port: int = 0
    bodies: list[bytes] = field(default_factory=list)
    methods: list[str] = field(default_factory=list)
    # Bodies are read only once this event is set.
    reading: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.reading.wait()
        body, is_whole = b"", False
        while not is_whole:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message["body"]
            is_whole = not message["more_body"]
        self.bodies.append(body)
        self.methods.append(scope["method"])
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def served_bodies(
    limits: ServerLimits, is_proxy: Callable[[str], bool] = lambda _host: False
) -> AsyncIterator[BodyKeeper]:
    served = BodyKeeper()
    served.reading.set()
    async with bounded(served, answer_in_json, limits, is_proxy) as served.port:
        yield served
        served.reading.set()


def answer_in_json(refusal: Refusal) -> RenderedResponse:
    failure = {"type": refusal.type, "message": refusal.message, "details": refusal.details}
    body = json.dumps({"error": failure, "result": None}).encode()
    return 400, [(b"x-request-id", b"its-id")], body
