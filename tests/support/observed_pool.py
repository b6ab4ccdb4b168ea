"""A connection pool for one test, observed through another connection."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from typing import Any, TypeAlias

from dunwell.platform.database.database import Connection, Database
from dunwell.platform.database.pool import PoolLimits

_NAMES = count(1)
# Beside other busy processes the server may take seconds to end what it was asked to end.
_TIMEOUT_SECONDS = 60
PRESENT = "SELECT pid FROM pg_stat_activity WHERE application_name = $1"
BUSY = f"{PRESENT} AND state <> 'idle'"
# A statement that is only being prepared cannot be cancelled by a request that arrives too early.
SLEEPING = f"{PRESENT} AND wait_event = 'PgSleep'"
PID = "SELECT pg_backend_pid()"


class ObservedPool:
    """A database with its own pool, and a second connection that observes it."""

    def __init__(self, database: Database, name: str, watcher: Connection) -> None:
        self.database = database
        self._name = name
        self._watcher = watcher

    async def list_pids(self, statement: str = PRESENT) -> set[int]:
        return {row["pid"] for row in await self._watcher.fetch(statement, self._name)}

    async def wait_for(self, statement: str, number: int) -> None:
        """Wait until the statement lists this number of connections."""
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            while len(await self.list_pids(statement)) != number:
                await self._watcher.execute("SELECT pg_sleep(0.01)")

    async def end(self, pid: int) -> None:
        await self._watcher.execute("SELECT pg_terminate_backend($1)", pid)
        await self.wait_for(PRESENT, 0)

    async def ask(self, statement: str = PID) -> Any:
        async with self.database.connection() as connection:
            return await connection.fetchval(statement)

    async def watch(self, statement: str) -> Any:
        """Return the result of a statement on the other connection."""
        return await self._watcher.fetchval(statement)


Opener: TypeAlias = Callable[..., Awaitable[ObservedPool]]


@asynccontextmanager
async def an_opener(url: str, database: Database) -> AsyncIterator[Opener]:
    """Provide a function that opens pools of a given size and with given limits. All pools are
    closed at the end."""
    async with AsyncExitStack() as stack:
        watcher = await stack.enter_async_context(database.connection())

        async def open_own(size: int = 1, **limits: Any) -> ObservedPool:
            name = f"own {next(_NAMES)}"
            own = await Database.open(url, size=size, application=name, limits=PoolLimits(**limits))
            stack.push_async_callback(own.close)
            return ObservedPool(own, name, watcher)

        yield open_own
