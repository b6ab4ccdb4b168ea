"""What pages show if a session has ended or an error occurred."""

from collections.abc import Sequence
from typing import ClassVar

from dunwell.interfaces.web.templates import Page


class EndedPage(Page, frozen=True):
    """reason: ENDED, TIMED_OUT, or ABSENT if this browser has not opened a claim."""

    template: ClassVar[str] = "ended.html"

    reason: str
    # Whether typed texts are saved, and whether the page's address contains what was chosen.
    is_kept: bool = False
    is_carried: bool = False
    # The submitted texts, shown to the reader who has just sent them.
    typed: Sequence[str] = ()
    # Only files are kept, no text.
    are_files: bool = False


class DebtorProblemPage(Page, frozen=True):
    template: ClassVar[str] = "problem.html"

    # See `Problem`.
    kind: str
    # Minutes until it can be tried again, or 0.
    minutes: int
    # The same in seconds.
    seconds: int
    # Set only for an internal error.
    request_id: str | None
    # The texts of a form that belonged to another session.
    typed: Sequence[str] = ()
