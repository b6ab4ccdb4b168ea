"""`dunwell up`: run everything on one host, supervised by this process.

1. Lock the data folder. 2. Listen. 3. Start the embedded database, unless another one is
configured. 4. Migrate. 5. Start the web processes and the worker. 6. Print `ready` once they
respond. 7. Restart processes that end. 8. On a signal, stop the processes, the database last.
"""

import asyncio
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import click

from dunwell.interfaces.cli.listeners import (
    is_ready,
    open_listener,
    open_operators_listener,
    render_address,
)
from dunwell.interfaces.cli.main import load_object
from dunwell.interfaces.cli.options import address_options, data_dir_option, read_settings
from dunwell.operations.recovery.archive import open_embedded
from dunwell.platform.children.programs import ParentPipe, Process, Program, stop_programs
from dunwell.platform.config import Settings
from dunwell.platform.config.private_folder import restrict_access
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.migrate import migrate
from dunwell.platform.embedded.folder_lock import FolderLock
from dunwell.platform.embedded.postgres import PostgresFailed, get_database_url
from dunwell.platform.errors import Refusal
from dunwell.platform.key_versions import register_keys_at

_WATCH_SECONDS = 0.1
_ARCHIVE = "archive"
# Longer than a web process or a worker takes to stop.
_PROGRAM_TIMEOUT_SECONDS = 25.0
_DATABASE_TIMEOUT_SECONDS = 30.0
_UNAVAILABLE_ERRORS = (OSError, asyncpg.CannotConnectNowError, asyncpg.PostgresConnectionError)


@click.command("up")
@data_dir_option
@address_options
@click.option("--workers", type=click.IntRange(1, 64), default=1, help="Web processes. Default: 1")
def command(data_dir: str | None, host: str | None, port: str | None, workers: int) -> None:
    """Start everything: database, web and worker. Stop with Ctrl-C or SIGTERM."""
    settings = read_settings("up", data_dir=data_dir, host=host, port=port)
    restrict_access(settings)
    stopping = _StopRequest()
    with ExitStack() as closing:  # Callbacks run in reverse order.
        lock = FolderLock.acquire(settings.data_dir, "up")
        closing.callback(lock.release)
        listener = closing.enter_context(open_listener(settings.host, settings.port))
        operators = open_operators_listener(settings, None)
        if operators is not None:
            closing.enter_context(operators)
        database = [] if settings.database_url else [_plan_database(settings, stopping)]
        closing.callback(stop_programs, database, _DATABASE_TIMEOUT_SECONDS)
        if not _prepare_database(settings, database, stopping):
            return
        programs = _plan_programs(settings, lock, _Listeners(listener, operators), workers)
        stopping.programs = programs
        # Stop the archive after the others, so that it includes their last changes.
        closing.callback(stop_programs, programs, _PROGRAM_TIMEOUT_SECONDS)
        others = [each for each in programs if each.name != _ARCHIVE]
        closing.callback(stop_programs, others, _PROGRAM_TIMEOUT_SECONDS)
        closing.callback(listener.close)
        _watch([*database, *programs], settings, stopping)


