"""The `dunwell` command in a process of its own, as an operator runs it."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from dunwell.interfaces.cli.main import main
from tests.support.processes import complete_environment, start

Done = subprocess.CompletedProcess[str]

_PATIENCE_SECONDS = 60
_STREAMS = ("stdin", "stdout", "stderr")


class CommandLine:
    """Runs `dunwell` in a process of its own, on the test's database."""

    def __init__(self, data_dir: Path, database_url: str) -> None:
        self._environment = {
            "DUNWELL_DATA_DIR": str(data_dir),
            "DUNWELL_DATABASE_URL": database_url,
        }

    def run(self, *words: str, stdin: str = "", **environment: str) -> Done:
        """environment: DUNWELL_ variables; stdin: what the command can read."""
        with TemporaryDirectory() as name:
            folder = Path(name)
            for stream in _STREAMS:
                (folder / stream).write_text(stdin if stream == "stdin" else "")
            given = {**self._environment, **environment}
            process = start(_run, folder, words, environment=given)
            process.join(_PATIENCE_SECONDS)
            if process.exitcode is None:
                process.kill()
                raise subprocess.TimeoutExpired(words, _PATIENCE_SECONDS)
            _, stdout, stderr = [(folder / stream).read_text() for stream in _STREAMS]
        return Done(words, process.exitcode, stdout, stderr)

    def run_anew(self, *words: str) -> Done:
        """The same by a Python that has read nothing yet."""
        return subprocess.run(
            [sys.executable, "-m", "dunwell", *words],
            env=complete_environment(self._environment), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=False,
        )  # fmt: skip


def _run(folder: Path, words: Sequence[str]) -> None:
    """In the process: the command on these streams."""
    for number, stream in enumerate(_STREAMS):
        flags = os.O_WRONLY if number else os.O_RDONLY
        os.dup2(os.open(folder / stream, flags), number)
    sys.stdin = os.fdopen(0)
    main(words)
