"""Requests are read correctly however the bytes are split and whatever a body contains."""

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.errors import HeadTooLarge, InvalidRequest, Refusal
from dunwell.platform.http.server import ServerLimits
from dunwell.platform.http.server.reader import RequestReader

_LIMITS = ServerLimits(head_bytes=2_000, trailer_bytes=100)
_INSIDE = b"GET /inside HTTP/1.1\r\nHost: x\r\n\r\n"
_UPGRADE = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n"
_COUNTED = b"POST /counted HTTP/1.1\r\nHost: x\r\n%bContent-Length: %d\r\n\r\n%b"
_CHUNKED = b"POST /chunked HTTP/1.1\r\nHost: x\r\n%bTransfer-Encoding: chunked\r\n\r\n"
_CHUNKS = b"a;name=value\r\n0123456789\r\n%x\r\n%b\r\n0\r\nTrailer: 1\r\n\r\n" % (
    len(_INSIDE),
    _INSIDE,
)

Request = tuple[str, bytes, bytes]
# The bytes of one connection, followed by the requests that they contain.
_STREAM = b"".join((
    b"GET /first HTTP/1.1\r\nHost: x\r\n\r\n",
    _COUNTED % (_UPGRADE, len(_INSIDE), _INSIDE),
    b"\r\n",
    _CHUNKED % _UPGRADE + _CHUNKS,
    _COUNTED % (b"", 4, b"\r\n\r\n"),
    _CHUNKED % b"" + _CHUNKS,
    b"GET /last HTTP/1.1\r\nHost: x\r\n" + _UPGRADE + b"\r\n",
))  # fmt: skip
_REQUESTS: list[Request] = [
    ("GET", b"/first", b""),
    ("POST", b"/counted", _INSIDE),
    ("POST", b"/chunked", b"0123456789" + _INSIDE),
    ("POST", b"/counted", b"\r\n\r\n"),
    ("POST", b"/chunked", b"0123456789" + _INSIDE),
    ("GET", b"/last", b""),
]


def _read(pieces: Iterable[bytes], limits: ServerLimits = _LIMITS) -> list[Request]:
    return list(_read_each(RequestReader(limits), pieces))


def _read_each(reader: RequestReader, pieces: Iterable[bytes]) -> Iterator[Request]:
    head, body = None, b""
    for piece in pieces:
        reader.feed(piece)
        while True:
            head = head or reader.read_head()
            if head is None:
                break
            body += reader.read_body()
            if not reader.is_body_complete:
                break
            yield head.method, head.path, body
            head, body = None, b""


def test_a_body_is_never_read_as_a_request_wherever_the_bytes_are_split() -> None:
    for cut in range(len(_STREAM) + 1):
        assert _read([_STREAM[:cut], _STREAM[cut:]]) == _REQUESTS, cut


def test_requests_that_arrive_byte_by_byte_are_read_correctly() -> None:
    assert _read(bytes([each]) for each in _STREAM) == _REQUESTS


@given(bodies=st.lists(st.binary(max_size=40) | st.just(_INSIDE), max_size=5), data=st.data())
def test_bodies_are_read_correctly_in_any_chunks_and_pieces(
    bodies: list[bytes], data: st.DataObject
) -> None:
    stream = b""
    for body in bodies:
        cuts = sorted({*data.draw(st.lists(st.integers(0, len(body)))), len(body)} - {0})
        parts = [body[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]
        stream += _CHUNKED % data.draw(st.sampled_from((b"", _UPGRADE)))
        stream += b"".join(b"%X\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"
    size = data.draw(st.integers(1, max(1, len(stream))))
    pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
    assert [body for _, _, body in _read(pieces)] == bodies


@pytest.mark.parametrize(
    "chunks",
    [
        b"g\r\n",
        b"-1\r\n",
        b"+1\r\na\r\n",
        b"0x1\r\na\r\n",
        b"1_0\r\n",
        b" 1\r\na\r\n",
        b"1 \r\na\r\n",
        b"\r\n",
        b"1\na\r\n",
        b"1\r\na\n",
        b"1\r\nab\r\n",
        b"1;a\nb\r\na\r\n",
        b"1;a\rb\r\na\r\n",
        b"1;\x00\r\na\r\n",
        b"11111111111111111\r\n",
        b"0\r\nTrailer: 1\n\r\n",
        b"0\r\nTrailer: 1\rX\r\n\r\n",
        b"0\r\n\n",
    ],
)
def test_malformed_chunks_are_refused(chunks: bytes) -> None:
    for pieces in (
        [_CHUNKED % b"" + chunks],
        [_CHUNKED % b"", *(bytes([each]) for each in chunks)],
    ):
        with pytest.raises(InvalidRequest):
            _read(pieces)


@pytest.mark.parametrize(
    "head",
    [
        b"Transfer-Encoding: gzip, chunked\r\n",
        b"Transfer-Encoding: identity\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        b"Content-Length: 3\r\nContent-Length: 3\r\n",
        b"Content-Length: +3\r\n",
        b"Content-Length: 1_0\r\n",
    ],
)
def test_ambiguous_body_lengths_are_refused(head: bytes) -> None:
    for upgrade in (b"", _UPGRADE):
        with pytest.raises(InvalidRequest):
            _read([b"POST / HTTP/1.1\r\nHost: x\r\n" + upgrade + head + b"\r\nabc"])


@pytest.mark.parametrize(
    "first",
    [b"GET /\r\n\r\n", b"GET / HTTP/0.9\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
     b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n", b"GET / HTTP/1.1\nHost: x\n\n",
     b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"],
)  # fmt: skip
def test_requests_of_other_protocols_are_refused(first: bytes) -> None:
    with pytest.raises(InvalidRequest):
        _read([first])


def _find_refusal(tail: bytes, pieces: int) -> type[Refusal] | None:
    stream = _CHUNKED % b"" + tail
    size = -(-len(stream) // pieces)
    try:
        _read(stream[start : start + size] for start in range(0, len(stream), size))
    except Refusal as refusal:
        return type(refusal)
    return None


@pytest.mark.parametrize("pieces", [1, 7, 1_000])
def test_trailers_and_chunk_extensions_share_one_limit(pieces: int) -> None:
    room = _LIMITS.trailer_bytes - len(b"X: \r\n\r\n")
    for name, tail in {
        "trailer": b"0\r\nX: %b\r\n\r\n",
        "extension": b"1;%b\r\na\r\n0\r\nX:\r\n\r\n",
        "trailer after an extension": b"1;ab\r\na\r\n0\r\n%b\r\n",
    }.items():
        assert _find_refusal(tail % (b"a" * room), pieces) is None, name
        assert _find_refusal(tail % (b"a" * (room + 4)), pieces) is HeadTooLarge, name
    assert _find_refusal(b"0\r\n" + b"a:b\r\n" * 30, pieces) is HeadTooLarge
    assert _find_refusal(b"1;a\r\na\r\n" * 100, pieces) is HeadTooLarge
    assert _find_refusal(b"0\r\n" + b"a" * 200, pieces) is HeadTooLarge  # A line without an end.
