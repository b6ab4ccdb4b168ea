"""What a form brings, kept beside the memory while it comes in: the first of it in memory, the rest
in a temporary file without a name, so that nothing is left of it whatever happens.

All that one process holds so has a bound, and so has the share of each sender, so that one sender
does not use it up; beyond either, senders are asked to wait.
"""

import tempfile
from collections import Counter
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from dunwell.platform.config.private_folder import make_private_folder
from dunwell.platform.errors import RateLimited, Unavailable

_IN_MEMORY_BYTES = 64 * 1024
_RETRY_AFTER_SECONDS = 5
# A quarter: 25 files of the largest size at once, and room for three other senders who do the same.
_SHARE_OF_ONE = 0.25


class Spool:
    """Counts what its contents hold, in all and of each sender."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._most_of_one = int(most_bytes * _SHARE_OF_ONE)
        self.held_bytes = 0
        self._held_of: Counter[Hashable] = Counter()
        # None: where the system keeps temporary files.
        self.folder: Path | None = None

    def keep_in(self, folder: Path) -> None:
        """From now on in this folder, which is its owner's alone."""
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        self.folder = folder

    def share_of(self, sender: Hashable) -> "SpoolShare":
        return SpoolShare(self, sender)

    def check_room(self, expected_bytes: int, sender: Hashable) -> None:
        """Raises Unavailable when all senders hold too much, RateLimited when this one does."""
        if self.held_bytes + expected_bytes > self._most_bytes:
            raise Unavailable(
                "Too many files are coming in just now. Try again shortly.",
                retry_after=_RETRY_AFTER_SECONDS,
            )
        if self._held_of[sender] + expected_bytes > self._most_of_one:
            raise RateLimited(
                "You are sending too many files at once. Send the next one when one of them has "
                "been answered.",
                retry_after=_RETRY_AFTER_SECONDS,
            )

    def count(self, size_bytes: int, sender: Hashable) -> None:
        """Count bytes that came in, or, below zero, bytes that are gone."""
        self.held_bytes += size_bytes
        self._held_of[sender] += size_bytes
        if not self._held_of[sender]:
            del self._held_of[sender]


@dataclass(frozen=True, slots=True)
class SpoolShare:
    """What one sender may hold."""

    spool: Spool
    sender: Hashable

    def check_room(self, expected_bytes: int) -> None:
        """Before anything is read. Raises RateLimited, Unavailable."""
        self.spool.check_room(expected_bytes, self.sender)

    def open(self) -> "SpooledContent":
        if self.spool.folder is not None:
            # Somebody may have removed it meanwhile. Where it cannot be made, writing says so.
            with suppress(OSError):
                self.spool.keep_in(self.spool.folder)
        return SpooledContent(self)


class SpooledContent:
    """One part's content. It goes with its last reader, or when it is closed."""

    def __init__(self, share: SpoolShare) -> None:
        self._share, spool = share, share.spool
        file = tempfile.SpooledTemporaryFile(  # noqa: SIM115 - see close
            max_size=_IN_MEMORY_BYTES, dir=None if spool.folder is None else str(spool.folder)
        )
        self._file = cast(BinaryIO, file)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def write(self, chunk: bytes) -> None:
        """Raises RateLimited or Unavailable past a bound, Unavailable also when the disk does not
        take it."""
        self._share.check_room(len(chunk))
        try:
            self._file.write(chunk)
        except OSError as error:
            raise Unavailable("Files cannot be taken in just now. Try again shortly.") from error
        self._size += len(chunk)
        self._share.spool.count(len(chunk), self._share.sender)

    def read(self) -> bytes:
        """All of it, in memory: ask when it is used."""
        self._file.seek(0)
        return self._file.read()

    def close(self) -> None:
        self._file.close()
        self._share.spool.count(-self._size, self._share.sender)
        self._size = 0

    def __del__(self) -> None:
        self.close()


# Of this process.
UPLOADS = Spool(1024 * 1024 * 1024)
