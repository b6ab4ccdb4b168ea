"""A small disk that a test can fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.tools import skip_or_fail

_CHUNK = 64 * 1024


class SmallDisk:
    """A folder with limited space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Fill the disk to its last block."""
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
        """Return the files, except the one that fills the disk."""
        found = (each for each in self.folder.rglob("*") if each.is_file())
        return [each for each in found if each != self._filler]


@contextmanager
def a_small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount a small disk. The test needs the right to mount."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={megabytes}m,mode=0755"
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        skip_or_fail(f"a small disk is mounted by root: {done.stderr}")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
