"""The `dunwell` command as an operator runs it, in this process or in a new Python process."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from dunwell.interfaces.cli.main import main
from tests.support.processes import complete_environment

Done = subprocess.CompletedProcess[str]

_TIMEOUT_SECONDS = 60


class CommandLine:
    """Runs `dunwell` on the test's database."""

    def __init__(self, data_dir: Path, database_url: str) -> None:
        self._environment = {
            "DUNWELL_DATA_DIR": str(data_dir),
            "DUNWELL_DATABASE_URL": database_url,
        }

    def run(self, *words: str, stdin: str = "", **environment: str) -> Done:
        """Run the command in this process, in a thread because it starts an event loop.
        `environment` holds DUNWELL_ variables; `stdin` is the input of the command."""
        variables = complete_environment({**self._environment, **environment})
        with _replaced_environment(variables), _kept_umask(), ThreadPoolExecutor(1) as thread:
            return thread.submit(_run, words, stdin).result(_TIMEOUT_SECONDS)

    def run_in_new_process(self, *words: str) -> Done:
        """Run the command in a Python process that has imported nothing yet."""
        return subprocess.run(
            [sys.executable, "-m", "dunwell", *words],
            env=complete_environment(self._environment), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False,
        )  # fmt: skip


def _run(words: Sequence[str], stdin: str) -> Done:
    given, stdout, stderr = (TextIOWrapper(BytesIO(), "utf-8", newline="") for _ in range(3))
    given.write(stdin)
    given.seek(0)
    with redirect_stdout(stdout), redirect_stderr(stderr), _replaced_stdin(given):
        code = _find_exit_code(words)
    texts = []
    for stream in (stdout, stderr):
        stream.seek(0)
        texts.append(stream.read())
    return Done(words, code, *texts)


def _find_exit_code(words: Sequence[str]) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert isinstance(end.value.code, int)
    return end.value.code


@contextmanager
def _replaced_environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _kept_umask() -> Iterator[None]:
    """The command makes new files private to the process. Tests that follow must not be affected:
    a server of another user reads some of the files that they write."""
    before = os.umask(0)
    os.umask(before)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def _replaced_stdin(stream: TextIOWrapper) -> Iterator[None]:
    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before
