"""The `dunwell` command in a process of its own, as an operator runs it."""

import os
import subprocess
import sys
from pathlib import Path

Done = subprocess.CompletedProcess[str]


class CommandLine:
    """Runs `dunwell` in a process of its own, on the test's database."""

    def __init__(self, data_dir: Path, database_url: str) -> None:
        self._environment = {
            **{name: value for name, value in os.environ.items() if "DUNWELL" not in name},
            "DUNWELL_DATA_DIR": str(data_dir),
            "DUNWELL_DATABASE_URL": database_url,
        }

    def run(self, *words: str, stdin: str = "", **environment: str) -> Done:
        """environment: DUNWELL_ variables; stdin: what the command can read."""
        return subprocess.run(
            [sys.executable, "-m", "dunwell", *words],
            env={**self._environment, **environment},
            input=stdin, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
