"""An engine and a dispatcher in their own process, which a test kills at work.

Arguments: the number of seconds that its clock is ahead, so that leases of a killed worker have
expired; and the file to which a channel that cannot repeat messages writes. Without it the outbox
channel is used.
"""

import asyncio
import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.outbox.channel import OutboxEmail
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Accepted, ChannelAdapter, Message, Outcome
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources


@dataclass(frozen=True)
class AheadClock:
    ahead: timedelta

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@dataclass(frozen=True)
class ExchangeFolder:
    """A channel that cannot detect a repeated message. It writes one line for each call."""

    path: Path
    name: str = "outbox"
    channel: Channel = "EMAIL"
    is_repeatable: bool = False

    async def send(self, message: Message) -> Outcome:
        descriptor = os.open(self.path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
        os.write(descriptor, f"{message.communication_id}\n".encode())
        os.close(descriptor)
        await asyncio.sleep(0)
        return Accepted()


async def main(ahead_seconds: float, letter_box: str | None) -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=4)
    clock = AheadClock(timedelta(seconds=ahead_seconds))
    resources = Resources(settings, database, clock, RandomIds(), KeyRing(settings.secret_key))
    channel: ChannelAdapter = OutboxEmail(settings.data_dir, is_development=True)
    if letter_box is not None:
        channel = ExchangeFolder(Path(letter_box))
    engine, dispatcher = Engine(resources), MessageDispatcher(resources, [channel])
    while True:
        done = await engine.run_once() + await dispatcher.run_once()
        if not done:
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None))
