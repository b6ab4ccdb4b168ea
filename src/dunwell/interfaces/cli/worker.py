"""`dunwell worker`: one process that runs the loops, alone or as a child of `dunwell up`."""

import asyncio
import signal
import socket
from contextlib import nullcontext

import click
import uvloop

from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.interfaces.cli.serving import (
    open_operators_listener,
    operators_option,
    print_when_ready,
    serve_operators,
)
from dunwell.interfaces.wiring import build_operator_service, open_loops
from dunwell.interfaces.worker.loops import run_loops
from dunwell.operations.recovery.restore_hold import wait_until_resumed
from dunwell.platform.children.process import end_with_parent, tune_garbage_collector
from dunwell.platform.config import Settings
from dunwell.platform.config.private_folder import restrict_access
from dunwell.platform.resources import open_resources


@click.command("worker")
@data_dir_option
@operators_option
@click.option("--parent", type=int, hidden=True, help="An inherited pipe that ends with its owner.")
def command(data_dir: str | None, operators_listener: int | None, parent: int | None) -> None:
    """Run due steps, send messages and deliver webhooks from this process alone."""
    if parent is not None:
        end_with_parent(parent)
    settings = read_settings("worker", data_dir=data_dir)
    if parent is None:
        restrict_access(settings)
    operators = open_operators_listener(settings, operators_listener)
    tune_garbage_collector()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_work(settings, operators, is_alone=parent is None))


async def _work(settings: Settings, operators: socket.socket | None, *, is_alone: bool) -> None:
    """`is_alone` is True if no parent process prints when it is ready."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with (
        open_resources(settings, "worker") as resources,
        serve_operators(build_operator_service(resources), operators),
    ):
        line = "ready, worker"
        if settings.operator_bind is not None:
            line += f", health and figures at http://{settings.operator_bind}"
        async with print_when_ready(resources, line) if is_alone else nullcontext():
            await wait_until_resumed(resources, stop)
            async with open_loops(resources, stop) as loops:
                await run_loops(loops, stop, clock=resources.clock)
