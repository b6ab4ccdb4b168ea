"""What the pages of lines and of their letter batches show."""

from collections.abc import Sequence
from datetime import datetime
from typing import ClassVar

import msgspec

from dunwell.interfaces.web.templates import Page
from dunwell.operations.explanation.deliveries.delivery_providers import LinesView
from dunwell.operations.explanation.deliveries.print_batches import (
    AskedView,
    BatchesView,
    BatchView,
)


class ShownAlarm(msgspec.Struct, frozen=True, gc=False):
    """In the reader's language, with the address of where it is mended."""

    words: str
    address: str
    began_at: datetime


class LinesPage(Page, frozen=True):
    template: ClassVar[str] = "lines.html"

    view: LinesView
    alarms: Sequence[ShownAlarm]
    # Nobody looks for alarms, or nobody is told of them.
    is_stale: bool
    looked_at: datetime | None
    is_told_nobody: bool
    # What is counted no further.
    most_waiting: int
    most_sent: int


class BatchesPage(Page, frozen=True):
    """line: of which alone they are; "": of all."""

    template: ClassVar[str] = "letter_batches.html"

    view: BatchesView
    line: str
    after: str
    # What is counted no further.
    most_waiting: int


class BatchPage(Page, frozen=True):
    template: ClassVar[str] = "letter_batch.html"

    view: BatchView
    only_failed: bool
    after: str


class AskedPage(Page, frozen=True):
    """fault: NOTHING (no letter was ticked) or OUTCOME (not said what became of them)."""

    template: ClassVar[str] = "letters_asked.html"

    view: AskedView
    line: str
    after: str
    fault: str = ""
    ticked: frozenset[str] = frozenset()
    outcome: str = ""
