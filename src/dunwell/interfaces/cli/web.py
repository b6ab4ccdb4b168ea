"""`dunwell web`: one process that serves the API, alone or as a child of `dunwell up`."""

import asyncio
import signal
import socket
from contextlib import nullcontext

import click
import uvicorn
import uvloop

from dunwell.interfaces.cli.options import address_options, data_dir_option, read_settings
from dunwell.interfaces.cli.serving import (
    open_listener,
    open_operators_listener,
    operators_option,
    print_when_ready,
    render_address,
    serve_operators,
)
from dunwell.interfaces.wiring import open_web
from dunwell.platform.children.process import end_with_parent, tune_garbage_collector
from dunwell.platform.config import Settings
from dunwell.platform.config.private_folder import restrict_access
from dunwell.platform.http.server import DrainingServer, build_server
from dunwell.platform.resources import open_resources


@click.command("web")
@data_dir_option
@address_options
@click.option("--listener", type=int, hidden=True, help="An inherited listening socket.")
@operators_option
@click.option("--parent", type=int, hidden=True, help="An inherited pipe that ends with its owner.")
def command(
    data_dir: str | None, host: str | None, port: str | None,
    listener: int | None, operators_listener: int | None, parent: int | None,
) -> None:  # fmt: skip
    """Serve the API from this process alone."""
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
    """`is_alone` is True if no parent process prints when it is ready or shares its sockets."""
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
