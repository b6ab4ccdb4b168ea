"""PostgreSQL through asyncpg. Only this module begins and commits transactions.

A use case is given the `Connection` of an open transaction. A use case of one statement may be
given a connection without a transaction: the statement then commits by itself. No session state is
kept, so that a connection pooler in transaction mode works if the address names it.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import date
from functools import partial
from typing import Any, TypeAlias

import asyncpg
import msgspec
import structlog

from dunwell.platform.config.settings import parse_database_address
from dunwell.platform.database.epochs import check_epoch
from dunwell.platform.database.pool import (
    ConnectionPool,
    OpenConnection,
    PooledConnection,
    PoolLimits,
    connect,
)
from dunwell.platform.errors import Refusal, Unavailable

Connection: TypeAlias = asyncpg.Connection
Row: TypeAlias = asyncpg.Record
OnConnect: TypeAlias = Callable[[asyncpg.Connection], Awaitable[None]]

_log = structlog.get_logger(__name__)
_LIMITS = PoolLimits()
_FIRST_DAY = date(2000, 1, 1).toordinal()
# A statement that commits, and therefore waits for the disk and for a synchronous standby.
_COMMIT = "SELECT pg_current_xact_id()"
_UNAVAILABLE = (
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


_NOT_MIGRATED = (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError)
# Another transaction was in conflict with this one, which was rolled back.
_CONFLICTS = (
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.LockNotAvailableError,
)
# With one of these errors, another attempt at the same work can succeed.
_OUTAGES = (
    *_CONFLICTS,
    *_UNAVAILABLE,
    TimeoutError,
    asyncpg.TransactionRollbackError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.PostgresSystemError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
_TEMPORARY_ERRORS = (
    ((TimeoutError,), "The database is too busy. Try again shortly."),
    (_CONFLICTS, "Another change was made at the same time. Try again."),
    (_UNAVAILABLE, "The database is not available. Try again shortly."),
)


class DatabaseAway(Unavailable):
    """The database cannot do the work now, and a retry may succeed: it does not answer, shuts down,
    starts up, is full or too busy, or rolled the transaction back because of a conflict. `was_sent`
    is True if a statement was sent, which the database may have executed."""

    def __init__(self, message: str, *, was_sent: bool = False) -> None:
        super().__init__(message)
        self.was_sent = was_sent


class NotMigrated(Unavailable):
    """The database does not have the tables that this version needs."""

    def __init__(self) -> None:
        super().__init__(
            "The database does not have the tables of this version; the operator of this service "
            "must run: dunwell migrate"
        )


class Database:
    """One PostgreSQL database, reached through a pool of connections."""

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        size: int = 10,
        application: str = "dunwell",
        limits: PoolLimits = _LIMITS,
        on_connect: OnConnect | None = None,
    ) -> "Database":
        """Return a database that connects when it is first used, so that a service can start before
        its database. `on_connect` checks each new connection before it is used. If it raises, the
        connection is closed."""
        # Behind a pooler, the ping would queue behind long transactions and say nothing about the
        # server.
        ping = None if parse_database_address(url).is_pooled else partial(_ping, url)
        connect_one = partial(
            _connect, url, application, on_connect, limits.statement_timeout_seconds
        )
        return cls(ConnectionPool(connect_one, size, limits, ping))

    async def close(self) -> None:
        await self._pool.close()

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Open a transaction, which is committed at the end and rolled back after any exception."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """Return a connection outside any transaction, for reads and for use cases of one
        statement."""
        return _ConnectionContext(self._pool)


class _ConnectionContext:
    """A connection from the pool, used in `async with`. It is a class because every request needs
    one or two, and a generator is slower."""

    __slots__ = ("_entry", "_pool")

    def __init__(self, pool: ConnectionPool) -> None:
        self._pool = pool

    async def __aenter__(self) -> Connection:
        try:
            self._entry = await self._pool.take()
        except Exception as error:
            _raise_if_unavailable(error, was_sent=False)
            raise
        return self._entry.connection

    async def __aexit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, _trace: object
    ) -> None:
        # A refusal is an ordinary result. Any other exception may have interrupted a statement.
        is_done = error is None or isinstance(error, Refusal)
        if is_done and self._entry.connection.is_clean():
            self._pool.release_connection(self._entry)
        else:
            await self._pool.reset_and_release(self._entry, error)
        if not is_done:
            _raise_if_unavailable(error, was_sent=True)


def _raise_if_unavailable(error: BaseException | None, *, was_sent: bool) -> None:
    """Raise DatabaseAway for a temporary failure, and NotMigrated for one that an operator has to
    resolve. Return for any other error."""
    if isinstance(error, _NOT_MIGRATED):
        _log.error("not migrated", exc_info=error, once_a_minute=True)
        raise NotMigrated from error
    for kinds, message in _TEMPORARY_ERRORS:
        if isinstance(error, kinds):
            raise DatabaseAway(message, was_sent=was_sent) from error


def raise_if_outage(error: Exception) -> None:
    """Raise the error again, as DatabaseAway or another Unavailable, if it says nothing about the
    work itself, so that another attempt may succeed: the database is unavailable, or a statement
    was cancelled."""
    if isinstance(error, Unavailable):
        raise error
    if isinstance(error, _OUTAGES):
        raise DatabaseAway(
            "The database did not complete the work. Try again shortly.", was_sent=True
        ) from error


@asynccontextmanager
async def savepoint(tx: Connection) -> AsyncIterator[None]:
    """Open a savepoint in the transaction. An exception undoes only what was done since then."""
    async with tx.transaction():
        yield


@asynccontextmanager
async def snapshot(connection: Connection) -> AsyncIterator[None]:
    """Let the block read one snapshot. Within an open transaction, its isolation level applies
    instead."""
    if connection.is_in_transaction():
        yield
        return
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        yield


async def check_epoch_at(url: str) -> None:
    """Connect and check the epoch (see `epochs`), as every new connection of a pool does. If the
    database was restored before its first check, this also corrects the order of its rows."""
    connection = await connect(url, OpenConnection)
    try:
        await check_epoch(connection)
    finally:
        await connection.close()


async def _connect(
    url: str, application: str, on_connect: OnConnect | None, statement_timeout_seconds: float
) -> PooledConnection:
    settings = {"application_name": application, "jit": "off"}
    connection = await connect(
        url, PooledConnection, settings, command_timeout=statement_timeout_seconds
    )
    try:
        for name in ("json", "jsonb"):
            await connection.set_type_codec(
                name, schema="pg_catalog", encoder=_encode_json, decoder=msgspec.json.decode
            )
        # asyncpg would turn the first and the last possible day into PostgreSQL's infinity.
        await connection.set_type_codec(
            "date", schema="pg_catalog", encoder=_encode_day, decoder=_decode_day, format="tuple"
        )
        await check_epoch(connection)
        if on_connect is not None:
            await on_connect(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _ping(url: str) -> None:
    """Connect and wait for the answer to a statement that no table lock can delay."""
    connection = await connect(url, OpenConnection)
    try:
        await connection.execute(_COMMIT)
    finally:
        connection.terminate()


def _encode_day(day: date) -> tuple[int]:
    """Count days from 2000-01-01, as PostgreSQL does."""
    return (day.toordinal() - _FIRST_DAY,)


def _decode_day(days: tuple[int]) -> date:
    return date.fromordinal(days[0] + _FIRST_DAY)


def _encode_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
