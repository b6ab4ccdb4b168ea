"""A child process that is confined like the file parser or the letter renderer and then attempts
the action named by its second argument: `python -m tests.support.confined parser|printer NAME`. It
prints the outcome."""

import os
import resource
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec

from dunwell.contact.messages.letters.printer import PrintJob
from dunwell.contact.messages.letters.printer_child import build_printer
from dunwell.contact.messages.letters.sheet import encode_sheet
from dunwell.platform.children.child import confine_process
from tests.support.letters import a_letter


def _fork_without_bound() -> object:
    for _ in range(50):
        if os.fork() == 0:
            os._exit(0)
    return "50 processes"


def _eat_memory() -> object:
    return len(bytearray(1024 * 1024 * 1024))


def _limit_parent() -> object:
    return resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))


def _raise_limit(kind: int) -> object:
    """Raise the soft limit to the hard limit, or the hard limit itself, whichever is possible."""
    soft, hard = resource.getrlimit(kind)
    raised = hard if soft != hard else soft + 1
    resource.setrlimit(kind, (raised, max(hard, raised)))
    return resource.getrlimit(kind)


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
    "raise memory": lambda: _raise_limit(resource.RLIMIT_AS),
    "raise processor time": lambda: _raise_limit(resource.RLIMIT_CPU),
    "raise file size": lambda: _raise_limit(resource.RLIMIT_FSIZE),
    "raise processes": lambda: _raise_limit(resource.RLIMIT_NPROC),
    "raise files": lambda: _raise_limit(resource.RLIMIT_NOFILE),
    "raise by prlimit": lambda: resource.prlimit(0, resource.RLIMIT_CPU, (10_000, 10_000)),
    "raise own by id": lambda: resource.prlimit(os.getpid(), resource.RLIMIT_CPU, (-1, -1)),
    "memory": _eat_memory,
}


def main() -> None:
    kind, name = sys.argv[1:]
    memory_bytes = 256 * 1024 * 1024
    if kind == "printer":
        printer, memory_bytes = build_printer(), 1024 * 1024 * 1024
        job = PrintJob("PRINT", encode_sheet(a_letter().sheet))
    confine_process(memory_bytes, 5)
    if kind == "printer":
        # The renderer works with its threads although it is confined.
        assert b"%PDF-" in printer.answer(msgspec.msgpack.encode(job))
    try:
        outcome = f"did it: {TRIES[name]()!r:.60}"
    except (OSError, MemoryError, RuntimeError, ValueError) as error:
        outcome = f"refused: {type(error).__name__}"
    os.write(1, outcome.encode())


if __name__ == "__main__":
    main()
