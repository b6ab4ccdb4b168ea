"""A bank file that is imported, and how its content is sealed until the import is over."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from dunwell.platform.crypto import KeyRing

SEAL_PURPOSE = "bank file"


class FileState(StrEnum):
    WAITING = "WAITING"
    RUNNING = "RUNNING"
    DONE = "DONE"
    CANCELLED = "CANCELLED"
    # Nothing in the file could be used, or the import failed.
    REFUSED = "REFUSED"


ENDED = frozenset({FileState.DONE, FileState.CANCELLED, FileState.REFUSED})


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedFile:
    """A file with the progress of its import."""

    file_id: UUID
    account: str
    name: str
    size_bytes: int
    state: FileState
    # Numbers of entries: all in the file, those that were read, those of the read ones that the
    # bank has not booked yet, and the booked ones that this file brought.
    entry_count: int = 0
    read_count: int = 0
    pending_count: int = 0
    new_count: int = 0
    # Payments in entries of this file that were matched without a person.
    matched_count: int = 0
    # Sentences about what is wrong with the file.
    problems: tuple[str, ...] = ()
    actor_kind: str
    actor_id: str | None
    created_at: datetime
    cancelled_at: datetime | None = None
    finished_at: datetime | None = None

    @property
    def known_count(self) -> int:
        """How many of the read entries an earlier file brought."""
        return self.read_count - self.pending_count - self.new_count


def seal_file(keys: KeyRing, merchant_id: int, file_id: UUID, content: bytes) -> bytes:
    return keys.seal(SEAL_PURPOSE, content, build_seal_context(merchant_id, file_id))


def open_file(keys: KeyRing, merchant_id: int, file_id: UUID, sealed: bytes) -> bytes:
    """Return the decrypted content. Raises DecryptionFailed."""
    return keys.open(SEAL_PURPOSE, sealed, build_seal_context(merchant_id, file_id))


def build_seal_context(merchant_id: int, file_id: UUID) -> str:
    """Return the context that binds the sealed content to its merchant and file."""
    return f"{merchant_id}:{file_id}"
