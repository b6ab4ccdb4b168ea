"""A line for letters as the worker's loops know it: its depot, and when a batch is released."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dunwell.accounts.installation.delivery_providers import Batch
from dunwell.contact.messages.letters.sheet import USUAL_LAYOUT
from dunwell.contact.sending.batches.depot import Depot
from dunwell.contact.sending.batches.status_format import StatusFormat


@dataclass(frozen=True, slots=True)
class LetterLine:
    name: str
    depot: Depot
    batch: Batch
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
