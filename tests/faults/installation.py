"""A real `dunwell up` in processes of its own, as an operator would have it, to be killed."""

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

PATIENCE_SECONDS = 40.0
# Each test that kills runs so many times: make faults asks for more.
ROUNDS = range(int(os.environ.get("FAULT_ROUNDS", "1")))


def wait_until(is_so: Callable[[], object], what: str, seconds: float = PATIENCE_SECONDS) -> None:
    """Poll until it is so, or fail saying what was waited for."""
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
    """One data folder and port, and the `up` that runs on them now."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.port = find_free_port()
        # DUNWELL_ variables beside the folder and the port.
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
        """Start `up` and wait for its line."""
        up = self.start(*arguments)
        assert up.stdout is not None
        line = up.stdout.readline()
        assert line == f"ready http://127.0.0.1:{self.port}\n", self.read_log()
        return psutil.Process(up.pid)

    def read_log(self) -> str:
        return self._log.read_text()

    def read_rest(self) -> str:
        """What the latest `up`, which has ended, and its children printed behind its line."""
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
        """Ask the latest `up` to end; its exit code."""
        self._ups[-1].terminate()
        return self._ups[-1].wait(PATIENCE_SECONDS)

    def end(self) -> None:
        """Let nothing that was started here outlive the test."""
        for up in self._ups:
            if up.poll() is None:
                up.kill()
                up.wait()
            assert up.stdout is not None
            up.stdout.close()
        for process in self.find_processes():
            process.kill()

    def find_processes(self) -> list[psutil.Process]:
        """Every living process that works on this data folder."""
        return [each for each in psutil.process_iter() if self._is_ours(each)]

    def find_child(self, up: psutil.Process, role: str) -> psutil.Process | None:
        """role: web, worker or postgres."""
        for child in up.children():
            with contextlib.suppress(psutil.Error):  # it ends as we look
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
    """kill -9, the parent first, so that nobody is started again."""
    for process in sorted(processes, key=lambda each: each.create_time()):
        try:
            process.send_signal(signal.SIGKILL)
        except psutil.NoSuchProcess:
            continue
