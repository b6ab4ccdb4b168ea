"""What pages show where a session is over or something went wrong."""

from collections.abc import Sequence
from typing import ClassVar

from dunwell.interfaces.web.templates import Page


class EndedPage(Page, frozen=True):
    """reason: ENDED, TIMED_OUT, or ABSENT where this browser has opened nothing."""

    template: ClassVar[str] = "ended.html"

    reason: str
    # Whether what was typed is kept, and whether the page's own address says what was chosen.
    is_kept: bool = False
    is_carried: bool = False
    # What was typed, for the reader who has just sent it.
    typed: Sequence[str] = ()
    # What is kept is files alone.
    are_files: bool = False


class DebtorProblemPage(Page, frozen=True):
    template: ClassVar[str] = "problem.html"

    # As of `Problem`.
    kind: str
    # Until it can be tried again; 0: nothing is said of that.
    minutes: int
    # The same, where it is a matter of seconds.
    seconds: int
    # Of a fault of ours.
    request_id: str | None
    # Of a form of another session: what was typed into it.
    typed: Sequence[str] = ()
