"""Child processes that are kept running: after one dies, it is started again after a growing pause.

One thread starts, watches and stops them all, because Linux ties a child's life to the thread that
started it.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable

import structlog

_FIRST_PAUSE_SECONDS = 0.1
_MAX_PAUSE_SECONDS = 5.0
# A program that ran for at least this long starts again after the shortest pause.
_HEALTHY_SECONDS = 30.0

_log = structlog.get_logger()

Process = subprocess.Popen[bytes]


class Program:
    """A child process. `start` starts and returns it. An exception from `start` counts as a death
    of the process."""

    def __init__(
        self, name: str, start: Callable[[], Process], *, stop_signal: int = signal.SIGTERM,
        on_death: Callable[[int], None] = lambda _pid: None,
    ) -> None:  # fmt: skip
        """`on_death` is called with the process id of a process that died."""
        self.name = name
        self._start = start
        self._stop_signal = stop_signal
        self._on_death = on_death
        self._process: Process | None = None
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._started_at = 0.0
        self._starts_at = 0.0

    def start(self) -> None:
        """Start the process now. Raises the exceptions of `start`."""
        self._started_at = time.monotonic()
        self._process = self._start()
        _log.info("started", program=self.name, pid=self._process.pid)

    def check_and_restart(self) -> None:
        """If the process has died, plan its next start; start it once its pause is over. Call this
        several times a second."""
        if self._process is not None:
            self._handle_death(self._process)
        elif time.monotonic() >= self._starts_at:
            try:
                self.start()
            except Exception as error:  # noqa: BLE001 - after any error, the next attempt may succeed
                _log.error("cannot be started", program=self.name, exc_info=error)
                self._plan_next_start()

    def _handle_death(self, process: Process) -> None:
        exit_code = process.poll()
        if exit_code is None:
            return
        _log.error("died", program=self.name, pid=process.pid, exit_code=exit_code)
        self._process = None
        self._on_death(process.pid)
        if time.monotonic() - self._started_at > _HEALTHY_SECONDS:
            self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._plan_next_start()

    def _plan_next_start(self) -> None:
        self._starts_at = time.monotonic() + self._pause_seconds
        self._pause_seconds = min(self._pause_seconds * 2, _MAX_PAUSE_SECONDS)

    def request_stop(self) -> None:
        self.send(self._stop_signal)

    def send(self, signal_number: int) -> None:
        if self._process is not None:
            self._process.send_signal(signal_number)  # does nothing if the process has ended

    def wait(self, deadline: float) -> None:
        """Wait until the process has ended, and kill it after the deadline (monotonic)."""
        if self._process is None:
            return
        try:
            exit_code = self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            exit_code = self._process.wait()
        _log.info("stopped", program=self.name, pid=self._process.pid, exit_code=exit_code)
        self._process = None


def stop_programs(programs: Iterable[Program], timeout_seconds: float) -> None:
    """Ask all programs to end, and then wait for each of them."""
    stopping = list(programs)
    for program in stopping:
        program.request_stop()
    deadline = time.monotonic() + timeout_seconds
    for program in stopping:
        program.wait(deadline)


class ParentPipe:
    """A pipe whose writing end only this process holds. Its children notice the end of this process
    when they reach the end of the pipe."""

    def __init__(self) -> None:
        self.descriptor, self._writing_end = os.pipe()

    def spawn(
        self, command: list[str], environment: dict[str, str], descriptors: tuple[int, ...]
    ) -> Process:
        """Start a child that inherits the reading end and these descriptors.

        It gets its own process group, so that Ctrl-C reaches only the parent, which then stops its
        children.
        """
        return subprocess.Popen(  # noqa: S603
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=(self.descriptor, *descriptors),
            process_group=0,
        )
