"""Marks every response with its request's id."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from litestar.types import Message, Scope

from dunwell.kit.request_id import request_id_of as find_request_id
from dunwell.kit.resources import Resources


def request_id_of(scope: Scope, resources: Resources) -> str:
    """The request's id, drawn when it is first asked for."""
    kept: MutableMapping[str, Any] = scope  # type: ignore[assignment] # ASGI lets one add keys
    return find_request_id(kept, resources)


def build_marking(resources: Resources) -> Callable[[Message, Scope], Awaitable[None]]:
    """A hook that adds the id to the head of every response, ours or a page's."""

    async def mark(message: Message, scope: Scope) -> None:
        if message["type"] == "http.response.start":
            request_id = request_id_of(scope, resources)
            message["headers"] = [*message["headers"], (b"x-request-id", request_id.encode())]

    return mark
