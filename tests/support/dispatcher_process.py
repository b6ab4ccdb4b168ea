"""A webhook dispatcher in its own process, which a test kills. It runs with the usual settings."""

import asyncio

from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.dispatcher import WebhookDispatcher
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
    async with open_webhook_sender(allow_loopback=True) as sender:
        await WebhookDispatcher(resources, sender).run(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main())
