"""PostgreSQL clusters for one test, and a merchant that reads the event log on them."""

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import asyncpg

from dunwell.cases.intake.create_claims import create_claims
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.events.event_log import load_events_page
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder, stop_server
from dunwell.platform.embedded.postgres_user import get_server_user
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.merchant_ids import FIRST_MERCHANT_IDS
from tests.support.webhooks import Outbox, an_outbox

OLDER, NEWER = (
    get_binaries_folder(None).parents[1] / name / "bin" for name in ("pginstall", "pginstall18")
)
# Makes the server look as if it had been in use for longer.
_MAKE_OLDER = """
DO $$ BEGIN
    FOR number IN 1..4000 LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP;
END $$
"""


@dataclass
class Cluster:
    """A server with its own data folder."""

    postgres: EmbeddedPostgres
    server: "subprocess.Popen[bytes] | None" = None
    role: str = "postgres"
    database: str = "postgres"

    @classmethod
    def on(cls, folder: Path, binaries: Path = NEWER) -> "Cluster":
        let_server_reach(folder.parent)
        return cls(EmbeddedPostgres(folder, binaries))

    @property
    def url(self) -> str:
        return f"postgresql://{self.role}@/{self.database}?host={self.postgres.socket_folder}"

    @property
    def data(self) -> Path:
        return self.postgres.folder / "data"

    async def start(self) -> "Cluster":
        self.server = await asyncio.to_thread(self.postgres.start)
        return self

    async def stop(self) -> None:
        if self.server is not None:
            await asyncio.to_thread(stop_server, self.server)

    def kill(self) -> None:
        if self.server is not None:
            self.server.kill()
            self.server.wait(10)
        self.postgres.stop_abandoned()

    async def configure(self, **settings: str) -> None:
        """Change settings permanently and restart the server."""
        for name, value in settings.items():
            await self.run_sql(f"ALTER SYSTEM SET {name} = '{value}'")
        await self.stop()
        await self.start()

    async def run_sql(self, statement: str) -> object:
        """Run a statement in its own transaction and return the first value."""
        connection = await asyncpg.connect(self.url)
        try:
            return await connection.fetchval(statement)
        finally:
            await connection.close()

    async def age(self) -> None:
        connection = await asyncpg.connect(self.url)
        await connection.execute(_MAKE_OLDER)
        await connection.close()

    async def wait_for(self, statement: str) -> None:
        """Wait until the statement returns true."""
        async with asyncio.timeout(30):
            while not await self.run_sql(statement):
                pass

    async def run_tool(self, name: str, *arguments: str) -> bytes:
        """Run a PostgreSQL program on this cluster and return its output."""
        command = [str(self.postgres.binaries / name), f"--dbname={self.url}", *arguments]
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout

    async def copy_to(self, folder: Path, *arguments: str) -> "Cluster":
        """Copy this cluster by a base backup, without starting the copy."""
        copy = Cluster.on(folder, self.postgres.binaries)
        copy.postgres.folder.mkdir()
        await self.run_tool(
            "pg_basebackup", f"--pgdata={copy.data}", "--checkpoint=fast", *arguments
        )
        give_to_server(folder)
        return copy


def let_server_reach(folder: Path) -> None:
    """Let the user that runs servers, who is not root, enter a folder that root created."""
    for each in (folder, *folder.parents):
        if each.owner() == "root" and not each.stat().st_mode & 0o001:
            each.chmod(0o755)


def give_to_server(folder: Path) -> None:
    """Make the server's user the owner of what this process wrote."""
    if os.geteuid() == 0:
        user = get_server_user()
        for path in (folder, *folder.rglob("*")):
            shutil.chown(path, user.pw_uid, user.pw_gid)


