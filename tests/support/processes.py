"""Parts of the service in processes of their own, to be killed.

Each begins as a copy of one that has read the modules already: to read them anew takes longer than
most of them live.
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
    """environment: DUNWELL_ variables."""
    given = (run, arguments, complete_environment(environment))
    process = _PROCESSES.Process(target=_run, args=given)
    process.start()
    return process


def complete_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """These DUNWELL_ variables and no other, beside all the rest that there is."""
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
    """A module run with the same settings; killed at the end at the latest."""
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
