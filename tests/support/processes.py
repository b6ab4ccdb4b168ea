"""Parts of the service in processes of their own, to be killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dunwell.config import Settings


@contextmanager
def a_process(
    settings: Settings, module: str, *arguments: str
) -> Iterator[subprocess.Popen[bytes]]:
    """A module run with the same settings; killed at the end at the latest."""
    given = {
        "DUNWELL_DATA_DIR": str(settings.data_dir),
        "DUNWELL_DATABASE_URL": str(settings.database_url),
    }
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, env={**os.environ, **given}) as process:
        try:
            yield process
        finally:
            process.kill()
