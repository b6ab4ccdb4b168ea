"""The state of one client's connection, from its first byte to its end."""

import asyncio
import math
from enum import Enum, auto
from typing import Any, cast

import prometheus_client
import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from dunwell.platform.errors import Refusal, TooSlow, Unavailable
from dunwell.platform.http.server.exchange import Exchange, RawHeaders, render_head
from dunwell.platform.http.server.limits import ConnectionBounds, ServerLimits
from dunwell.platform.http.server.reader import RequestReader
from dunwell.platform.http.server.transport import ClientTransport, TransferPace
from dunwell.platform.metrics import REGISTRY

_refused = prometheus_client.Counter(
    "dunwell_server_refused", "Requests and connections that the server refused, by reason.",
    ("reason",), registry=REGISTRY,
)  # fmt: skip


class _Stage(Enum):
    """The stages of a connection:

       WAITING -> HEAD -> EXCHANGE -> WAITING -> ...
                    |         |
                    +---------+--> LINGERING -> CLOSING

    Every stage changes to CLOSING when nothing is left to send or the client has disconnected.
    """

    # No byte of the next request was received.
    WAITING = auto()
    # The head is being received.
    HEAD = auto()
    # The application has the request. Its body may still be arriving.
    EXCHANGE = auto()
    # The last response was written, and what the client still sends is discarded. Closing a
    # connection with unread bytes would reset it, and the client would lose the response.
    LINGERING = auto()
    # The client still has to read the response.
    CLOSING = auto()


def _get_stage_timeout(stage: _Stage, limits: ServerLimits, is_draining: bool) -> float:  # noqa: FBT001
    """Return after how many seconds the stage ends, whatever the client does."""
    timeouts = {
        _Stage.WAITING: limits.drain_seconds if is_draining else limits.idle_seconds,
        _Stage.HEAD: limits.head_seconds,
        _Stage.LINGERING: limits.linger_seconds,
    }
    return timeouts.get(stage, math.inf)


