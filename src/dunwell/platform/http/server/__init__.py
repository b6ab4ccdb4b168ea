"""The HTTP server of a web process. Decision 0014 says why not another one.

`limits` says what a client may cost. `connection` owns the state of one connection: `transport`
moves its bytes, `reader` divides them into requests, and in `exchange` the application sees one.
"""

from dunwell.platform.http.server.exchange import INPUT_ENDED
from dunwell.platform.http.server.limits import ConnectionBounds, RenderedResponse, ServerLimits
from dunwell.platform.http.server.server import DrainingServer, build_server

__all__ = [
    "INPUT_ENDED",
    "ConnectionBounds",
    "DrainingServer",
    "RenderedResponse",
    "ServerLimits",
    "build_server",
]
