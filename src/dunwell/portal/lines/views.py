"""What the pages of lines and of their letter batches show."""

from typing import ClassVar

from dunwell.explanation.read_letter_batches import AskedView, BatchesView, BatchView
from dunwell.explanation.read_lines import LinesView
from dunwell.portal.render.pages import Page


class LinesPage(Page, frozen=True):
    template: ClassVar[str] = "lines.html"

    view: LinesView
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
