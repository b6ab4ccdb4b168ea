"""What a process opens once and hands to whoever needs it: settings, database, clock, ids, keys."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from dunwell.platform.clock import Clock
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Database, DatabaseAway
from dunwell.platform.embedded.postgres import find_database_url
from dunwell.platform.ids import Ids, RandomIds
from dunwell.platform.key_versions import greet_with
from dunwell.platform.watched_clock import WatchedClock, comparing


@dataclass(frozen=True, slots=True)
class Resources:
    settings: Settings
    database: Database
    clock: Clock
    ids: Ids
    keys: KeyRing


@asynccontextmanager
async def open_resources(settings: Settings, process: str) -> AsyncIterator[Resources]:
    """What every process needs; the database may still be away. Raises KeyRefused; a process that
    starts before its database is refused by its first statement. The clock is compared with the
    database's on each connection: what leads to another server leads to another clock."""
    url = find_database_url(settings)
    keys, clock = KeyRing(settings.secret_key), WatchedClock()
    admit = greet_with(keys)

    async def greet(connection: Connection) -> None:
        await admit(connection)
        await clock.compare(connection)

    database = await Database.open(url, application=f"dunwell {process}", greet=greet)
    try:
        with suppress(DatabaseAway):
            async with database.connection():
                pass
        async with comparing(clock, database):
            yield Resources(settings, database, clock, RandomIds(), keys=keys)
    finally:
        await database.close()
