"""The id every response carries as X-Request-Id, and the log names when something went wrong."""

from collections.abc import MutableMapping
from typing import Any

from dunwell.kit.resources import Resources

_KEY = "dunwell.request_id"


def request_id_of(scope: MutableMapping[str, Any], resources: Resources) -> str:
    """The request's id, drawn when it is first asked for. `scope`: the request's, of ASGI."""
    if _KEY not in scope:
        scope[_KEY] = str(resources.ids.new(resources.clock.now()))
    request_id: str = scope[_KEY]
    return request_id
