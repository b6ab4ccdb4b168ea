"""Channels of several dispatchers that share one post office, which remembers all it was given.

A dispatcher's gate can be shut: its messages have then left, and their answers are still out.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.sending.channel import Accepted, Message, Outcome, Permanent, Temporary


@dataclass
class Post:
    """What arrived, and what should not have."""

    # The next answers by channel; then everything is accepted.
    answers: dict[Channel, list[Outcome | Exception]] = field(default_factory=dict)
    sent: list[Message] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    # Messages that were given to a channel and not surely refused by it.
    left: set[UUID] = field(default_factory=set)
    calls: Counter[UUID] = field(default_factory=Counter)
    # Set by each message.
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, message: Message, *, may_repeat: bool) -> None:
        key = message.communication_id
        if key in self.left and not may_repeat:
            self.faults.append(f"sent again: {key}")
        self.left.add(key)
        self.sent.append(message)
        self.calls[key] += 1
        self.arrived.set()

    def answer(self, message: Message) -> Outcome:
        """Raises what it is told to: the message has left, and nobody says so."""
        waiting = self.answers.get(message.channel)
        answer = waiting.pop(0) if waiting else Accepted()
        if isinstance(answer, Temporary | Permanent):
            self.left.discard(message.communication_id)
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass
class GatedChannel:
    """E-mails may be sent again under their id; SMS may not."""

    post: Post
    channel: Channel
    gate: asyncio.Event
    # Claims that were paid before the dispatcher began its round.
    closed: set[int] = field(default_factory=set)
    name: str = "outbox"

    @property
    def is_repeatable(self) -> bool:
        return self.channel == "EMAIL"

    async def send(self, message: Message) -> Outcome:
        if message.claim_id in self.closed:
            self.post.faults.append(f"sent though paid: claim {message.claim_id}")
        self.post.take(message, may_repeat=self.is_repeatable)
        await self.gate.wait()
        return self.post.answer(message)
