"""The resources that a process opens once: settings, database, clock, ids, keys."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from dunwell.platform.clock import Clock
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Database, DatabaseAway
from dunwell.platform.embedded.postgres import get_database_url
from dunwell.platform.ids import Ids, RandomIds
from dunwell.platform.key_versions import build_key_check
from dunwell.platform.watched_clock import WatchedClock, comparing_clocks


@dataclass(frozen=True, slots=True)
class Resources:
    settings: Settings
    database: Database
    clock: Clock
    ids: Ids
    keys: KeyRing


@asynccontextmanager
async def open_resources(settings: Settings, process: str) -> AsyncIterator[Resources]:
    """Open the resources of a process. The database may still be unavailable. Raises
    SecretKeyMismatch; if the database is unavailable at the start, the first statement raises it.
    Each new connection compares the clock with the database's, because it may lead to another
    server."""
    url = get_database_url(settings)
    keys, clock = KeyRing(settings.secret_key), WatchedClock()
    admit = build_key_check(keys)

    async def on_connect(connection: Connection) -> None:
        await admit(connection)
        await clock.compare(connection)

    database = await Database.open(url, application=f"dunwell {process}", on_connect=on_connect)
    try:
        with suppress(DatabaseAway):
            async with database.connection():
                pass
        async with comparing_clocks(clock, database):
            yield Resources(settings, database, clock, RandomIds(), keys=keys)
    finally:
        await database.close()
