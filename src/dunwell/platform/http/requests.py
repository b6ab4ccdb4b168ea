"""What every interface reads of a request: its id, its body as it streams in, within a limit,
and how many of one sender are in progress."""

from collections import Counter
from collections.abc import AsyncIterator, Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from starlette.requests import ClientDisconnect, Request

from dunwell.platform.errors import InvalidRequest, PayloadTooLarge, RateLimited
from dunwell.platform.resources import Resources
from dunwell.platform.watched_clock import read_host

_REQUEST_ID = "dunwell.request_id"


def request_id_of(scope: MutableMapping[str, Any], resources: Resources) -> str:
    """What its response carries as X-Request-Id, and the log names when something goes wrong;
    drawn when it is first asked for. `scope`: the request's, of ASGI."""
    if _REQUEST_ID not in scope:
        scope[_REQUEST_ID] = str(resources.ids.new(read_host(resources.clock)))
    request_id: str = scope[_REQUEST_ID]
    return request_id


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


class ConcurrencyLimit:
    """Refuse what is one too many at once of the same sender."""

    def __init__(self, most: int, message: str) -> None:
        """message: what a refused sender reads."""
        self._most = most
        self._message = message
        self._counts: Counter[Hashable] = Counter()

    @contextmanager
    def hold(self, sender: Hashable) -> Iterator[None]:
        """Count the sender for as long as the block runs. Raises RateLimited."""
        if self._counts[sender] >= self._most:
            raise RateLimited(self._message, retry_after=1)
        self._counts[sender] += 1
        try:
            yield
        finally:
            self._counts[sender] -= 1
            if not self._counts[sender]:
                del self._counts[sender]


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether the header names gzip, and not only to refuse it with a quality of zero
    (RFC 9110, 12.5.3)."""
    for offered in accept_encoding.split(","):
        coding, _, parameters = offered.partition(";")
        if coding.strip().lower() == "gzip":
            name, _, quality = parameters.partition("=")
            return not (name.strip().lower() == "q" and not quality.strip().strip("0."))
    return False
