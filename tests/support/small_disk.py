"""A disk of a test's own that is soon full."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.tools import go_without

_CHUNK = 64 * 1024


class SmallDisk:
    """A folder that holds only so much."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """To the last block."""
        with self._filler.open("ab", buffering=0) as filler:
            for size in (_CHUNK, 512, 1):
                with suppress(OSError):
                    while filler.write(b"x" * size):
                        pass
        free = os.statvfs(self.folder).f_bavail
        assert free == 0, f"{free} blocks are left"

    def make_room(self) -> None:
        self._filler.unlink()

    def list_files(self) -> list[Path]:
        """But for what fills it."""
        found = (each for each in self.folder.rglob("*") if each.is_file())
        return [each for each in found if each != self._filler]


@contextmanager
def a_small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Needs the right to mount."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={megabytes}m,mode=0755"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        go_without(f"a small disk is mounted by root: {done.stderr}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
