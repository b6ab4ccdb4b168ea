"""A real `dunwell up` with its processes, started as an operator does, which a test kills."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil

TIMEOUT_SECONDS = 40.0
# How often each test that kills processes runs. `make faults` sets a higher number.
ROUNDS = range(int(os.environ.get("FAULT_ROUNDS", "1")))


def wait_until(is_so: Callable[[], object], what: str, seconds: float = TIMEOUT_SECONDS) -> None:
    """Wait until the condition holds, or fail with a description of what was awaited."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"waited {seconds} s in vain: {what}"
        time.sleep(0.02)


def find_free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def plain_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("DUNWELL_")}


class Installation:
    """A data folder, a port and the `up` that currently runs on them."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.port = find_free_port()
        # DUNWELL_ variables in addition to the folder and the port.
        self.environment: dict[str, str] = {}
        self._log = data_dir.with_suffix(".log")
        self._ups: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start `up` without waiting for it."""
        command = [sys.executable, "-m", "dunwell", "up", "--data-dir", str(self.data_dir)]
        with self._log.open("a") as log:
            up = subprocess.Popen(
                [*command, "--port", str(self.port), *arguments],
                stdout=subprocess.PIPE, stderr=log, text=True,
                env=plain_environment() | self.environment,
            )  # fmt: skip
        self._ups.append(up)
        return up

    def start_ready(self, *arguments: str) -> psutil.Process:
        """Start `up` and wait for its first line."""
        up = self.start(*arguments)
        assert up.stdout is not None
        line = up.stdout.readline()
        assert line == f"ready http://127.0.0.1:{self.port}\n", self.read_log()
        return psutil.Process(up.pid)

    def read_log(self) -> str:
        return self._log.read_text()

    def read_rest(self) -> str:
        """Return what the latest `up`, which has ended, and its children printed after the first
        line."""
        output = self._ups[-1].stdout
        assert output is not None
        return output.read()

    def is_ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def stop(self) -> int:
        """Ask the latest `up` to stop and return its exit code."""
        self._ups[-1].terminate()
        return self._ups[-1].wait(TIMEOUT_SECONDS)

    def end(self) -> None:
        """End all processes that were started here."""
        for up in self._ups:
            if up.poll() is None:
                up.kill()
                up.wait()
            assert up.stdout is not None
            up.stdout.close()
        for process in self.find_processes():
            process.kill()

    def find_processes(self) -> list[psutil.Process]:
        """Return all living processes that use this data folder."""
        return [each for each in psutil.process_iter() if self._is_ours(each)]

    def find_child(self, up: psutil.Process, role: str) -> psutil.Process | None:
        """Return the child process of a role: web, worker or postgres."""
        for child in up.children():
            with contextlib.suppress(psutil.Error):  # A process may end at this moment.
                if role in child.cmdline() or child.name() == role:
                    return child
        return None

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            is_named = any(str(self.data_dir) in part for part in process.cmdline())
            return is_named or process.environ().get("DUNWELL_DATA_DIR") == str(self.data_dir)
        except psutil.Error:
            return False


def kill_all(processes: list[psutil.Process]) -> None:
    """Kill the processes with SIGKILL, the parent first, so that it restarts none."""
    for process in sorted(processes, key=lambda each: each.create_time()):
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
