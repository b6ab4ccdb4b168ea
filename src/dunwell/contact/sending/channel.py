"""The port that every channel adapter implements: one message in, one outcome out. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable
from uuid import UUID

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.sending.report import Cause


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
    # Of a letter: where it is posted to, ISO 3166-1 alpha-2, where that is known.
    country: str | None = None
    # Of an e-mail: where its reader says that no more are wanted, by one POST (RFC 8058).
    unsubscribe_url: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The channel has taken it. Not that it arrived. answer: what it said of it, as an operator
    would ask the provider about; no personal data."""

    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Temporary:
    """Surely not taken, and worth another try. retry_after_seconds: the provider's own wish, or how
    long the obstacle lasts at least; 0: the sender decides. reason: for people, without personal
    data."""

    retry_after_seconds: int = 0
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Permanent:
    """Refused for good; the reason names no personal data. cause: as of what is reported later."""

    reason: str
    cause: Cause = "OTHER"


# An answer that says neither (a lost connection, a crash) is raised as an exception: the message
# may have left, so the sender treats it as unknown, never as one of these.
Outcome = Accepted | Temporary | Permanent


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The adapter gave no answer: it raised, or took too long."""

    is_repeatable: bool


@dataclass(frozen=True, slots=True)
class Uncalled:
    """The worker knows that it did not call the channel: nothing has left, and nothing was tried.
    No adapter answers this; the sender says it of a message that it takes back."""


# What a message's settlement is decided by.
Answer = Outcome | Unanswered | Uncalled


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


class LineUnusable(Exception):  # noqa: N818 - reads as what is wrong
    """A line cannot be used as it stands; the words say why, and name no secret."""


class LineAdapter(ChannelAdapter, Protocol):
    """The adapter of a line of the installation file: it may keep connections open."""

    @property
    def pace(self) -> ProviderPace:
        """How quick it may be taken."""

    async def close(self) -> None:
        """End its connections; nothing is sent after this."""


@runtime_checkable
class AskableChannel(Protocol):
    """One that can be asked afterwards: there an unknown send settles itself by the truth."""

    async def what_became_of(self, communication_ids: Sequence[UUID]) -> Mapping[UUID, bool]:
        """Whether each was taken. Those nothing is known of are absent. Raises OSError while the
        channel is away."""
