"""PostgreSQL through asyncpg: the pool, and the only place where transactions begin and commit.

A use case is given the `Connection` of an open transaction, or, when it is one statement, of none
(each statement then commits by itself). Session state is never kept, so pgBouncer in transaction
mode may stand in front.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

import asyncpg
import msgspec

from dunwell.errors import Unavailable

Connection: TypeAlias = asyncpg.Connection
Row: TypeAlias = asyncpg.Record

_AWAY = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DiskFullError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.InternalClientError,
    asyncpg.InterfaceError,
)


# Another transaction was in the way; nothing of this one was kept.
_IN_THE_WAY = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
)


class DatabaseAway(Unavailable):
    """The database does not answer, shuts down, starts up or is full."""


class Database:
    """A pool of connections to one PostgreSQL."""

    def __init__(self, pool: Any) -> None:
        self._pool = pool

    @classmethod
    async def open(cls, url: str, *, size: int = 10, application: str = "dunwell") -> "Database":
        """Connect lazily, so that a service starts before its database does."""
        pool = await asyncpg.create_pool(
            url,
            min_size=0,
            max_size=size,
            init=_prepare_connection,
            command_timeout=60,
            max_inactive_connection_lifetime=300,
            # What a pooled connection is put back to; transactions leave nothing else behind.
            reset=_reset_connection,
            server_settings={"application_name": application, "jit": "off"},
        )
        return cls(pool)

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """One transaction: commits at the end, rolls back on any exception."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection outside any transaction: for reads, and for use cases of one statement."""
        try:
            async with self._pool.acquire(timeout=5) as connection:
                yield connection
        except TimeoutError as error:
            raise DatabaseAway("The database is too busy. Try again shortly.") from error
        except _IN_THE_WAY as error:
            raise DatabaseAway("Another change was in the way. Try again.") from error
        except _AWAY as error:
            raise DatabaseAway("The database is away. Try again shortly.") from error


@asynccontextmanager
async def savepoint(tx: Connection) -> AsyncIterator[None]:
    """Within an open transaction: an exception undoes what was done since, and nothing before."""
    async with tx.transaction():
        yield


@asynccontextmanager
async def snapshot(connection: Connection) -> AsyncIterator[None]:
    """Reads of one instant. Within an open transaction, that one's isolation rules."""
    if connection.is_in_transaction():
        yield
        return
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        yield


async def _prepare_connection(connection: Connection) -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(
            name, schema="pg_catalog", encoder=_encode_json, decoder=msgspec.json.decode
        )


async def _reset_connection(_connection: Connection) -> None:
    """Nothing: no use case sets session state, and the round trip would cost every request."""


def _encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
