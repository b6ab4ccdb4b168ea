"""Real servers for tests: installed if missing, started with the test's configuration, stopped by
process id."""

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

PRODUCTION = Path(__file__).parents[2] / "examples" / "production"
_SECONDS = 30.0


def need_program(name: str, *packages: str) -> Path:
    """Return the path of the program. Skip the test if it cannot be installed."""
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin")
    if found is None:
        apt = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
        environment = {"DEBIAN_FRONTEND": "noninteractive", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(apt, check=True, capture_output=True, env=environment, timeout=300)
        found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        pytest.skip(f"{name} is not there, and could not be installed")
    return Path(found)


def find_port() -> int:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port: int = chosen.getsockname()[1]
        return port


def wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the process answers on the port."""
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    text = log.read_text() if log.exists() else ""
    raise AssertionError(f"the server does not answer: {text[-2000:]}")


def replace_in(text: str, changes: Sequence[tuple[str, str]]) -> str:
    """Return an operator's file with its ports and folders replaced. Each of them must occur in the
    file."""
    for old, new in changes:
        assert old in text, f"{old} is not in the file"
        text = text.replace(old, new)
    return text


def wait_until(is_so: Callable[[], bool], seconds: float = _SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.02)
