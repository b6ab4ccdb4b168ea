"""What goes back over HTTP: a status, finished bytes and headers, sent without further layers."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from litestar.types import Receive, Scope, Send

Headers = tuple[tuple[bytes, bytes], ...]

JSON = b"application/json"
# How much of a refused body is taken in, and for how long, so that its sender can read why.
_DRAIN_SECONDS = 2.0
_DRAIN_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """An ASGI application that sends one response."""

    status: int
    body: bytes
    headers: Headers = ()
    content_type: bytes = JSON
    # The request's body was not read to its end: close behind the response, but let it arrive.
    is_last: bool = False

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", self.content_type),
            (b"content-length", b"%d" % len(self.body)),
            (b"cache-control", b"no-store"),
            *self.headers,
        ]
        if self.is_last:
            headers.append((b"connection", b"close"))
        start: Any = {"type": "http.response.start", "status": self.status, "headers": headers}
        await send(start)
        if self.is_last:
            await send({"type": "http.response.body", "body": self.body, "more_body": True})
            await _drain(receive)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            return
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


async def _drain(receive: Receive) -> None:
    """Take in the rest of the request: closing on unread bytes would reset the connection, and
    the response with it."""
    left = _DRAIN_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            while left > 0:
                message = await receive()
                if message["type"] != "http.request" or not message["more_body"]:
                    return
                left -= len(message["body"])
