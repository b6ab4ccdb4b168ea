"""What the pages of addresses that are not written to show."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from dunwell.contact.messages.suppression import Suppression
from dunwell.interfaces.portal.render.sorting import Sorting
from dunwell.interfaces.web.templates import Page


class SuppressionsPage(Page, frozen=True):
    """typed: of the form that adds one, with what is wrong with it by name."""

    template: ClassVar[str] = "suppressions.html"
    area: ClassVar[str] = "messages"

    suppressions: Sequence[Suppression]
    sorting: Sorting
    after: str
    next_cursor: str | None
    typed: Mapping[str, str]
    faults: Sequence[tuple[str, str]]
    done_here: str


class LiftPage(Page, frozen=True):
    """seen: when the suppression was made, to the microsecond."""

    template: ClassVar[str] = "suppression.html"
    area: ClassVar[str] = "messages"

    suppression: Suppression
    seen: str
    has_fault: bool
