"""The long-running commands `dunwell web` and `dunwell worker`, alone or as children of `dunwell
up`, and the parts they share: the operators' server, and the message that the process is ready.
"""

import asyncio
import contextlib
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, nullcontext

import click
import uvicorn
import uvloop

from dunwell.interfaces.api.readiness import Readiness
from dunwell.interfaces.cli.listeners import (
    open_listener,
    open_operators_listener,
    operators_option,
    render_address,
)
from dunwell.interfaces.cli.options import address_options, data_dir_option, read_settings
from dunwell.interfaces.wiring import OperatorService, build_operator_service, open_loops, open_web
from dunwell.interfaces.worker.loops import run_loops
from dunwell.operations.recovery.restore_hold import wait_until_resumed
from dunwell.platform.children.process import end_with_parent, tune_garbage_collector
from dunwell.platform.config import Settings
from dunwell.platform.config.private_folder import restrict_access
from dunwell.platform.errors import Unavailable
from dunwell.platform.http.server import DrainingServer, build_server
from dunwell.platform.resources import Resources, open_resources


class _SecondaryServer(uvicorn.Server):
    """A second server in a process whose signals are handled elsewhere."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_operators(
    operators: OperatorService, listener: socket.socket | None
) -> AsyncIterator[None]:
    """Serve the operators' application until the block ends. Without a listener, do nothing."""
    if listener is None:
        yield
        return
    server = build_server(operators.app, operators.bounds, grace_seconds=1, kind=_SecondaryServer)
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
    printing = asyncio.create_task(_print_once(resources, line, is_up))
    try:
        yield
    finally:
        printing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await printing


async def _print_once(resources: Resources, line: str, is_up: Callable[[], bool]) -> None:
    reported, readiness = "", Readiness(resources.database, resources.clock)
    while True:
        reason = await _find_unready_reason(readiness)
        if reason is None and is_up():
            click.echo(line)
            return
        if reason is not None and reason != reported:
            click.echo(f"dunwell: not ready: {reason}", err=True)
            reported = reason
        await asyncio.sleep(_POLL_SECONDS)


async def _find_unready_reason(readiness: Readiness) -> str | None:
    try:
        await readiness.check()
    except Unavailable as refusal:
        return refusal.message
    return None


@click.command("web")
@data_dir_option
@address_options
@click.option("--listener", type=int, hidden=True, help="An inherited listening socket.")
@operators_option
@click.option(
    "--parent", type=int, hidden=True, help="An inherited pipe that closes when the parent ends."
)
def web(
    data_dir: str | None, host: str | None, port: str | None,
    listener: int | None, operators_listener: int | None, parent: int | None,
) -> None:  # fmt: skip
    """Serve the API, the portal and the debtors' pages from this process alone."""
    if parent is not None:
        end_with_parent(parent)
    settings = read_settings("web", data_dir=data_dir, host=host, port=port)
    if parent is None:
        restrict_access(settings)
    if listener is None:
        listening = open_listener(settings.host, settings.port)
    else:
        listening = socket.socket(fileno=listener)
    operators = open_operators_listener(settings, operators_listener)
    tune_garbage_collector()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, listening, operators, is_alone=parent is None))


async def _serve(
    settings: Settings, listening: socket.socket, operators: socket.socket | None, *,
    is_alone: bool,
) -> None:  # fmt: skip
    """Run the web process. `is_alone` is True without a parent process, which would share its
    sockets and print when it is ready."""
    async with (
        open_resources(settings, "web") as resources,
        open_web(resources) as web,
        serve_operators(web.operators, operators),
    ):
        kind = DrainingServer if is_alone else uvicorn.Server
        server = build_server(web.app, web.bounds, kind=kind)
        _end_on_signals(server)
        line = f"ready {render_address(*listening.getsockname()[:2])}"
        async with (
            print_when_ready(resources, line, lambda: server.started) if is_alone else nullcontext()
        ):
            await server.serve(sockets=[listening])


def _end_on_signals(server: uvicorn.Server) -> None:
    """Stop on signals that arrive before the server handles signals, or that it raises again after
    it has stopped."""

    def end(*_: object) -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


@click.command("worker")
@data_dir_option
@operators_option
@click.option(
    "--parent", type=int, hidden=True, help="An inherited pipe that closes when the parent ends."
)
def worker(data_dir: str | None, operators_listener: int | None, parent: int | None) -> None:
    """Run due steps, send messages and deliver webhooks from this process alone."""
    if parent is not None:
        end_with_parent(parent)
    settings = read_settings("worker", data_dir=data_dir)
    if parent is None:
        restrict_access(settings)
    operators = open_operators_listener(settings, operators_listener)
    tune_garbage_collector()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_run_worker(settings, operators, is_alone=parent is None))


async def _run_worker(
    settings: Settings, operators: socket.socket | None, *, is_alone: bool
) -> None:
    """Run the worker. `is_alone` is True without a parent process, which would print when it is
    ready."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with (
        open_resources(settings, "worker") as resources,
        serve_operators(build_operator_service(resources), operators),
    ):
        line = "ready, worker"
        if settings.operator_bind is not None:
            line += f", health and metrics at http://{settings.operator_bind}"
        async with print_when_ready(resources, line) if is_alone else nullcontext():
            await wait_until_resumed(resources, stop)
            async with open_loops(resources, stop) as loops:
                await run_loops(loops, stop, clock=resources.clock)