class _StopRequest:
    """Handles the signals that request a stop. A second signal kills the programs."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self.programs: Sequence[Program] = ()
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._request)

    def _request(self, *_: object) -> None:
        if self._requested.is_set():
            for program in self.programs:
                program.send(signal.SIGKILL)
        self._requested.set()

    def is_requested(self) -> bool:
        return self._requested.is_set()

    def wait(self, seconds: float) -> None:
        self._requested.wait(seconds)


def _plan_database(settings: Settings, stopping: _StopRequest) -> Program:
    embedded = open_embedded(settings)
    return Program(
        "database",
        lambda: embedded.start(is_wanted=lambda: not stopping.is_requested()),
        stop_signal=signal.SIGINT,  # PostgreSQL's fast shutdown.
    )


def _prepare_database(settings: Settings, database: list[Program], stopping: _StopRequest) -> bool:
    """Start the embedded database if there is one, and migrate. Return False if a stop was
    requested meanwhile. Raises KeyRefused."""
    try:
        for program in database:
            program.start()
        is_migrated = _migrate(get_database_url(settings), stopping)
    except PostgresFailed:
        if stopping.is_requested():
            return False
        raise
    if is_migrated:
        # Check the key here. Otherwise each program would refuse it and be restarted repeatedly.
        asyncio.run(register_keys_at(get_database_url(settings), KeyRing(settings.secret_key)))
    return is_migrated


def _migrate(url: str, stopping: _StopRequest) -> bool:
    """Migrate. Wait for a database on another host, which may start later than this one."""
    deadline = time.monotonic() + _DATABASE_TIMEOUT_SECONDS
    while not stopping.is_requested():
        try:
            migrate(url)
        except _UNAVAILABLE_ERRORS as error:
            if time.monotonic() > deadline:
                raise PostgresFailed(
                    f"The database does not respond ({error}). Check DUNWELL_DATABASE_URL."
                ) from error
        else:
            return True
        stopping.wait(0.5)
    return False


@dataclass(frozen=True, slots=True)
class _Listeners:
    """The sockets that children inherit: web processes get both, the worker only `operators`."""

    web: socket.socket
    operators: socket.socket | None


def _plan_programs(
    settings: Settings, lock: FolderLock, listeners: _Listeners, workers: int
) -> list[Program]:
    parent_pipe = ParentPipe()
    environment = _child_environment(settings)
    if listeners.operators is not None:
        environment = {**_share_metrics(settings), **environment}

    def on_death(pid: int) -> None:
        folder = environment.get("PROMETHEUS_MULTIPROC_DIR")
        if folder is not None:
            load_object("dunwell.platform.metrics:remove_process_gauges")(pid, Path(folder))

    def plan(name: str, subcommand: str, **inherited: socket.socket | None) -> Program:
        sockets = {**inherited, "--operators-listener": listeners.operators}
        descriptors_by_option = {
            option: each.fileno() for option, each in sockets.items() if each is not None
        }
        arguments = [subcommand, "--parent", str(parent_pipe.descriptor)]
        for option, descriptor in descriptors_by_option.items():
            arguments += [option, str(descriptor)]
        command = [sys.executable, "-P", "-m", "dunwell", *arguments]
        descriptors = (lock.descriptor, *descriptors_by_option.values())

        def start() -> Process:
            return parent_pipe.spawn(command, environment, descriptors)

        return Program(name, start, on_death=on_death)

    listener = {"--listener": listeners.web}
    web = [plan(f"web {number}", "web", **listener) for number in range(1, workers + 1)]
    archive = [] if settings.archive_dir is None else [plan(_ARCHIVE, "archive")]
    return [*web, plan("worker", "worker"), *archive]


def _share_metrics(settings: Settings) -> dict[str, str]:
    """Let the children share their metrics, so that each can report the sums of all."""
    folder = settings.data_dir / "figures"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return {"PROMETHEUS_MULTIPROC_DIR": str(folder)}


def _child_environment(settings: Settings) -> dict[str, str]:
    """Return this process's environment with the values of its options."""
    overridden = {
        "DUNWELL_DATA_DIR": str(settings.data_dir),
        "DUNWELL_HOST": settings.host,
        "DUNWELL_PORT": str(settings.port),
    }
    in_files = {f"{name}_FILE" for name in overridden}
    kept = {name: value for name, value in os.environ.items() if name not in in_files}
    return kept | overridden


def _watch(programs: Sequence[Program], settings: Settings, stopping: _StopRequest) -> None:
    is_announced = False
    while not stopping.is_requested():
        for program in programs:
            program.check_and_restart()
        if not is_announced and is_ready(settings.host, settings.port):
            click.echo(f"ready {render_address(settings.host, settings.port)}")
            is_announced = True
            _print_addresses(settings)
        stopping.wait(_WATCH_SECONDS)


def _print_addresses(settings: Settings) -> None:
    """Print the addresses that a new user opens first, and how to sign in.

    The outbox and the first admin's link exist only in the development profile.
    """
    click.echo(f"portal  {settings.public_url}/portal")
    click.echo(f"docs    {settings.public_url}/docs")
    if settings.is_development:
        click.echo(f"outbox  {settings.public_url}/outbox")
    click.echo(f"sign in {_describe_sign_in(settings)}")


def _describe_sign_in(settings: Settings) -> str:
    link = None
    if settings.is_development:
        # If the database is unavailable at this moment, the next `dunwell up` prints the link.
        with suppress(Refusal):
            link = load_object("dunwell.interfaces.cli.people.user:create_first_admin_link")(
                settings
            )
    if link is not None:
        return f"{link} (this link can be used once; you choose your password there)"
    return (
        "at the portal, with your e-mail address. "
        "New user: dunwell user create; lost password: dunwell user reset"
    )
