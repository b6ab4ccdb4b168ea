"""Webhook receivers that behave well or badly."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web


@dataclass
class ReceivedRequest:
    headers: dict[str, str]
    body: bytes

    @property
    def event_id(self) -> str:
        return self.headers["webhook-id"]


Answering = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Receiver:
    """Records the requests and returns scripted responses."""

    answering: Answering
    url: str = ""
    received: list[ReceivedRequest] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0

    @property
    def event_ids(self) -> list[str]:
        return [each.event_id for each in self.received]

    async def take(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append(ReceivedRequest(headers, await request.read()))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            return await self.answering(request)
        finally:
            self.in_flight -= 1


@asynccontextmanager
async def a_receiver(
    answering: Answering, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """Run a receiver on a free port of a loopback address."""
    receiver = Receiver(answering)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.take)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, host, 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    receiver.url = f"{'https' if tls else 'http'}://{host}:{port}/hooks"
    try:
        yield receiver
    finally:
        await runner.cleanup()


def answers(status: int, text: str = "", **headers: str) -> Answering:
    """Answer every request alike. Header names are given with underscores."""

    async def answer(_request: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=text, headers=named)

    return answer


def answers_in_turn(*statuses: int) -> Answering:
    """Answer with one status after the other, and repeat the last."""
    left = list(statuses)

    async def answer(_request: web.Request) -> web.StreamResponse:
        return web.Response(status=left.pop(0) if len(left) > 1 else left[0])

    return answer


async def hangs(_request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    raise AssertionError("nobody wakes it")


async def disconnects(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def redirects_to(url: str) -> Answering:
    return answers(302, location=url)


async def drips(request: web.Request) -> web.StreamResponse:
    """Send a byte from time to time without end."""
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b".")
        await asyncio.sleep(0.05)


def answers_at_length(size: int, sent: list[int]) -> Answering:
    """Answer with `size` bytes; `sent` counts those that the client read."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(size // 65536):
            await response.write(b"x" * 65536)
            sent.append(65536)
        return response

    return answer


async def wait_until(holds: Callable[[], bool]) -> None:
    """Return as soon as a condition holds that other tasks bring about. Fail after 30 seconds."""
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - what is waited for happens in other programs too
            await asyncio.sleep(0.01)
