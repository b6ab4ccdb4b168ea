"""An engine in its own process: it reports that it is ready, waits for a line, and works until
nothing is due. `bench.workers` starts it with the merchants' time in ISO format."""

import asyncio
import os
import sys
from datetime import datetime

import uvloop

from dunwell.contact.escalation.engine import Engine
from dunwell.platform.children.process import tune_garbage_collector
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.logging import configure_logging
from dunwell.platform.resources import Resources

# At the end, other processes may still hold the last rows.
_LAST_LOOKS = 3


async def run(now: datetime) -> None:
    settings = load_settings(dict(os.environ))
    configure_logging("warning", "bench")
    assert settings.database_url is not None
    database = await Database.open(settings.database_url)
    keys = KeyRing(settings.secret_key)
    engine = Engine(Resources(settings, database, MovableClock(now), RandomIds(), keys))
    async with database.connection():
        pass
    tune_garbage_collector()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    looks = 0
    while looks < _LAST_LOOKS:
        looks = 0 if await engine.run_once() else looks + 1
    await database.close()


if __name__ == "__main__":
    uvloop.run(run(datetime.fromisoformat(sys.argv[1])))
