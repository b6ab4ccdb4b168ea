"""One request and its response, as an ASGI application receives and sends them."""

import asyncio
import re
from collections.abc import Sequence
from enum import Enum, auto
from http import HTTPStatus
from typing import Any, Protocol
from urllib.parse import unquote

import structlog
from starlette.types import ASGIApp, Message, Scope

from dunwell.platform.http.server.reader import RequestHead
from dunwell.platform.http.server.transport import ClientTransport

_HEADER_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*")
_WITHOUT_BODY = frozenset((204, 304))
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_STATUS_LINES = {
    each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus
}
# The ASGI extension that tells an application when the client has closed its sending side.
INPUT_ENDED = "dunwell.input_ended"
_log = structlog.get_logger("dunwell.http")

RawHeaders = Sequence[tuple[bytes, bytes]]


class ExchangeConnection(Protocol):
    """What an exchange needs from its connection."""

    def pause_or_resume_reading(self) -> None:
        """Stop or resume reading from the network after the application has received data."""

    def can_continue_after(self, exchange: "Exchange") -> bool:
        """Return whether another request can follow on this connection."""

    def finish(self, exchange: "Exchange") -> None:
        """Called when the response is complete."""

    def fail(self, exchange: "Exchange") -> None:
        """Called when the application ended without a complete response."""


class _Framing(Enum):
    """How a client recognises the end of a response's body."""

    NONE = auto()
    COUNTED = auto()
    CHUNKED = auto()
    # The body ends with the connection.
    CLOSED = auto()


class Exchange:
    """What was received of one request and what was sent of its response."""

    def __init__(
        self, connection: ExchangeConnection, transport: ClientTransport, head: RequestHead, *,
        state: dict[str, Any], default_headers: RawHeaders,
    ) -> None:  # fmt: skip
        """`state` is that of ASGI. `default_headers` are part of every response."""
        self._connection = connection
        self._transport = transport
        # Set when the client has closed its sending side. It may still wait for the response, so
        # this is not http.disconnect, but expensive work may be skipped.
        self._input_ended = asyncio.Event()
        self._scope = _build_scope(head, transport, state)
        self._scope["extensions"] = {INPUT_ENDED: {"event": self._input_ended}}
        self._default_headers = default_headers
        self._is_disconnected = False
        self._changed = asyncio.Event()
        # The request
        self._body = bytearray()
        self.is_body_complete = False
        # True while the client waits to be asked for the body.
        self.awaits_continue = head.expects_continue
        # The response
        self.keeps_alive = head.keeps_alive
        self.is_started = False
        self.is_complete = False
        self._framing = _Framing.NONE
        # The number of bytes of a counted body that are still to be sent.
        self._left = 0

    @property
    def unread_bytes(self) -> int:
        """The number of received bytes of the body that the application has not read."""
        return len(self._body)

    async def run(self, app: ASGIApp) -> None:
        """Call the application. Its errors are handled by the application itself, unless a response
        had begun. In that case the connection is closed, so that the client sees that the response
        is incomplete."""
        try:
            await app(self._scope, self._receive, self._send)
        except Exception as error:  # noqa: BLE001 - the server must survive every application
            _log.error("request crashed", exc_info=error)
        finally:
            if not self.is_complete:
                self._connection.fail(self)

    def add_body(self, data: bytes, *, is_last: bool) -> None:
        """Keep the received part of the body until the application reads it."""
        if not self.is_complete:  # After the response, the rest of the body is discarded.
            self._body += data
        self.is_body_complete = is_last
        if data or is_last:
            self._changed.set()

    def note_input_ended(self) -> None:
        self._input_ended.set()

    def disconnect(self) -> None:
        """Tell the application that the client no longer waits for its response."""
        self._is_disconnected = True
        self._changed.set()

    async def _receive(self) -> Message:
        if not (self._is_disconnected or self.is_complete):
            if self.awaits_continue and not self.is_body_complete:
                self._transport.write(_CONTINUE)
                self.awaits_continue = False
            if self._transport.is_paused:
                self._connection.pause_or_resume_reading()
            await self._changed.wait()
            self._changed.clear()
        if self._is_disconnected or self.is_complete:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        return {"type": "http.request", "body": body, "more_body": not self.is_body_complete}

    async def _send(self, message: Message) -> None:
        await self._transport.drain()
        if self._is_disconnected:
            return
        if self.is_complete:
            raise RuntimeError("The response is complete already.")
        if self.is_started:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body", False))
        else:
            self._send_start(message["status"], message.get("headers", ()))

    def _send_start(self, status: int, headers: RawHeaders) -> None:
        lines = [*self._default_headers, *headers]
        known = {b"content-length": b"", b"connection": b""}
        for name, value in lines:
            if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
                raise RuntimeError("The application sent a malformed header.")
            known[name.lower()] = value
        self._framing = self._choose_framing(status, known[b"content-length"])
        if self._framing is _Framing.CHUNKED:
            lines.append((b"transfer-encoding", b"chunked"))
        closes = known[b"connection"].lower() == b"close"
        self.keeps_alive = (
            self.keeps_alive and not closes and self._connection.can_continue_after(self)
        )
        if not self.keeps_alive and not closes:
            lines.append((b"connection", b"close"))
        self.is_started = True
        self._transport.write(render_head(status, lines))

    def _choose_framing(self, status: int, length: bytes) -> _Framing:
        if self._scope["method"] == "HEAD" or status in _WITHOUT_BODY:
            return _Framing.NONE
        if length:
            self._left = int(length)
            return _Framing.COUNTED
        return _Framing.CLOSED if self._scope["http_version"] == "1.0" else _Framing.CHUNKED

    def _send_body(self, data: bytes, *, is_last: bool) -> None:
        if self._framing is _Framing.NONE:
            data = b""
        elif self._framing is _Framing.COUNTED:
            self._left -= len(data)
            if self._left < 0 or (is_last and self._left):
                raise RuntimeError("The application sent another length than it had announced.")
        elif self._framing is _Framing.CHUNKED:
            chunk = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
            data = chunk + (b"0\r\n\r\n" if is_last else b"")
        if data:
            self._transport.write(data)
        if is_last:
            self.is_complete = True
            self._body.clear()
            self._changed.set()
            self._connection.finish(self)


def _build_scope(head: RequestHead, transport: ClientTransport, state: dict[str, Any]) -> Scope:
    """Build the ASGI scope of a request."""
    path = head.path.decode("ascii")
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": head.version,
        "server": transport.server,
        "client": transport.client,
        "scheme": "http",
        "method": head.method,
        "root_path": "",
        "path": unquote(path) if "%" in path else path,
        "raw_path": head.path,
        "query_string": head.query,
        "headers": head.headers,
        "state": state,
    }


def render_head(status: int, headers: RawHeaders) -> bytes:
    """Render the status line and the headers of a response, with the blank line that ends them."""
    lines = [b"%b: %b\r\n" % each for each in headers]
    return b"".join((_STATUS_LINES[status], *lines, b"\r\n"))
