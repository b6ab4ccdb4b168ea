"""An engine and a dispatcher that sends by SMTP in their own process, which a test kills.

Arguments: the number of seconds that its clock is ahead, the port of the mail server, and the
highest number of unanswered messages.
"""

import asyncio
import sys
from datetime import timedelta

from dunwell.adapters.channels.smtp.channel import SmtpChannel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.smtp_providers import a_provider
from tests.support.worker_process import AheadClock


async def main(ahead_seconds: float, port: int, at_once: int) -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=4)
    clock = AheadClock(timedelta(seconds=ahead_seconds))
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, clock, RandomIds(), keys)
    channel = SmtpChannel("post", a_provider(port, pace={"atOnce": at_once}), {}, keys)
    engine = Engine(resources)
    dispatcher = MessageDispatcher(resources, [], find_provider=lambda _name: channel)
    while True:
        done = await engine.run_once() + await dispatcher.run_once()
        if not done:
            await asyncio.sleep(0.02)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
