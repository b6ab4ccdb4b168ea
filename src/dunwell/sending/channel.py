"""The port every channel adapter implements: one message in, one outcome out.

An adapter is stateless. Quotas, retries, fallbacks and the record of what was sent are not its
business; the sender's are. Every adapter passes the contract suite in `tests/adapters`. Pure.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from dunwell.merchants.configuration import Channel


@dataclass(frozen=True, slots=True)
class MessageFile:
    """A file that goes with a message, under the name its reader sees."""

    name: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class MessageImage:
    """A picture that an e-mail's HTML shows, by its name (RFC 2392)."""

    content_id: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """What goes out, complete: links carry their token, nothing is looked up after this."""

    # The key outside: one id is one message, however often it is sent.
    communication_id: UUID
    merchant_id: int
    claim_id: int
    channel: Channel
    # The channel's address of the debtor: an e-mail address, a number in E.164.
    recipient: str
    sender: str
    sender_name: str
    # Where answers go; none: to the sender.
    reply_to: str | None
    language: str
    subject: str | None
    body_text: str
    body_html: str | None
    # The merchant's time; the date the message bears.
    created_at: datetime
    # Of a letter: what is printed. The other channels have none.
    document: MessageFile | None = None
    # Files that go along: attached to an e-mail, enclosed with a letter.
    attachments: tuple[MessageFile, ...] = ()
    # Of an e-mail: what its HTML shows. Nothing is loaded from elsewhere.
    logo: MessageImage | None = None
    # Whether the merchant only rehearses.
    is_sandbox: bool = False


@dataclass(frozen=True, slots=True)
class Accepted:
    """The channel has taken it. Not that it arrived."""


@dataclass(frozen=True, slots=True)
class Temporary:
    """Surely not taken; worth another try after so many seconds."""

    retry_after_seconds: int


@dataclass(frozen=True, slots=True)
class Permanent:
    """Refused for good; the reason names no personal data."""

    reason: str


# An answer that says neither (a lost connection, a crash) is raised as an exception: the message
# may have left, so the sender treats it as unknown, never as one of these.
Outcome = Accepted | Temporary | Permanent


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The adapter gave no answer: it raised, or took too long."""

    is_repeatable: bool


class ChannelAdapter(Protocol):
    @property
    def name(self) -> str:
        """The word a merchant's configuration names it by: outbox, smtp."""

    @property
    def channel(self) -> Channel:
        """The one channel it carries."""

    @property
    def is_repeatable(self) -> bool:
        """Whether sending one communication id twice still makes one message."""

    async def send(self, message: Message) -> Outcome:
        """Hand the message to the channel. No transaction is open while this runs."""
