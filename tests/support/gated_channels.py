"""Channels of several dispatchers that share one record of all messages.

A dispatcher's gate can be closed: then its messages have been sent, but their results are not known
yet.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.sending.channel import Accepted, Message, Outcome, Permanent, Temporary


@dataclass
class SentMessages:
    """The messages that were sent, and those that should not have been."""

    # The next results by channel. After these, every message is accepted.
    answers: dict[Channel, list[Outcome | Exception]] = field(default_factory=dict)
    sent: list[Message] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    # Messages that a channel received and did not certainly reject.
    possibly_sent: set[UUID] = field(default_factory=set)
    calls: Counter[UUID] = field(default_factory=Counter)
    # Set by each message.
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, message: Message, *, may_repeat: bool) -> None:
        key = message.communication_id
        if key in self.possibly_sent and not may_repeat:
            self.faults.append(f"sent again: {key}")
        self.possibly_sent.add(key)
        self.sent.append(message)
        self.calls[key] += 1
        self.arrived.set()

    def answer(self, message: Message) -> Outcome:
        """Return the next result. A result that is an exception is raised: the message was sent,
        and its sender does not learn of it."""
        waiting = self.answers.get(message.channel)
        answer = waiting.pop(0) if waiting else Accepted()
        if isinstance(answer, Temporary | Permanent):
            self.possibly_sent.discard(message.communication_id)
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class GatedChannel:
    """A channel that can repeat e-mails by their id, but not SMS."""

    sent_messages: SentMessages
    channel: Channel
    gate: asyncio.Event
    # Claims that were paid before the dispatcher began its current pass.
    closed: set[int] = field(default_factory=set)
    name: str = "outbox"

    @property
    def is_repeatable(self) -> bool:
        return self.channel == "EMAIL"

    async def send(self, message: Message) -> Outcome:
        if message.claim_id in self.closed:
            self.sent_messages.faults.append(f"sent though paid: claim {message.claim_id}")
        self.sent_messages.take(message, may_repeat=self.is_repeatable)
        await self.gate.wait()
        return self.sent_messages.answer(message)
