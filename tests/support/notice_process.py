"""A sender of notices in a process of its own, whose outbox can be told to kill it: run with the
usual settings.
"""

import asyncio

from dunwell.adapters.channels.outbox.adapter import OutboxEmail
from dunwell.config import load_settings
from dunwell.kit.clock import SystemClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.resources import Resources
from dunwell.notices.sender import NoticeSender


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
