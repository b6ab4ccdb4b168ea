"""The port of channel adapters: they send one message and return one outcome. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable
from uuid import UUID

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.sending.report import FailureCause


@dataclass(frozen=True, slots=True)
class MessageFile:
    """A file sent with a message, under the name that its reader sees."""

    name: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class MessageImage:
    """A picture that the HTML of an e-mail refers to by its content id (RFC 2392)."""

    content_id: str
    content_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """A complete message: links contain their token, and nothing is looked up later."""

    # Identifies the message outside of Dunwell, however often it is sent.
    communication_id: UUID
    merchant_id: int
    claim_id: int
    channel: Channel
    # The debtor's address on the channel: an e-mail address or a number in E.164 format.
    recipient: str
    sender: str
    sender_name: str
    # The address for replies; None if they go to the sender.
    reply_to: str | None
    language: str
    subject: str | None
    body_text: str
    body_html: str | None
    # The date of the message, in the merchant's time.
    created_at: datetime
    # The letter to be printed; None on other channels.
    document: MessageFile | None = None
    # Files attached to an e-mail or enclosed with a letter.
    attachments: tuple[MessageFile, ...] = ()
    # The logo in the HTML of an e-mail. Nothing is loaded from other servers.
    logo: MessageImage | None = None
    # True if the merchant is a sandbox.
    is_sandbox: bool = False
    # For a letter: the destination country (ISO 3166-1 alpha-2), if known.
    country: str | None = None
    # For an e-mail: the address at which one POST unsubscribes its reader (RFC 8058).
    unsubscribe_url: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """The channel has accepted the message, which does not mean that it arrived. `answer` is the
    provider's response, for operators who ask the provider about the message; it contains no
    personal data."""

    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Temporary:
    """The message was certainly not accepted and can be retried.

    `retry_after_seconds` is the provider's request, or the expected duration of the obstacle; 0
    lets the sender decide. `reason` is shown to users and has no personal data.
    """

    retry_after_seconds: int = 0
    reason: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Permanent:
    """The message was refused permanently. The reason has no personal data; `cause` has the same
    meaning as in delivery reports."""

    reason: str
    cause: FailureCause = "OTHER"


# The answers of an adapter. A call without a clear answer (a lost connection, a crash) raises an
# exception instead: the message may have been sent, so its outcome is unknown.
Outcome = Accepted | Temporary | Permanent


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The adapter gave no answer: it raised an exception or took too long."""

    # True if the call can be repeated: the channel sends one message per communication id.
    is_repeatable: bool


@dataclass(frozen=True, slots=True)
class Uncalled:
    """The worker knows that it did not call the channel: nothing was sent or tried. The sender uses
    this for messages that it returns to their queue; adapters never do."""


# Everything that may decide the outcome of a message.
ChannelAnswer = Outcome | Unanswered | Uncalled


class ChannelAdapter(Protocol):
    @property
    def name(self) -> str:
        """The name in a merchant's configuration: outbox, smtp."""

    @property
    def channel(self) -> Channel:
        """The channel that the adapter carries."""

    @property
    def is_repeatable(self) -> bool:
        """True if sending a communication id twice still sends one message."""

    async def send(self, message: Message) -> Outcome:
        """Give the message to the channel. No transaction is open during the call."""


class DeliveryProviderUnusable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """A delivery provider cannot be used. The message says why, without secrets."""


class ProviderAdapter(ChannelAdapter, Protocol):
    """The adapter of a delivery provider of the installation file. It may keep connections open."""

    @property
    def pace(self) -> ProviderPace:
        """How fast messages may be sent."""

    async def close(self) -> None:
        """Close its connections. Nothing is sent afterwards."""


@runtime_checkable
class QueryableChannel(Protocol):
    """A channel that can be asked whether a message was sent, which resolves unknown outcomes."""

    async def look_up_outcomes(self, communication_ids: Sequence[UUID]) -> Mapping[UUID, bool]:
        """Return for each message whether it was accepted. Messages that the channel does not know
        are missing from the result. Raises OSError while the channel is unavailable."""
