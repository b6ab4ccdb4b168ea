"""A webhook dispatcher in a process of its own, to be killed: run with the usual settings."""

import asyncio

from dunwell.config import load_settings
from dunwell.events.deliver import WebhookDispatcher
from dunwell.events.sender import open_webhook_sender
from dunwell.kit.clock import SystemClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.resources import Resources


async def main() -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=4)
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, SystemClock(), RandomIds(), keys)
    async with open_webhook_sender(allow_loopback=True) as sender:
        await WebhookDispatcher(resources, sender).run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main())
