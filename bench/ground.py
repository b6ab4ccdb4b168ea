"""The ground all contestants stand on: one embedded PostgreSQL in a temporary folder.

It runs with the settings every installation has. Ours and the references use the same server, each
reference queue a database of its own on it.
"""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from dunwell.platform.clock import Clock
from dunwell.platform.config import Settings, load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.embedded.postgres import (
    DATABASE_NAME,
    EmbeddedPostgres,
    get_binaries_folder,
    stop_server,
)
from dunwell.platform.ids import RandomIds
from dunwell.platform.logging import configure_logging
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class Ground:
    folder: Path
    embedded: EmbeddedPostgres
    server_pid: int
    settings: Settings
    database: Database

    def resources(self, clock: Clock) -> Resources:
        keys = KeyRing(self.settings.secret_key)
        return Resources(self.settings, self.database, clock, RandomIds(), keys)

    def url_of(self, name: str) -> str:
        """The address of another database of the server."""
        return self.embedded.url.replace(f"@/{DATABASE_NAME}?", f"@/{name}?")

    async def make_database(self, name: str) -> str:
        async with self.database.connection() as connection:
            await connection.execute(f"CREATE DATABASE {name}")
        return self.url_of(name)

    async def clear_claims(self) -> None:
        """No claims, nothing that belongs to any, nobody contacted yet; nothing left drawn of the
        minute's requests by web processes that have ended."""
        async with self.database.connection() as connection:
            await connection.execute(
                "TRUNCATE claims, contact_guards, contact_ledger, audit_log, request_quotas,"
                " letter_batches, inbound_sms, delivery_reports CASCADE"
            )

    async def settle(self, url: str | None = None) -> None:
        """Statistics fresh, and no checkpoint left that would fall into the next measurement."""
        connection = await asyncpg.connect(url or self.embedded.url)
        try:
            await connection.execute("VACUUM ANALYZE")
            await connection.execute("CHECKPOINT")
        finally:
            await connection.close()


@asynccontextmanager
async def open_ground() -> AsyncIterator[Ground]:
    """Starts the server, and removes all of it in the end."""
    with tempfile.TemporaryDirectory(prefix="dunwell-bench-") as name:
        folder = Path(name)
        embedded = EmbeddedPostgres(folder / "postgres", get_binaries_folder(None))
        server = embedded.start()
        try:
            await asyncio.to_thread(migrate, embedded.url)
            environment = {
                "DUNWELL_DATA_DIR": str(folder / "data"), "DUNWELL_DATABASE_URL": embedded.url,
            }  # fmt: skip
            settings = load_settings(environment)
            # What queues log of every job would slow them.
            configure_logging("warning", "bench")
            database = await Database.open(embedded.url)
            yield Ground(folder, embedded, server.pid, settings, database)
            await database.close()
        finally:
            stop_server(server)