class Servers:
    """Clusters below one folder, stopped when the test ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._numbers = count(1)
        self.made: list[Cluster] = []

    def place(self) -> Path:
        return self._folder / f"server-{next(self._numbers)}"

    async def start_new(self, binaries: Path = NEWER) -> Cluster:
        return await self.keep(Cluster.on(self.place(), binaries)).start()

    def keep(self, cluster: Cluster) -> Cluster:
        self.made.append(cluster)
        return cluster


async def a_served_cluster(servers: Servers, binaries: Path) -> Cluster:
    """Return a migrated cluster whose numbers are ahead of those of a new cluster."""
    cluster = await servers.start_new(binaries)
    await cluster.configure(wal_level="logical", fsync="off", archive_mode="on",
                            archive_command="/bin/true")  # fmt: skip
    await asyncio.to_thread(migrate, cluster.url)
    await cluster.run_sql(
        f"ALTER TABLE merchants ALTER merchant_id RESTART WITH {next(FIRST_MERCHANT_IDS)}"
    )
    await cluster.age()
    return cluster


async def dump_into(origin: Cluster, target: Cluster, *arguments: str) -> None:
    dump = target.postgres.folder / "dump.sql"
    dump.write_bytes(await origin.run_tool("pg_dump", "--no-owner", *arguments))
    await target.run_tool("psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={dump}")


@dataclass(frozen=True)
class ListedContents:
    """The events of a merchant, oldest first, and its claims, newest first."""

    events: list[str]
    claims: list[int]
    # A cursor in the list of events that has one event after it.
    cursor: str | None


@dataclass
class ClusterMerchant:
    """A merchant on one cluster."""

    outbox: Outbox

    async def connect(self) -> None:
        async with self.outbox.resources.database.connection():
            pass

    async def work(self, events: int = 3, claims: int = 2) -> list[str]:
        """Write events and claims as the service does, and return the event bodies."""
        raised = [(await self.outbox.raise_events())[0] for _ in range(events)]
        for _ in range(claims):
            reference = str(self.outbox.resources.ids.new(self.outbox.now))
            async with self.outbox.resources.database.connection() as connection:
                work = self.outbox.work(connection)
                [created] = await create_claims(work, [a_submission(reference)])
            assert created.claim_id is not None
        return [event.body for event in raised]

    async def look(self) -> ListedContents:
        bodies = await self.list_events()
        async with self.outbox.resources.database.connection() as connection:
            merchant_id = self.outbox.merchant.merchant_id
            claims = await list_claims(self.outbox.work(connection), limit=500)
            page = await load_events_page(connection, merchant_id, limit=len(bodies) - 1)
        return ListedContents(bodies, [claim.claim_id for claim in claims.items], page.next_cursor)

    async def list_events(self, cursor: str | None = None) -> list[str]:
        async with self.outbox.resources.database.connection() as connection:
            merchant_id = self.outbox.merchant.merchant_id
            page = await load_events_page(connection, merchant_id, limit=500, cursor=cursor)
        assert page.next_cursor is None
        return list(page.items)


@asynccontextmanager
async def a_cluster_merchant(outbox: Outbox, url: str) -> AsyncIterator[ClusterMerchant]:
    """Return the same merchant on the cluster at that URL."""
    database = await Database.open(url, size=3)
    outbox.resources = replace(outbox.resources, database=database)
    try:
        yield ClusterMerchant(outbox)
    finally:
        await database.close()


async def an_outbox_on(cluster: Cluster, resources: Resources) -> Outbox:
    database = await Database.open(cluster.url, size=1)
    outbox = await an_outbox(replace(resources, database=database))
    await database.close()
    return outbox


async def serve(outbox: Outbox, cluster: Cluster) -> ListedContents:
    """Write some events and claims on the cluster and return what the merchant reads."""
    async with a_cluster_merchant(outbox, cluster.url) as served:
        await served.work()
        return await served.look()


async def load_rows(cluster: Cluster, table: str) -> set[str]:
    connection = await asyncpg.connect(cluster.url)
    try:
        rows = await connection.fetch(f"SELECT to_jsonb({table})::text AS row FROM {table}")
        return {row["row"] for row in rows}
    finally:
        await connection.close()


async def write_until_cancelled(served: ClusterMerchant, written_at: dict[str, datetime]) -> None:
    """Write events until cancelled. `written_at` records what was acknowledged, and when."""
    while True:
        for body in await served.work(events=1, claims=1):
            written_at[json.loads(body)["eventId"]] = datetime.now(UTC)


async def wait_until_written(
    written_at: dict[str, datetime], size: int, working: asyncio.Task[None]
) -> None:
    async with asyncio.timeout(60):
        while len(written_at) < size:
            await asyncio.wait([working], timeout=0.01)
