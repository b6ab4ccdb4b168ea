"""The application on a real socket of this machine, for clients with their own HTTP library."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette

from dunwell.platform.http.server import ConnectionBounds, build_server
from tests.support.limited_server import answer_in_json
from tests.support.listening import a_listening_socket


@asynccontextmanager
async def a_server(app: Starlette) -> AsyncIterator[str]:
    """Serve the application until the block ends, and yield its origin."""
    with a_listening_socket() as listening:
        host, port = listening.getsockname()
        server = build_server(app, ConnectionBounds(answer_in_json, lambda _host: True))
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        # The socket already listens, so a client that connects before the server is up waits for
        # it.
        yield f"http://{host}:{port}"
        server.should_exit = True
        await serving
