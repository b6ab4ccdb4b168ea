"""The lock on a data folder, which has one owner at a time. The lock ends with the last process of
its owner.

The owner passes the lock's descriptor to its children. After a kill -9 the lock is free once the
last child has ended, and the next owner waits for that.
"""

import fcntl
import os
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from dunwell.platform.config.private_folder import create_private_folder

_NAME = "dunwell.lock"


class FolderInUse(Exception):  # noqa: N818 - the suffix Error would add nothing
    """Another process owns the folder. `pid` is None while only children of a dead owner are
    left."""

    def __init__(self, folder: Path, pid: int | None, command: str) -> None:
        owner = f"process {pid} (dunwell {command})" if pid else "children of an ended process"
        super().__init__(f"{folder} is in use by {owner}; stop that first, or wait for its end.")
        self.pid = pid
        self.command = command


@dataclass(frozen=True, slots=True)
class FolderLock:
    """A lock that this process holds. Its children inherit `descriptor`."""

    descriptor: int

    @classmethod
    def acquire(cls, folder: Path, command: str, timeout_seconds: float = 15.0) -> "FolderLock":
        """Acquire the lock. Raises FolderInUse at once if a running process owns the folder, and
        after `timeout_seconds` if children of an ended owner still hold the lock.

        `command` is the subcommand of the owner's command line.
        """
        create_private_folder(folder)
        descriptor = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + timeout_seconds
        while not _lock(descriptor):
            owner = find_owner(folder)
            if owner is not None or time.monotonic() > deadline:
                os.close(descriptor)
                raise FolderInUse(folder, *(owner or (None, "")))
            time.sleep(0.05)
        os.truncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {command}".encode(), 0)
        return cls(descriptor)

    def release(self) -> None:
        os.truncate(self.descriptor, 0)
        os.close(self.descriptor)


def find_owner(folder: Path) -> tuple[int, str] | None:
    """Return the id and the command of the running process that the folder's lock file names, or
    None.

    Call this only while another process holds the lock: the file of a free lock may name any
    process.
    """
    try:
        pid, command = (folder / _NAME).read_text().split()
        is_alive = psutil.Process(int(pid)).status() != psutil.STATUS_ZOMBIE
    except (OSError, ValueError, psutil.Error):
        return None
    return (int(pid), command) if is_alive else None


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
