"""What `dunwell web` and `dunwell worker` show operators at DUNWELL_OPERATOR_BIND: figures and
health, beside whatever else the process does.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import uvicorn

from dunwell.interfaces.wiring import Operators
from dunwell.platform.http.server import build_server


class _Beside(uvicorn.Server):
    """Leaves signals to what the process does beside."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_operators(
    operators: Operators, listener: socket.socket | None
) -> AsyncIterator[None]:
    """Until the block ends; nothing without a listener."""
    if listener is None:
        yield
        return
    server = build_server(operators.app, operators.bounds, grace_seconds=1, kind=_Beside)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await serving
