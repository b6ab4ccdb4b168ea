"""Serves an application on `HttpConnection`. uvicorn opens and closes the
sockets and stops the server on a signal."""

from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from dunwell.kit.http_server.connection import HttpConnection
from dunwell.kit.http_server.limits import Bounds


def build_server(
    app: ASGIApp, bounds: Bounds, *, grace_seconds: int = 20,
    kind: type[uvicorn.Server] = uvicorn.Server,
) -> uvicorn.Server:  # fmt: skip
    """Build a server for `app` that logs no requests and believes no header about their origin.

    grace_seconds: how long requests may still take once the server has to stop. Then they are
    cancelled, so that no client can keep the process from ending.
    """
    protocol: Any = partial(HttpConnection, bounds=bounds)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_seconds,
    )
    return kind(config)
