"""Reads a request's body as it streams in, and refuses it as soon as it is too large."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar

import msgspec
from litestar import Request

from dunwell.errors import (
    Fault,
    InvalidRequest,
    PayloadTooLarge,
    UnsupportedMediaType,
    ValidationError,
)
from dunwell.kit.shape import find_faults
from dunwell.kit.texts import find_unprintable

Shape = TypeVar("Shape")
AnyRequest = Request[Any, Any, Any]

MAX_JSON_BYTES = 10 * 1024 * 1024


def read_header(request: AnyRequest, name: bytes) -> str | None:
    """The first header of this lower-case name, straight from the scope: parsing all of them into
    a mapping costs as much as the routing."""
    for given, value in request.scope["headers"]:
        if given == name:
            return value.decode("latin-1")
    return None


async def stream_body(request: AnyRequest, limit: int) -> AsyncIterator[bytes]:
    """The body's chunks. Raises PayloadTooLarge past `limit` bytes, at once when they are
    announced, and InvalidRequest when the sender goes away."""
    announced = read_header(request, b"content-length") or ""
    if announced.isdecimal() and int(announced) > limit:
        raise too_large("body", limit)
    taken, has_more = 0, True
    while has_more:
        message: Any = await request.receive()
        if message["type"] != "http.request":
            raise InvalidRequest("The connection ended before the body did. Send it again.")
        chunk, has_more = message.get("body", b""), message.get("more_body", False)
        taken += len(chunk)
        if taken > limit:
            raise too_large("body", limit)
        if chunk:
            yield chunk


def has_body(request: AnyRequest) -> bool:
    """Whether the request announces one."""
    if read_header(request, b"transfer-encoding") is not None:
        return True
    return (read_header(request, b"content-length") or "0") != "0"


async def read_json_bytes(request: AnyRequest, further_media_types: Sequence[str] = ()) -> bytes:
    """The body of a JSON request, not parsed. Raises UnsupportedMediaType, PayloadTooLarge."""
    check_media_type(request, "application/json", *further_media_types)
    return b"".join([chunk async for chunk in stream_body(request, MAX_JSON_BYTES)])


def check_media_type(request: AnyRequest, *wanted: str) -> None:
    given = read_header(request, b"content-type") or ""
    if given.partition(";")[0].strip().lower() not in wanted:
        raise UnsupportedMediaType(
            f"The body must be sent as {' or '.join(wanted)}; set the Content-Type header.",
            allowed=list(wanted),
        )


def parse_json(body: bytes) -> Any:
    """Raises InvalidRequest."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidRequest(f"The body is not JSON: {error}. Correct it and send again.") from None


def read_shape(body: bytes, shape: type[Shape]) -> Shape:
    """Parse a body into a shape of ours. Raises InvalidRequest, ValidationError (all faults)."""
    value = parse_json(body)
    faults: list[Fault] = [*find_faults(value, shape), *find_unprintable(value)]
    if faults:
        raise ValidationError(faults)
    return msgspec.convert(value, shape)


def too_large(what: str, limit: int) -> PayloadTooLarge:
    return PayloadTooLarge(
        f"The {what} is larger than {limit} bytes, the most that is taken. Send less.", limit=limit
    )
