"""A child that is shut in as the parser of files is, and then tries what its argument names:
`python -m tests.support.confined NAME`. It says what came of it.
"""

import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from dunwell.kit.child import shut_in


def _fork_without_bound() -> object:
    for _ in range(50):
        if os.fork() == 0:
            os._exit(0)
    return "50 processes"


def _eat_memory() -> object:
    return len(bytearray(512 * 1024 * 1024))


def _limit_parent() -> object:
    return resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))


def _start_thread() -> object:
    thread = threading.Thread(target=print)
    thread.start()
    return thread


TRIES: dict[str, Callable[[], object]] = {
    "socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM),
    "unix socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM),
    "pair": socket.socketpair,
    "read": lambda: Path("/etc/passwd").read_text(),
    "list": lambda: list(Path("/").iterdir()),
    "write": lambda: Path("/tmp/written").write_text("x"),
    "remove": lambda: os.unlink("/tmp/absent"),  # noqa: PTH108
    "fork": _fork_without_bound,
    "program": lambda: os.execv("/bin/true", ["true"]),
    "thread": _start_thread,
    "signal": lambda: os.kill(os.getppid(), 0),
    "limits": _limit_parent,
    "memory": _eat_memory,
}


def main() -> None:
    name = sys.argv[1]
    shut_in(256 * 1024 * 1024)
    try:
        outcome = f"did it: {TRIES[name]()!r:.60}"
    except (OSError, MemoryError, RuntimeError) as error:
        outcome = f"refused: {type(error).__name__}"
    os.write(1, outcome.encode())


if __name__ == "__main__":
    main()
