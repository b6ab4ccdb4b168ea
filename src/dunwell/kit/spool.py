"""What a form brings, kept beside the memory while it comes in: the first of it in memory, the rest
in a temporary file without a name, so that nothing is left of it whatever happens.

All that one process holds so has a bound; beyond it callers are asked to wait.
"""

import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from dunwell.errors import Unavailable

_IN_MEMORY_BYTES = 64 * 1024
_RETRY_AFTER_SECONDS = 5


class Spool:
    """Counts what its contents hold."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self.held_bytes = 0
        # None: where the system keeps temporary files.
        self.folder: Path | None = None

    def keep_in(self, folder: Path) -> None:
        """From now on in this folder, which is its owner's alone."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.folder = folder

    def check_room(self, expected_bytes: int) -> None:
        """Before anything is read. Raises Unavailable."""
        if self.held_bytes + expected_bytes > self._most_bytes:
            raise Unavailable(
                "Too many files are coming in just now. Try again shortly.",
                retry_after=_RETRY_AFTER_SECONDS,
            )

    def open(self) -> "SpooledContent":
        if self.folder is not None:
            # Somebody may have removed it meanwhile. Where it cannot be made, writing says so.
            with suppress(OSError):
                self.keep_in(self.folder)
        return SpooledContent(self)


class SpooledContent:
    """One part's content. It goes with its last reader, or when it is closed."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - see close
            max_size=_IN_MEMORY_BYTES, dir=None if spool.folder is None else str(spool.folder)
        )
        self._file = cast(BinaryIO, file)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def write(self, chunk: bytes) -> None:
        """Raises Unavailable past the bound, or when the disk does not take it."""
        self._spool.check_room(len(chunk))
        try:
            self._file.write(chunk)
        except OSError as error:
            raise Unavailable("Files cannot be taken in just now. Try again shortly.") from error
        self._size += len(chunk)
        self._spool.held_bytes += len(chunk)

    def read(self) -> bytes:
        """All of it, in memory: ask when it is used."""
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        self._file.close()
        self._spool.held_bytes -= self._size
        self._size = 0

    def __del__(self) -> None:
        self.close()


# Of this process.
UPLOADS = Spool(1024 * 1024 * 1024)
