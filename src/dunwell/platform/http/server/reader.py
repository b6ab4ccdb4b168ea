"""Divide the bytes of one connection into HTTP/1.1 requests. This module knows no socket and no
clock.

httptools (llhttp, the parser of Node.js) parses each head and never gets a byte of a body. This
module finds the end of the head, gives a parser the bytes up to there, and creates a new parser for
the next head. It counts the body by its Content-Length or decodes its chunks. Therefore no body can
be mistaken for a request, whatever it contains and whatever its head asks for, such as an upgrade
to h2c.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto

import httptools

from dunwell.platform.errors import AddressTooLong, HeadTooLarge, InvalidRequest
from dunwell.platform.http.server.limits import ServerLimits

Headers = list[tuple[bytes, bytes]]

_BLANK_LINE = b"\r\n\r\n"
_VERSIONS = frozenset(("1.0", "1.1"))
# The size of a chunk and its extension, which has no control characters.
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,16})(;[^\x00-\x08\x0a-\x1f\x7f]*)?")
_CHUNK_SIZE_BYTES = 16
_NOT_HTTP = (
    "The request cannot be read: its first line, its headers or its framing are not HTTP/1.1. "
    "Send one Content-Length or a chunked body, never both."
)


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The first line and the headers of a request. Header names are in lower case."""

    method: str
    path: bytes
    query: bytes
    version: str
    headers: Headers
    keeps_alive: bool
    expects_continue: bool


class RequestReader:
    """Reads the requests of one connection one after the other.

    `feed` takes bytes from the network. `read_head` returns the next head once it is complete.
    After that, `read_body` returns the received part of its body until `is_body_complete`. Bytes
    after the body remain unread until the next `read_head`.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._head_bytes = limits.head_bytes
        self._trailer_bytes = limits.trailer_bytes
        self._buffer = bytearray()
        self._head = _HeadParser()
        # How much of the buffer the head's parser has received.
        self._parsed = 0
        # The length of blank lines before a head, which count as part of it.
        self._skipped = 0
        self._body: _CountedBody | _ChunkedBody = _CountedBody(0)

    @property
    def unread_bytes(self) -> int:
        """The number of received bytes that belong to no head or body that was read."""
        return len(self._buffer)

    @property
    def is_body_complete(self) -> bool:
        return self._body.is_complete

    @property
    def body_bytes_left(self) -> int | None:
        """The number of missing bytes of the body, None while a chunked body has not ended."""
        return self._body.bytes_left

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def read_head(self) -> RequestHead | None:
        """Return the next head, or None if more bytes are needed.

        Raises AddressTooLong, HeadTooLarge and InvalidRequest.
        """
        if not self._parsed:
            self._skip_blank_lines()
        limit = self._head_bytes - self._skipped
        end = self._buffer.find(_BLANK_LINE, max(0, self._parsed - 3), limit)
        stop = min(len(self._buffer), limit) if end < 0 else end + len(_BLANK_LINE)
        is_complete = self._head.feed(bytes(self._buffer[self._parsed : stop]))
        self._parsed = stop
        if is_complete != (end >= 0):  # The parser and this reader must agree on where a head ends.
            raise InvalidRequest(_NOT_HTTP)
        if not is_complete:
            if stop >= limit:
                self._refuse_size()
            return None
        del self._buffer[:stop]
        head, self._body = self._head.build(self._trailer_bytes)
        self._head, self._parsed, self._skipped = _HeadParser(), 0, 0
        return head

    def read_body(self) -> bytes:
        """Return the part of the body that was received since the last call.

        Raises InvalidRequest if the chunks are malformed, and HeadTooLarge if the trailers are too
        large.
        """
        return self._body.take(self._buffer)

    def _skip_blank_lines(self) -> None:
        """Skip blank lines before a request, which a server ignores (RFC 9112, 2.2)."""
        if self._buffer.startswith((b"\r", b"\n")):
            length = len(self._buffer)
            self._buffer = self._buffer.lstrip(b"\r\n")
            self._skipped += length - len(self._buffer)

    def _refuse_size(self) -> None:
        limit = self._head_bytes
        words = f"is larger than the limit of {limit} bytes. Send less."
        if b"\n" not in self._buffer[: self._parsed]:
            raise AddressTooLong(f"The request's address {words}", limit=limit)
        raise HeadTooLarge(f"The head of the request {words}", limit=limit)


class _HeadParser:
    """Parses one head. httptools calls the methods `on_...`."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: Headers = []
        self._is_complete = False
        self._keeps_alive = False
        # Headers that the server itself interprets.
        self._lengths: list[bytes] = []
        self._encodings: list[bytes] = []
        self._expects_continue = False

    def feed(self, data: bytes) -> bool:
        """Parse the next part of the head and return whether the head is complete."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # The head is complete and asks for another protocol, which a server may ignore (RFC
            # 9110, 7.8). The parser would skip the body, but never gets it.
            pass
        except httptools.HttpParserError:
            raise InvalidRequest(_NOT_HTTP) from None
        return self._is_complete

    def build(self, trailer_bytes: int) -> "tuple[RequestHead, _CountedBody | _ChunkedBody]":
        """Return the head and its body's reader. Raises InvalidRequest."""
        version = self._parser.get_http_version()
        method = self._parser.get_method().decode("ascii")
        if version not in _VERSIONS or method == "CONNECT":
            raise InvalidRequest(_NOT_HTTP)
        try:
            url = httptools.parse_url(self._target)
        except httptools.HttpParserInvalidURLError:
            raise InvalidRequest(_NOT_HTTP) from None
        head = RequestHead(
            method=method, path=url.path or b"/", query=url.query or b"", version=version,
            headers=self._headers,
            # HTTP/1.0 keeps connections open only with an extension that this server does not
            # support.
            keeps_alive=self._keeps_alive and version != "1.0",
            expects_continue=self._expects_continue and version != "1.0",
        )  # fmt: skip
        return head, self._build_body(version, trailer_bytes)

    def _build_body(self, version: str, trailer_bytes: int) -> "_CountedBody | _ChunkedBody":
        """Choose the body's framing. Only framings are accepted that every proxy interprets in the
        same way."""
        if not self._encodings:
            return _CountedBody(int(self._lengths[0]) if self._lengths else 0)
        is_chunked = [each.lower() for each in self._encodings] == [b"chunked"]
        if self._lengths or not is_chunked or version == "1.0":
            raise InvalidRequest(_NOT_HTTP)
        return _ChunkedBody(trailer_bytes)

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"content-length":  # llhttp accepts only one, with digits only.
            self._lengths.append(value)
        elif name == b"transfer-encoding":
            self._encodings.append(value)
        elif name == b"expect" and value.lower() == b"100-continue":
            self._expects_continue = True
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._is_complete = True
        self._keeps_alive = self._parser.should_keep_alive()


