"""A sender of notices in its own process, with an outbox that kills the process on request. It runs
with the usual settings."""

import asyncio

from dunwell.adapters.channels.outbox.channel import OutboxEmail
from dunwell.contact.notices.sender import NoticeSender
from dunwell.platform.clock import SystemClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources


async def main() -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=4)
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, SystemClock(), RandomIds(), keys)
    outbox = OutboxEmail(settings.data_dir, is_development=True)
    sender = NoticeSender(resources, [outbox])
    while True:
        if not await sender.run_once():
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main())
