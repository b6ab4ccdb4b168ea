"""A process that notifies debtors, which a test kills. It runs with the usual settings."""

import asyncio

from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.platform.clock import SystemClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages


async def main() -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=4)
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, SystemClock(), RandomIds(), keys)
    writer = NoticeWriter(load_languages(DEBTOR_CATALOGUES), settings.public_url)
    while True:
        if not await send_due_occasions(resources, writer):
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main())
