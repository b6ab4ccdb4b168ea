"""Parts of the service in their own processes, which a test kills.

Each process is forked from one that has already imported the modules, because importing takes
longer than most of the processes live.
"""

import multiprocessing
import os
import runpy
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from typing import Any

from dunwell.platform.config import Settings

_PROCESSES = multiprocessing.get_context("forkserver")
_PROCESSES.set_forkserver_preload(["tests.support.commands"])


def start(
    run: Callable[..., None], *arguments: Any, environment: Mapping[str, str]
) -> ForkServerProcess:
    """Start the process. `environment` holds DUNWELL_ variables."""
    given = (run, arguments, complete_environment(environment))
    process = _PROCESSES.Process(target=_run, args=given)
    process.start()
    return process


def complete_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment with these DUNWELL_ variables and no others."""
    rest = {name: value for name, value in os.environ.items() if "DUNWELL" not in name}
    return {**rest, **environment}


def _run(
    run: Callable[..., None], arguments: tuple[Any, ...], environment: Mapping[str, str]
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    run(*arguments)


@contextmanager
def a_process(settings: Settings, module: str, *arguments: str) -> Iterator[ForkServerProcess]:
    """Run a module with the same settings. It is killed at the end of the block at the latest."""
    environment = {
        "DUNWELL_DATA_DIR": str(settings.data_dir),
        "DUNWELL_DATABASE_URL": str(settings.database_url),
    }
    process = start(_run_module, module, arguments, environment=environment)
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _run_module(module: str, arguments: tuple[str, ...]) -> None:
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__")