class _CountedBody:
    """A body of known length."""

    def __init__(self, length: int) -> None:
        self.bytes_left = length

    @property
    def is_complete(self) -> bool:
        return not self.bytes_left

    def take(self, buffer: bytearray) -> bytes:
        data = bytes(buffer[: self.bytes_left])
        del buffer[: len(data)]
        self.bytes_left -= len(data)
        return data


class _ChunkPart(Enum):
    SIZE = auto()
    DATA = auto()
    DATA_END = auto()
    TRAILERS = auto()
    END = auto()


class _ChunkedBody:
    """A chunked body (RFC 9112, 7.1). Extensions and trailers are ignored and have a common limit.
    Each line must end with CR LF, because proxies disagree about what follows a bare LF."""

    def __init__(self, trailer_bytes: int) -> None:
        self._part = _ChunkPart.SIZE
        # The number of missing bytes of the current chunk.
        self._chunk_left = 0
        self._trailer_bytes = trailer_bytes
        self._trailer_left = trailer_bytes

    @property
    def is_complete(self) -> bool:
        return self._part is _ChunkPart.END

    @property
    def bytes_left(self) -> int | None:
        return 0 if self.is_complete else None

    def take(self, buffer: bytearray) -> bytes:
        data = bytearray()
        position = 0
        while self._part is not _ChunkPart.END:
            if self._part is _ChunkPart.DATA:
                piece = buffer[position : position + self._chunk_left]
                data += piece
                position += len(piece)
                self._chunk_left -= len(piece)
                if self._chunk_left:
                    break
                self._part = _ChunkPart.DATA_END
            end = buffer.find(b"\n", position)
            if end < 0:
                if len(buffer) - position > self._trailer_left + _CHUNK_SIZE_BYTES + 1:
                    self._refuse_size()
                break
            self._read_line(bytes(buffer[position : end + 1]))
            position = end + 1
        del buffer[:position]
        return bytes(data)

    def _read_line(self, line: bytes) -> None:
        content = line[:-2]
        if line[-2:] != b"\r\n" or b"\r" in content:
            raise InvalidRequest(_NOT_HTTP)
        if self._part is _ChunkPart.SIZE:
            self._read_chunk_size(content)
        elif self._part is _ChunkPart.TRAILERS:
            self._use_trailer_bytes(len(line))
            if not content:
                self._part = _ChunkPart.END
        elif content:  # Content after the end of a chunk's data.
            raise InvalidRequest(_NOT_HTTP)
        else:
            self._part = _ChunkPart.SIZE

    def _read_chunk_size(self, line: bytes) -> None:
        match = _CHUNK_SIZE.fullmatch(line)
        if match is None:
            raise InvalidRequest(_NOT_HTTP)
        self._use_trailer_bytes(len(match[2] or b""))
        self._chunk_left = int(match[1], 16)
        self._part = _ChunkPart.DATA if self._chunk_left else _ChunkPart.TRAILERS

    def _use_trailer_bytes(self, count: int) -> None:
        self._trailer_left -= count
        if self._trailer_left < 0:
            self._refuse_size()

    def _refuse_size(self) -> None:
        limit = self._trailer_bytes
        raise HeadTooLarge(
            "The trailers and chunk extensions of the request are larger than the limit of "
            f"{limit} bytes. Send less.",
            limit=limit,
        )
