"""What a process opens once and hands to whoever needs it: settings, database, clock, ids, keys."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from dunwell.config import Settings
from dunwell.kit.clock import Clock, SystemClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import Ids, RandomIds
from dunwell.kit.postgres import find_database_url


@dataclass(frozen=True, slots=True)
class Resources:
    settings: Settings
    database: Database
    clock: Clock
    ids: Ids
    keys: KeyRing


@asynccontextmanager
async def open_resources(settings: Settings, process: str) -> AsyncIterator[Resources]:
    """What every process needs; the database may still be away."""
    url = find_database_url(settings)
    database = await Database.open(url, application=f"dunwell {process}")
    try:
        keys = KeyRing(settings.secret_key)
        yield Resources(settings, database, SystemClock(), RandomIds(), keys=keys)
    finally:
        await database.close()
