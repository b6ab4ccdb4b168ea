"""What the list of messages shows."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from dunwell.cases.replies.store import UnseenReply
from dunwell.contact.messages.communications.communication import FoundCommunication
from dunwell.interfaces.portal.render.sorting import Sorting
from dunwell.interfaces.web.templates import Page


class MessagesPage(Page, frozen=True):
    template: ClassVar[str] = "messages.html"
    area: ClassVar[str] = "messages"

    filters: Mapping[str, str]
    messages: Sequence[FoundCommunication]
    sorting: Sorting
    after: str
    next_cursor: str | None


class RepliesPage(Page, frozen=True):
    """Answers that nobody has looked at."""

    template: ClassVar[str] = "replies.html"
    area: ClassVar[str] = "messages"

    replies: Sequence[UnseenReply]
    most: int


class SettlePage(Page, frozen=True):
    """A message of which nobody knows whether it left."""

    template: ClassVar[str] = "settle.html"
    area: ClassVar[str] = "messages"

    message: FoundCommunication
