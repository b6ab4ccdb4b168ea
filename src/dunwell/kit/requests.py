"""What every interface reads of a request: its id, its body as it streams in, within a limit, and
the document that it brings."""

import asyncio
from collections.abc import AsyncIterator, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from dunwell.errors import InvalidRequest, PayloadTooLarge
from dunwell.kit.resources import Resources

_REQUEST_ID = "dunwell.request_id"
# One: many large documents at once leave the event loop its turns.
_READER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="documents")
_Read = TypeVar("_Read")


def request_id_of(scope: MutableMapping[str, Any], resources: Resources) -> str:
    """What its response carries as X-Request-Id, and the log names when something goes wrong;
    drawn when it is first asked for. `scope`: the request's, of ASGI."""
    if _REQUEST_ID not in scope:
        scope[_REQUEST_ID] = str(resources.ids.new(resources.clock.now()))
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


async def read_apart(read: Callable[[str], _Read], document: str) -> _Read:
    """What `read` answers or raises: apart from the event loop, which answers others meanwhile."""
    return await asyncio.get_running_loop().run_in_executor(_READER, read, document)
