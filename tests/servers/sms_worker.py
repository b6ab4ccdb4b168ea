"""An engine and a dispatcher with the installation's delivery providers, in a process that a test
kills.

Argument: the number of seconds that its clock is ahead.
"""

import asyncio
import sys
from datetime import timedelta

from dunwell.accounts.installation.current_installation import open_current_installation
from dunwell.adapters.delivery_providers import open_delivery_providers
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.worker_process import AheadClock


async def main(ahead_seconds: float) -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=4)
    clock = AheadClock(timedelta(seconds=ahead_seconds))
    resources = Resources(settings, database, clock, RandomIds(), KeyRing(settings.secret_key))
    async with (
        open_current_installation(resources) as installation,
        open_delivery_providers(resources, installation) as providers,
    ):
        engine = Engine(resources)
        dispatcher = MessageDispatcher(resources, [], find_provider=providers.find)
        while True:
            done = await engine.run_once() + await dispatcher.run_once()
            if not done:
                await asyncio.sleep(0.005)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
