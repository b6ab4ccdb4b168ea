"""A teller of what debtors are to know in a process of its own: run with the usual settings."""

import asyncio

from dunwell.config import load_settings
from dunwell.kit.clock import SystemClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.resources import Resources
from dunwell.landing.render.wording import load_languages
from dunwell.landing.telling.tell_occasions import tell_occasions
from dunwell.landing.telling.writer import NoticeWriter


async def main() -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=4)
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, SystemClock(), RandomIds(), keys)
    writer = NoticeWriter(load_languages(), settings.public_url)
    while True:
        if not await tell_occasions(resources, writer):
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main())
