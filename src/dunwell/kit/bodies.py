"""Reads the body of a request as it streams in, and refuses it as soon as it is too large."""

from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect, Request

from dunwell.errors import InvalidRequest, PayloadTooLarge


class BodyTooLarge(PayloadTooLarge):
    """The rest of the request was not read: nothing more can come over its connection."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(
            f"The {what} is larger than {limit} bytes, the most that is taken. Send less.",
            limit=limit,
        )


async def stream_body(request: Request, limit: int) -> AsyncIterator[bytes]:
    """The body's chunks. Raises BodyTooLarge past `limit` bytes, at once when they are announced,
    and InvalidRequest when the sender goes away.

    Starlette's own limit would put an answer of its own before ours.
    """
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise BodyTooLarge("body", limit)
    taken = 0
    try:
        async for chunk in request.stream():
            taken += len(chunk)
            if taken > limit:
                raise BodyTooLarge("body", limit)
            yield chunk
    except ClientDisconnect:
        raise InvalidRequest("The connection ended before the body did. Send it again.") from None


async def read_body(request: Request, limit: int) -> bytes:
    """All of it. Raises what `stream_body` raises."""
    return b"".join([chunk async for chunk in stream_body(request, limit)])
