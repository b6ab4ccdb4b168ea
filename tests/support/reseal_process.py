"""A worker that encrypts values again with the second version of the key until it is killed. It
runs with the usual settings and reports when it has done a part."""

import asyncio

from dunwell.operations.keys.reseal import Resealer
from dunwell.platform.clock import SystemClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.keys import list_columns, with_versions


async def main() -> None:
    settings = load_settings()
    assert settings.database_url is not None
    database = await Database.open(settings.database_url, size=2)
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, SystemClock(), RandomIds(), keys)
    resealer = Resealer(with_versions(resources, 2, 1), list_columns("webhook_endpoints"))
    while await resealer.run_once():
        print("part", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
