"""A worker that fetches, imports and matches bank statements, in its own process, which a test
kills.

Arguments: the folder of the bank connection `bank`. The worker waits for nothing between its turns,
so that a kill finds it at work.
"""

import asyncio
import contextlib
import sys

import structlog

from dunwell.accounts.installation.bank_connections import BankFolder
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.adapters.bank_statements import StatementFetcher
from dunwell.cases.statements.import_statements import import_next_file
from dunwell.cases.statements.matches.match_sets import match_all
from dunwell.platform.clock import SystemClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Refusal
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources

CONNECTION = "bank"


def build_fetcher(resources: Resources, folder: str) -> StatementFetcher:
    """Return the fetcher of an installation whose bank connection is this folder."""
    installation = CurrentInstallation(resources)
    installation.bank_connections = {CONNECTION: BankFolder(folder=folder)}
    return StatementFetcher(resources, installation)


async def _import_forever(resources: Resources, folder: str) -> None:
    fetcher = build_fetcher(resources, folder)
    while True:
        with contextlib.suppress(Refusal, OSError):  # The database may be away.
            await fetcher.run_once()
            await import_next_file(resources)
        await asyncio.sleep(0.01)


async def _match_forever(resources: Resources) -> None:
    while True:
        with contextlib.suppress(Refusal, OSError):
            await match_all(resources)
        await asyncio.sleep(0.01)


async def _main(folder: str) -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    settings = load_settings()
    assert settings.database_url is not None
    while True:
        with contextlib.suppress(Exception):  # The database may be away.
            database = await Database.open(settings.database_url, size=4)
            break
    resources = Resources(
        settings, database, SystemClock(), RandomIds(), KeyRing(settings.secret_key)
    )
    await asyncio.gather(_import_forever(resources, folder), _match_forever(resources))


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
