"""What all interfaces need of a request: its id, its body up to a limit, and a limit on the
requests that one sender has in progress."""

from collections import Counter
from collections.abc import AsyncIterator, Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from starlette.requests import ClientDisconnect, Request

from dunwell.platform.errors import InvalidRequest, PayloadTooLarge, RateLimited
from dunwell.platform.resources import Resources
from dunwell.platform.watched_clock import get_host_time

_REQUEST_ID = "dunwell.request_id"


def get_request_id(scope: MutableMapping[str, Any], resources: Resources) -> str:
    """Return the request's id, which the response has in X-Request-Id and the log names if
    something goes wrong. It is created at the first call and stored in the ASGI `scope`."""
    if _REQUEST_ID not in scope:
        scope[_REQUEST_ID] = str(resources.ids.new(get_host_time(resources.clock)))
    request_id: str = scope[_REQUEST_ID]
    return request_id


class BodyTooLarge(PayloadTooLarge):
    """The body or a part of a form is larger than its limit. The rest of the request was not read,
    so no further request can use its connection."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(
            f"The {what} is larger than the limit of {limit} bytes. Send less.",
            limit=limit,
        )


async def stream_body(request: Request, limit: int) -> AsyncIterator[bytes]:
    """Yield the chunks of the body. Raises BodyTooLarge beyond `limit` bytes, immediately if the
    Content-Length is larger, and InvalidRequest if the client disconnects.

    Starlette has its own limit, but would send its own response.
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
    """Return the whole body. Raises the exceptions of `stream_body`."""
    return b"".join([chunk async for chunk in stream_body(request, limit)])


class ConcurrencyLimit:
    """Limits how many requests of one sender are in progress at the same time."""

    def __init__(self, limit: int, message: str) -> None:
        """`message` is shown to a sender who exceeds the limit."""
        self._limit = limit
        self._message = message
        self._counts: Counter[Hashable] = Counter()

    @contextmanager
    def hold(self, sender: Hashable) -> Iterator[None]:
        """Count the sender while the block runs. Raises RateLimited."""
        if self._counts[sender] >= self._limit:
            raise RateLimited(self._message, retry_after=1)
        self._counts[sender] += 1
        try:
            yield
        finally:
            self._counts[sender] -= 1
            if not self._counts[sender]:
                del self._counts[sender]


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the header accepts gzip. A quality of zero means that it does not (RFC 9110,
    12.5.3)."""
    for offered in accept_encoding.split(","):
        coding, _, parameters = offered.partition(";")
        if coding.strip().lower() == "gzip":
            name, _, quality = parameters.partition("=")
            return not (name.strip().lower() == "q" and not quality.strip().strip("0."))
    return False
