"""The id every response carries as X-Request-Id, and the log names when something went wrong."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from litestar.types import Message, Scope

from dunwell.kit.resources import Resources

_KEY = "dunwell.request_id"


def request_id_of(scope: Scope, resources: Resources) -> str:
    """The request's id, drawn when it is first asked for."""
    kept: MutableMapping[str, Any] = scope  # type: ignore[assignment] # ASGI lets one add keys
    if _KEY not in kept:
        kept[_KEY] = str(resources.ids.new(resources.clock.now()))
    request_id: str = kept[_KEY]
    return request_id


def build_marking(resources: Resources) -> Callable[[Message, Scope], Awaitable[None]]:
    """A hook that adds the id to the head of every response, ours or a page's."""

    async def mark(message: Message, scope: Scope) -> None:
        if message["type"] == "http.response.start":
            request_id = request_id_of(scope, resources)
            message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]

    return mark