class HttpConnection(asyncio.Protocol):
    """One connection. The application processes at most one of its requests at a time: further
    requests stay unparsed, and nothing more is read from the network in the meantime. In every
    stage `_examine` checks each second that the client is not too slow."""

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None, *, bounds: ConnectionBounds,
    ) -> None:  # fmt: skip
        """All arguments except `bounds` are those that uvicorn passes to a protocol."""
        self._app: ASGIApp = config.loaded_app
        self._app_state = app_state
        # Any, because uvicorn's type permits only its own classes in its set of connections.
        self._shared: Any = server_state
        self._loop = _loop or asyncio.get_running_loop()
        self._bounds = bounds
        self._limits = bounds.limits
        self._reader = RequestReader(bounds.limits)
        self._stage = _Stage.WAITING
        self._since = self._loop.time()
        self._exchange: Exchange | None = None
        self._is_draining = False
        self._is_stopping = False
        # The client has closed its sending side. It may still read.
        self._has_ended = False
        self._received = 0
        self._discarded = 0
        self._body_pace = TransferPace(self._limits.body_bytes, self._limits.body_seconds)

    # Methods that asyncio and uvicorn call.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = ClientTransport(cast("asyncio.Transport", transport), self._limits)
        self._shared.connections.add(self)
        self._host = self._transport.client[0] if self._transport.client else ""
        self._examination = self._loop.call_later(self._limits.examine_seconds, self._examine)
        if (refusal := self._bounds.admit(self._host)) is not None:
            self._refuse(refusal)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's
        self._examination.cancel()
        self._shared.connections.discard(self)
        self._bounds.release(self._host)
        self._enter(_Stage.CLOSING)
        self._leave_exchange()
        self._transport.set_writable(True)

    def data_received(self, data: bytes) -> None:
        if self._stage in (_Stage.LINGERING, _Stage.CLOSING):
            self._discarded += len(data)
            if self._discarded > self._limits.linger_bytes:
                self._close()
            return
        self._received += len(data)
        self._reader.feed(data)
        self._advance()

    def eof_received(self) -> bool:
        """Keep the connection until complete requests are answered. A client that has disconnected
        looks like one that only closed its sending side, until something is written to it."""
        self._has_ended = True
        if self._exchange is None or not self._exchange.is_body_complete:
            return False  # asyncio then closes the connection.
        self._exchange.note_input_ended()
        return True

    def pause_writing(self) -> None:
        self._transport.set_writable(False)

    def resume_writing(self) -> None:
        self._transport.set_writable(True)

    def shutdown(self) -> None:
        self._is_draining = self._is_stopping = True  # A response in progress is the last one.
        if self._stage in (_Stage.WAITING, _Stage.HEAD):
            self._close()

    def drain(self) -> None:
        """Answer one more request that may be on its way, and tell the client that it is the last
        one."""
        self._is_draining = True

    @property
    def awaits_request(self) -> bool:
        return self._stage in (_Stage.WAITING, _Stage.HEAD)

    # Requests

    def _advance(self) -> None:
        """Process the received bytes as far as possible."""
        try:
            if self._exchange is None:
                self._begin_exchange()
            if self._exchange is not None:
                self._continue_exchange(self._exchange)
        except Refusal as refusal:
            self._refuse(refusal)

    def _begin_exchange(self) -> None:
        if (head := self._reader.read_head()) is None:
            if self._stage is _Stage.WAITING and self._reader.unread_bytes:
                self._enter(_Stage.HEAD)
            return
        self._enter(_Stage.EXCHANGE)
        self._exchange = Exchange(
            self, self._transport, head, state=self._app_state.copy(),
            default_headers=self._shared.default_headers,
        )  # fmt: skip
        task = self._loop.create_task(self._exchange.run(self._app))
        self._shared.tasks.add(task)
        task.add_done_callback(self._shared.tasks.discard)

    def _continue_exchange(self, exchange: Exchange) -> None:
        if not exchange.is_body_complete:
            data = self._reader.read_body()
            exchange.add_body(data, is_last=self._reader.is_body_complete)
        if exchange.is_complete and exchange.is_body_complete:
            self._leave_exchange()
            self._enter(_Stage.WAITING)
            if self._reader.unread_bytes:
                self._advance()
        if not self._has_ended:
            self.pause_or_resume_reading()
        elif self._exchange is not None and self._exchange.is_body_complete:
            self._exchange.note_input_ended()
        elif self._stage in (_Stage.WAITING, _Stage.HEAD, _Stage.EXCHANGE):
            self._close()

    # Responses: the methods of `ExchangeConnection`

    def pause_or_resume_reading(self) -> None:
        exchange = self._exchange
        is_enough = exchange is not None and (
            exchange.unread_bytes > self._limits.unread_bytes
            or (exchange.is_body_complete and self._reader.unread_bytes > 0)
        )
        self._transport.set_paused(is_enough)

    def can_continue_after(self, exchange: Exchange) -> bool:
        if self._is_draining or (self._has_ended and not self._reader.unread_bytes):
            return False
        if exchange.is_body_complete:
            return True
        # A small rest of the body is discarded when it arrives. But a client that waits for 100
        # Continue may send its body or not, so the next bytes cannot be interpreted.
        left = self._reader.body_bytes_left
        is_little = left is not None and left <= self._limits.unread_bytes
        return is_little and not exchange.awaits_continue

    def finish(self, exchange: Exchange) -> None:
        self._shared.total_requests += 1
        if exchange.keeps_alive and not self._is_stopping:
            self._continue_exchange(exchange)
        elif exchange.is_body_complete and not self._reader.unread_bytes:
            self._close()
        else:
            self._linger()

    def fail(self, exchange: Exchange) -> None:
        if exchange is self._exchange:
            self._refuse(Unavailable("The request was not answered. Send it again."))

    # The end of a connection

    def _examine(self) -> None:
        """End the connection if its client exceeds a time limit."""
        now = self._loop.time()
        self._examination = self._loop.call_later(self._limits.examine_seconds, self._examine)
        received = self._received if _awaits_body(self._exchange, self._transport) else None
        if self._transport.is_client_too_slow(now):
            _refused.labels("ResponseNotRead").inc()
            self._transport.abort()  # A normal close would wait until the client has read the rest.
        elif self._body_pace.is_too_slow(now, received):
            required = f"{self._limits.body_bytes} bytes in {self._limits.body_seconds:g} s"
            self._refuse(
                TooSlow(f"The body arrived too slowly: less than {required}. Send it again.")
            )
        elif now - self._since >= _get_stage_timeout(self._stage, self._limits, self._is_draining):
            if self._stage is _Stage.HEAD:
                self._refuse(
                    TooSlow("The request's headers did not arrive in time. Send it again.")
                )
            else:
                self._close()

    def _refuse(self, refusal: Refusal) -> None:
        """Send the refusal, unless the application has already begun its response."""
        _refused.labels(refusal.type).inc()
        if self._exchange is not None and self._exchange.is_started:
            self._close()
            return
        status, headers, body = self._bounds.answer(refusal)
        headers = [*self._shared.default_headers, *headers]
        self._transport.write(_render_last(status, headers, body))
        self._linger()

    def _linger(self) -> None:
        self._enter(_Stage.LINGERING)
        self._leave_exchange()
        self._transport.end_output()
        self._bounds.start_lingering(self._transport)

    def _close(self) -> None:
        self._enter(_Stage.CLOSING)
        self._leave_exchange()
        self._transport.close()

    def _leave_exchange(self) -> None:
        if self._exchange is not None:
            self._exchange.disconnect()
            self._exchange = None

    def _enter(self, stage: _Stage) -> None:
        self._bounds.stop_lingering(self._transport)  # `_linger` starts it again.
        self._stage, self._since = stage, self._loop.time()


def _render_last(status: int, headers: RawHeaders, body: bytes) -> bytes:
    """Render the last response of a connection."""
    length = (b"content-length", b"%d" % len(body))
    return render_head(status, [*headers, length, (b"connection", b"close")]) + body


def _awaits_body(exchange: Exchange | None, transport: ClientTransport) -> bool:
    """Return whether the client has to continue sending the body of its request."""
    return exchange is not None and not (
        exchange.is_body_complete or exchange.awaits_continue or transport.is_paused
    )
