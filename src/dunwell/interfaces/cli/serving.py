"""The shared parts of long-running commands: listening sockets, the operators' listener, and the
message that the process is ready."""

import asyncio
import contextlib
import http.client
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager

import click
import uvicorn

from dunwell.interfaces.api.readiness import Readiness
from dunwell.interfaces.wiring import OperatorService
from dunwell.platform.config import Settings
from dunwell.platform.errors import Unavailable
from dunwell.platform.http.server import build_server
from dunwell.platform.resources import Resources

_BACKLOG = 2048


def open_listener(host: str, port: int, setting: str = "--port") -> socket.socket:
    """Listen on the address. Raises OSError with a message that names the setting to change."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        raise OSError(
            f"cannot listen on {host} port {port}: {error.strerror}; use another with {setting}."
        ) from error
    return listener


def open_operators_listener(settings: Settings, inherited: int | None) -> socket.socket | None:
    """Return the socket for operators: the inherited one of `dunwell up`, or one for the setting,
    or None. Raises OSError."""
    if inherited is not None:
        return socket.socket(fileno=inherited)
    bind = settings.operator_bind
    return open_listener(bind.host, bind.port, "DUNWELL_OPERATOR_BIND") if bind else None


operators_option = click.option(
    "--operators-listener", type=int, hidden=True, help="An inherited listening socket."
)


def render_address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_ready(host: str, port: int) -> bool:
    """Return whether /readyz responds with 200 at the address."""
    reached = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(reached, port, timeout=1)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


class _Beside(uvicorn.Server):
    """A server that leaves the handling of signals to the rest of the process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_operators(
    operators: OperatorService, listener: socket.socket | None
) -> AsyncIterator[None]:
    """Serve until the block ends. Does nothing without a listener."""
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


_POLL_SECONDS = 0.2


@asynccontextmanager
async def print_when_ready(
    resources: Resources, line: str, is_up: Callable[[], bool] = lambda: True
) -> AsyncIterator[None]:
    """Print `line` once, as soon as the database is usable and `is_up` returns True."""
    telling = asyncio.create_task(_tell_once(resources, line, is_up))
    try:
        yield
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await telling


async def _tell_once(resources: Resources, line: str, is_up: Callable[[], bool]) -> None:
    told, readiness = "", Readiness(resources.database, resources.clock)
    while True:
        reason = await _find_reason(readiness)
        if reason is None and is_up():
            click.echo(line)
            return
        if reason is not None and reason != told:
            click.echo(f"dunwell: not ready: {reason}", err=True)
            told = reason
        await asyncio.sleep(_POLL_SECONDS)


async def _find_reason(readiness: Readiness) -> str | None:
    try:
        await readiness.check()
    except Unavailable as refusal:
        return refusal.message
    return None
