"""The port of a folder in which files are exchanged with a print provider or a bank, local or on a
server, and the properties of a print provider."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dunwell.accounts.installation.delivery_providers import BatchSettings
from dunwell.contact.messages.letters.sheet import DEFAULT_LAYOUT
from dunwell.contact.sending.batches.status_file import StatusFormat

# The folder in which a print service puts its status files.
STATUS = "status"
# The folder with a copy of each released manifest, written before the release. Only Dunwell uses
# it.
RELEASED = "released"
# The folders of status files that were read and of those that were refused.
DONE, REFUSED = "status/done", "status/refused"
PART_SUFFIX = ".part"


class HostKeyRefused(ConnectionError):  # noqa: N818 - the suffix Error would add nothing
    """The server's key is not the pinned one."""


class LoginRefused(PermissionError):  # noqa: N818 - the suffix Error would add nothing
    """The server refuses the login."""


class ExchangeFolder(Protocol):
    """A folder in which files are exchanged with a print provider or a bank."""

    async def write(self, name: str, content: bytes) -> None:
        """Write a file completely or not at all, first as `name.part`. A folder in the name is
        created."""

    async def write_part(self, name: str, content: bytes) -> None:
        """Write `name.part` only."""

    async def finish_part(self, name: str) -> None:
        """Rename `name.part` to `name`. Raises FileNotFoundError if `name.part` does not exist."""

    async def has(self, name: str) -> bool:
        """Return whether the file exists."""

    async def list(self, folder: str = "") -> dict[str, int]:
        """Return the sizes in bytes of the files in a folder by name; empty if the folder does not
        exist."""

    async def read(self, name: str) -> bytes:
        """Return the content of a file. Raises FileNotFoundError if it does not exist."""

    async def move(self, name: str, to: str) -> None:
        """Move a file. The folder is created; an existing file is replaced."""

    async def remove(self, name: str) -> None:
        """Delete a file. Does nothing if it does not exist."""

    async def free_bytes(self) -> int | None:
        """Return the free space in bytes, or None if it is not known."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PrintProvider:
    name: str
    letter_folder: ExchangeFolder
    batch: BatchSettings
    status_format: StatusFormat
    # The layout of sheets: a file of `contact/messages/letters/layouts`.
    layout: str


@runtime_checkable
class BatchedChannel(Protocol):
    """An adapter that releases letters in batches."""

    @property
    def print_provider(self) -> PrintProvider: ...


def choose_layout(adapter: object) -> str:
    """Return the layout for the letters of an adapter."""
    return adapter.print_provider.layout if isinstance(adapter, BatchedChannel) else DEFAULT_LAYOUT
