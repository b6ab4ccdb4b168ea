"""The port of a folder in which letters are handed over, on this machine or on a server, and a
provider of letters as the worker knows it.
"""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dunwell.accounts.installation.delivery_providers import BatchRule
from dunwell.contact.messages.letters.sheet import USUAL_LAYOUT
from dunwell.contact.sending.batches.status_file import StatusFormat

# Below the depot: where a print service puts what it reports.
STATUS = "status"
# Below the depot, ours alone: a copy of each manifest that was released, written before it is.
RELEASED = "released"
# Below the status folder: read, and refused.
DONE, REFUSED = "status/done", "status/refused"
PART = ".part"


class HostKeyRefused(ConnectionError):  # noqa: N818 - reads as what happened
    """The server shows another key than the one that is pinned."""


class LoginRefused(PermissionError):  # noqa: N818 - reads as what happened
    """The server does not let us in."""


class LetterFolder(Protocol):
    async def write(self, name: str, content: bytes) -> None:
        """Whole under its name, or not at all: first as `name.part`. A folder that it names below
        the depot is made."""

    async def write_part(self, name: str, content: bytes) -> None:
        """As `name.part` alone."""

    async def finish_part(self, name: str) -> None:
        """Give `name.part` its name. Raises FileNotFoundError when it has it already."""

    async def has(self, name: str) -> bool:
        """Whether there is a file of this name."""

    async def list(self, folder: str = "") -> dict[str, int]:
        """The files of the depot or a folder below it by their names, with their bytes; {}: there
        is no such folder."""

    async def read(self, name: str) -> bytes: ...

    async def move(self, name: str, to: str) -> None:
        """Makes the folder. What stands there already is replaced."""

    async def remove(self, name: str) -> None:
        """Of what is not there: nothing."""

    async def free_bytes(self) -> int | None:
        """None: it does not say."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class LetterLine:
    name: str
    depot: LetterFolder
    batch: BatchRule
    status_format: StatusFormat
    # Where on a sheet what stands: a file of `contact/messages/letters/layouts`.
    layout: str


@runtime_checkable
class BatchedChannel(Protocol):
    """An adapter whose letters are released in batches."""

    @property
    def letter_line(self) -> LetterLine: ...


def choose_layout(adapter: object) -> str:
    """Of what carries a merchant's letters."""
    return adapter.letter_line.layout if isinstance(adapter, BatchedChannel) else USUAL_LAYOUT
