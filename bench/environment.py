"""The common environment of all benchmarks: an embedded PostgreSQL in a temporary folder.

It has the settings of every installation. The service and the references use the same server. Each
queue that serves as a reference has its own database on it.
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
        """Return the address of another database on the server."""
        return self.embedded.url.replace(f"@/{DATABASE_NAME}?", f"@/{name}?")

    async def make_database(self, name: str) -> str:
        async with self.database.connection() as connection:
            await connection.execute(f"CREATE DATABASE {name}")
        return self.url_of(name)

    async def clear_claims(self) -> None:
        """Delete all claims with everything that belongs to them, the records of contacts, and the
        rate limits that ended web processes have used up."""
        async with self.database.connection() as connection:
            await connection.execute(
                "TRUNCATE claims, contact_guards, contact_ledger, audit_log, request_quotas,"
                " letter_batches, inbound_sms, delivery_reports CASCADE"
            )

    async def settle(self, url: str | None = None) -> None:
        """Update the statistics, and run a checkpoint so that none happens during the next
        measurement."""
        connection = await asyncpg.connect(url or self.embedded.url)
        try:
            await connection.execute("VACUUM ANALYZE")
            await connection.execute("CHECKPOINT")
        finally:
            await connection.close()


@asynccontextmanager
async def open_ground() -> AsyncIterator[Ground]:
    """Start the server, and delete everything at the end."""
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
            # Some queues log every job, which would slow them down.
            configure_logging("warning", "bench")
            database = await Database.open(embedded.url)
            yield Ground(folder, embedded, server.pid, settings, database)
            await database.close()
        finally:
            stop_server(server)
