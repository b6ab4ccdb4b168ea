"""The HTTP server of a web process, and what it bounds before any route sees a request.

uvicorn's protocol on httptools bounds neither the head of a request nor how long it takes to come;
this one does, and how many connections there are at once, in all and of one visitor. What it
refuses is answered in the words it is given, and the sender may read them before the connection is
closed. Decision 0014 says why not another server.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any

import prometheus_client
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dunwell.errors import (
    AddressTooLong,
    HeadTooLarge,
    InvalidRequest,
    RateLimited,
    Refusal,
    TooSlow,
    Unavailable,
)
from dunwell.kit.addresses import find_network
from dunwell.kit.figures import REGISTRY

# A response: its status, its headers and its body.
Words = tuple[int, list[tuple[bytes, bytes]], bytes]

_NOT_HTTP = (
    "The request cannot be read: its first line, its headers or its framing are not HTTP/1.1. "
    "Send one Content-Length or a chunked body, never both."
)
_refused = prometheus_client.Counter(
    "dunwell_server_refused", "Requests and connections the server itself refused, by why.",
    ("reason",), registry=REGISTRY,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """What one process takes at once, and how slowly."""

    # The first line and all headers of a request.
    head_bytes: int = 64 * 1024
    # From the connection, or from a head's first byte, to its end.
    head_seconds: float = 10.0
    # A body that is waited for brings so many bytes in so many seconds, or ends.
    body_bytes: int = 8 * 1024
    body_seconds: float = 20.0
    connections: int = 2_000
    connections_per_visitor: int = 200
    # How long, and how much, a refused sender is listened to, so that it can read why.
    linger_seconds: float = 2.0
    linger_bytes: int = 16 * 1024 * 1024


class Bounds:
    """What the connections of one process share."""

    def __init__(
        self,
        answer: Callable[[Refusal], Words],
        is_proxy: Callable[[str], bool],
        limits: ServerLimits = ServerLimits(),
    ) -> None:
        """answer: a refusal in the words of the service. is_proxy: whether many visitors come from
        this address, which bounds their connections itself."""
        self.limits = limits
        self.answer = answer
        self._is_proxy = is_proxy
        self._visitors: Counter[bytes] = Counter()
        self._total = 0

    def admit(self, host: str) -> Refusal | None:
        """Count a connection from this address, or say why it is one too many."""
        visitor = find_network(host)
        self._visitors[visitor] += 1
        self._total += 1
        if self._total > self.limits.connections:
            return Unavailable("There are too many connections. Try again in a moment.")
        is_many = self._visitors[visitor] > self.limits.connections_per_visitor
        if is_many and not self._is_proxy(host):
            return RateLimited(
                f"More than {self.limits.connections_per_visitor} connections come from your "
                "address. Close some, or use each for several requests.",
                retry_after=2,
            )
        return None

    def release(self, host: str) -> None:
        """A connection that was counted is gone."""
        visitor = find_network(host)
        self._total -= 1
        self._visitors[visitor] -= 1
        if not self._visitors[visitor]:
            del self._visitors[visitor]


def build_server(
    app: ASGIApp, bounds: Bounds, *, grace_seconds: int = 20,
    kind: type[uvicorn.Server] = uvicorn.Server,
) -> uvicorn.Server:  # fmt: skip
    """A server for `app`, which logs nothing and believes no header of where a request is from.
    grace_seconds: for requests under way when it is told to stop."""
    protocol: Any = partial(BoundedProtocol, bounds=bounds)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_seconds,
    )
    return kind(config)


class _Stage(Enum):
    """Where a connection is: between requests, or in the head or the body of one."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    def __init__(self, *, bounds: Bounds, **server: Any) -> None:
        super().__init__(**server)
        self._bounds = bounds
        self._host: str | None = None
        self._stage = _Stage.BETWEEN
        self._head_bytes = 0
        self._is_past_address = False
        self._window_bytes = 0
        self._timer: asyncio.TimerHandle | None = None
        # Once refused: how many bytes more are taken in unread.
        self._lingering: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._host = self.client[0] if self.client else ""
        refusal = self._bounds.admit(self._host)
        if refusal is not None:
            self._refuse(refusal)
        else:
            self._time(self._bounds.limits.head_seconds, self._end_slow_head)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        if self._host is not None:
            self._bounds.release(self._host)
            self._host = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._lingering is not None:
            self._lingering -= len(data)
            if self._lingering < 0:
                self.transport.close()
            return
        while data and self._lingering is None and not self.transport.is_closing():
            data = self._feed(data)
        if self._lingering is None:
            self._watch()

    def _feed(self, data: bytes) -> bytes:
        """Hand on as much as may be handed on at once; the rest."""
        if self._is_at(_Stage.BODY):
            self._window_bytes += len(data)
            super().data_received(data)
            return b""
        room = self._bounds.limits.head_bytes - self._head_bytes
        piece, rest = data[:room], data[room:]
        self._head_bytes += len(piece)
        self._is_past_address |= b"\n" in piece
        super().data_received(piece)
        if not self._is_at(_Stage.BODY) and self._head_bytes >= self._bounds.limits.head_bytes:
            self._refuse(self._name_excess())
        return rest

    def _is_at(self, stage: _Stage) -> bool:
        return self._stage is stage

    def _name_excess(self) -> Refusal:
        limit = self._bounds.limits.head_bytes
        words = f"is larger than {limit} bytes, the most that is taken. Send less."
        if not self._is_past_address:
            return AddressTooLong(f"The request's address {words}", limit=limit)
        return HeadTooLarge(f"The head of the request {words}", limit=limit)

    def _watch(self) -> None:
        """See that what has begun goes on. What came whole in one piece needs no timer."""
        if self._timer is not None:
            return
        is_answering = self.cycle is not None and not self.cycle.response_complete
        if self._is_at(_Stage.BODY):
            self._window_bytes = 0
            self._time(self._bounds.limits.body_seconds, self._look_at_body)
        elif self._is_at(_Stage.HEAD) or not is_answering:
            self._time(self._bounds.limits.head_seconds, self._end_slow_head)

    def _time(self, seconds: float, then: Callable[[], None]) -> None:
        self._timer = self.loop.call_later(seconds, then)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end_slow_head(self) -> None:
        self._timer = None
        if self._is_at(_Stage.BETWEEN):  # no request was begun
            self.transport.close()
            return
        self._refuse(TooSlow("The head of the request did not end in time. Send it again."))

    def _look_at_body(self) -> None:
        self._timer = None
        limits = self._bounds.limits
        # A body nobody reads at the moment is not slow: its reader is.
        if self.flow.read_paused or self._window_bytes >= limits.body_bytes:
            self._watch()
            return
        self._refuse(
            TooSlow(
                f"The body came too slowly: less than {limits.body_bytes} bytes in "
                f"{limits.body_seconds:g} s. Send it again."
            )
        )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._stage = _Stage.HEAD

    def on_headers_complete(self) -> None:
        self._stage = _Stage.BODY
        self._stop_timer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stage, self._head_bytes, self._is_past_address = _Stage.BETWEEN, 0, False
        self._stop_timer()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - in words of ours
        self._refuse(InvalidRequest(_NOT_HTTP))

    def _refuse(self, refusal: Refusal) -> None:
        """Answer in place of the application, and listen a little longer."""
        _refused.labels(refusal.type).inc()
        self._stop_timer()
        self._unset_keepalive_if_required()
        self.pipeline.clear()
        if self.cycle is not None and not self.cycle.response_complete:
            is_begun = self.cycle.response_started
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if is_begun:
                self.transport.close()
                return
        self._lingering = self._bounds.limits.linger_bytes
        status, headers, body = self._bounds.answer(refusal)
        self.transport.write(_render(status, [*self.server_state.default_headers, *headers], body))
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._time(self._bounds.limits.linger_seconds, self.transport.close)


def _render(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bytes:
    lines = [b"HTTP/1.1 %d %s" % (status, _PHRASES.get(status, b""))]
    lines += [name + b": " + value for name, value in headers]
    lines += [b"content-length: %d" % len(body), b"connection: close", b"", body]
    return b"\r\n".join(lines)


_PHRASES = {
    400: b"Bad Request",
    408: b"Request Timeout",
    414: b"URI Too Long",
    429: b"Too Many Requests",
    431: b"Request Header Fields Too Large",
    503: b"Service Unavailable",
}
