"""A pool of open connections to one PostgreSQL server. The most recently used one is taken first.

Behind a connection pooler in transaction mode, which the address names, each transaction may run in
another server process. Therefore no session state is used there.

Taking an idle connection and giving it back needs no task, no timer and no round trip, because
every request would pay for it. `database` says what connections are used for and what their errors
mean.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
from prometheus_client import Gauge

from dunwell.platform.config.settings import parse_database_address
from dunwell.platform.metrics import REGISTRY

# The server's errors when prepared statements or types no longer fit its tables.
_OUTDATED = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError)
# Poolers accept only this session setting when a connection begins.
_KNOWN_TO_POOLERS = ("application_name",)
_PING_STEPS = 10
# The values of all processes that share their metrics are added up. A process has one pool.
_IN_USE = Gauge(
    "dunwell_database_connections_in_use", "Connections to the database that are in use.",
    registry=REGISTRY, multiprocess_mode="livesum",
)  # fmt: skip
_WAITING = Gauge(
    "dunwell_database_connections_waiting",
    "Requests that wait for a connection to the database, to become free or to be opened.",
    registry=REGISTRY, multiprocess_mode="livesum",
)  # fmt: skip
_LIMIT = Gauge(
    "dunwell_database_connections_limit", "The largest number of connections to the database.",
    registry=REGISTRY, multiprocess_mode="livesum",
)  # fmt: skip


class OpenConnection(asyncpg.Connection):  # type: ignore[misc] # asyncpg has no types
    """A connection that names prepared statements only if the server may keep them."""

    __slots__ = ()

    async def _get_statement(self, *arguments: Any, named: Any = False, **options: Any) -> Any:
        """Prepare a statement without a name for each use. This includes cursors, which asyncpg
        would name."""
        if named and not self._stmt_cache_enabled:
            named = ""
        return await super()._get_statement(*arguments, named=named, **options)


class PooledConnection(OpenConnection):
    """A connection that knows whether it can be used again without a reset."""

    __slots__ = ()

    def is_clean(self) -> bool:
        """Return True if the connection is open and has no open transaction. A transaction whose
        BEGIN was interrupted counts as open, because the server may have executed it."""
        return self._top_xact is None and not self.is_closed() and not self.is_in_transaction()


ConnectionType = TypeVar("ConnectionType", bound=OpenConnection)


async def connect(
    url: str,
    connection_type: type[ConnectionType],
    settings: Mapping[str, str] | None = None,
    **options: Any,
) -> ConnectionType:
    """Open a connection with settings of the session and options of asyncpg."""
    address, session_settings = parse_database_address(url), settings or {}
    if address.is_pooled:
        options["statement_cache_size"] = 0
        session_settings = {
            name: value for name, value in session_settings.items() if name in _KNOWN_TO_POOLERS
        }
    connection: ConnectionType = await asyncpg.connect(
        address.url,
        connection_class=connection_type,
        server_settings=dict(session_settings),
        **options,
    )
    return connection


@dataclass(slots=True, eq=False)
class PoolEntry:
    """A connection with the pool's data about it."""

    connection: PooledConnection
    use_count: int = 0
    # When it was given back, by the event loop's clock.
    idle_since: float = 0.0
    # When it was taken, None while it is idle.
    taken_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """The time limits of a pool."""

    # How long to wait for a connection to become free or to be opened.
    take_timeout_seconds: float = 5.0
    # How long to wait for the result of a statement while the server answers others.
    statement_timeout_seconds: float = 60.0
    # How long a connection is in use before the server is pinged.
    check_after_seconds: float = 1.5
    # How long the ping may take. A caller waits in vain for at most this time plus twice
    # `check_after_seconds`.
    ping_seconds: float = 6.5
    # How long a reset may take after a failed use. After that the connection is closed.
    reset_seconds: float = 5.0
    # How long an unused connection stays open.
    idle_seconds: float = 300.0
    # How often a connection is used before it is closed, because the server process grows with use.
    max_uses: int = 50_000


class ConnectionPool:
    """At most `size` connections, each opened when it is first needed.

    Every connection in use occupies a place. Idle connections are a stack, so that those at the
    bottom have been unused the longest.
    """

    def __init__(
        self, connect: Callable[[], Awaitable[PooledConnection]], size: int, limits: PoolLimits,
        ping: Callable[[], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        """`ping` asks the server over another connection and returns or raises when it answers.
        Without it, a hanging server is noticed only when a statement times out."""
        self._connect = connect
        self._ping = ping
        self._size = size
        self._limits = limits
        self._free_places = asyncio.Semaphore(size)
        self._idle: list[PoolEntry] = []
        self._open: set[PoolEntry] = set()
        self._resets: set[asyncio.Task[None]] = set()
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._check_timer: asyncio.TimerHandle | None = None
        self._server_check: asyncio.Task[None] | None = None
        # The number of uses that the server has completed.
        self._completed_uses = 0
        self._is_closing = False
        self._in_use = 0
        self._waiting = 0
        _LIMIT.set(size)

    async def take(self) -> PoolEntry:
        """Take a connection. Raises TimeoutError if none becomes free, InterfaceError if the pool
        is closing, and the errors of connecting."""
        if self._is_closing:
            raise asyncpg.InterfaceError("the pool is closing")
        if self._free_places.locked() or not self._has_idle():
            entry = await self._take_within_timeout()
        else:
            # A place is free, so this neither waits nor can be cancelled.
            await self._free_places.acquire()
            entry = self._idle.pop()
        entry.use_count += 1
        entry.taken_at = asyncio.get_running_loop().time()
        self._in_use += 1
        _IN_USE.set(self._in_use)
        self._schedule_check()
        return entry

    def release_connection(self, entry: PoolEntry) -> None:
        """Give back a connection that is closed or clean."""
        entry.taken_at = None
        self._in_use -= 1
        _IN_USE.set(self._in_use)
        if not entry.connection.is_closed():
            self._completed_uses += 1
        if entry.connection.is_closed() or entry.use_count >= self._limits.max_uses:
            self._drop(entry)
        else:
            entry.idle_since = asyncio.get_running_loop().time()
            self._idle.append(entry)
            self._schedule_sweep()
        self._free_places.release()

    async def reset_and_release(self, entry: PoolEntry, error: BaseException | None) -> None:
        """Reset a connection that `error` left in an unknown state and give it back. A cancellation
        does not interrupt this."""
        task = asyncio.create_task(self._reset(entry, error))
        self._resets.add(task)
        task.add_done_callback(self._resets.discard)
        await asyncio.shield(task)

    async def close(self) -> None:
        """Wait until all connections are given back, and close them. When cancelled, close them at
        once."""
        if self._is_closing:
            return
        self._is_closing = True
        try:
            # The callers that are already waiting get their connections first.
            for _ in range(self._size):
                await self._free_places.acquire()
            timeout = self._limits.reset_seconds
            closing = (entry.connection.close(timeout=timeout) for entry in self._idle)
            await asyncio.gather(*closing, return_exceptions=True)
        finally:
            for pending in (self._sweep_timer, self._check_timer, self._server_check):
                if pending is not None:
                    pending.cancel()
            self._idle.clear()
            for entry in list(self._open):
                self._drop(entry)
            for gauge in (_IN_USE, _WAITING, _LIMIT):
                gauge.set(0)

    async def _take_within_timeout(self) -> PoolEntry:
        self._waiting += 1
        _WAITING.set(self._waiting)
        try:
            async with asyncio.timeout(self._limits.take_timeout_seconds):
                return await self._take_or_open()
        finally:
            self._waiting -= 1
            _WAITING.set(self._waiting)

    async def _take_or_open(self) -> PoolEntry:
        await self._free_places.acquire()
        try:
            return self._idle.pop() if self._has_idle() else await self._open_one()
        except BaseException:
            self._free_places.release()
            raise

    def _has_idle(self) -> bool:
        """Return whether an open idle connection is on top of the stack. Connections that the
        server has closed are dropped."""
        while self._idle and self._idle[-1].connection.is_closed():
            self._drop(self._idle.pop())
        return bool(self._idle)

    async def _open_one(self) -> PoolEntry:
        entry = PoolEntry(await self._connect())
        self._open.add(entry)
        return entry

    async def _reset(self, entry: PoolEntry, error: BaseException | None) -> None:
        """Reset the connection: this waits until the server has ended the interrupted statement,
        and rolls back."""
        try:
            if isinstance(error, _OUTDATED):
                await self._forget_schema()
            await entry.connection.reset(timeout=self._limits.reset_seconds)
            if not entry.connection.is_clean():
                # A transaction whose BEGIN was interrupted became visible only now.
                entry.connection.terminate()
        except Exception:  # noqa: BLE001 - the connection is closed after any error
            entry.connection.terminate()
        except BaseException:
            entry.connection.terminate()
            raise
        finally:
            self.release_connection(entry)

    async def _forget_schema(self) -> None:
        """Clear the cached schema of all connections, because each of them would fail once."""
        for entry in self._open:
            if not entry.connection.is_closed():
                # Despite its name, this sends nothing to the server.
                await entry.connection.reload_schema_state()

    def _drop(self, entry: PoolEntry) -> None:
        self._open.discard(entry)
        entry.connection.terminate()

    def _schedule_check(self) -> None:
        if self._check_timer is None and self._ping is not None:
            loop = asyncio.get_running_loop()
            self._check_timer = loop.call_later(self._limits.check_after_seconds, self._check_uses)

    def _check_uses(self) -> None:
        """Ping the server if a connection has been in use for long, to distinguish a server that
        hangs from one that works on a long statement."""
        self._check_timer = None
        long_ago = asyncio.get_running_loop().time() - self._limits.check_after_seconds
        since = [entry.taken_at for entry in self._open if entry.taken_at is not None]
        if not since:
            return
        if min(since) <= long_ago and (self._server_check is None or self._server_check.done()):
            self._server_check = asyncio.create_task(self._check_server())
        self._schedule_check()

    async def _check_server(self) -> None:
        """Close all connections in use if the server answers no client. Callers that use them get
        an error, and do not know whether the server executed their statements."""
        assert self._ping is not None
        completed_uses, pinging = self._completed_uses, asyncio.ensure_future(self._ping())
        try:
            # Wait in steps: after a suspension of this process, an answer may have arrived unread.
            for _ in range(_PING_STEPS):
                await asyncio.wait([pinging], timeout=self._limits.ping_seconds / _PING_STEPS)
                if pinging.done() or self._completed_uses != completed_uses:
                    return
        finally:
            pinging.cancel()
            # An error of the server is an answer, too.
            await asyncio.gather(pinging, return_exceptions=True)
        for entry in [each for each in self._open if each.taken_at is not None]:
            entry.connection.terminate()

    def _schedule_sweep(self) -> None:
        if self._sweep_timer is None and self._idle:
            due_at = self._idle[0].idle_since + self._limits.idle_seconds
            self._sweep_timer = asyncio.get_running_loop().call_at(due_at, self._sweep)

    def _sweep(self) -> None:
        self._sweep_timer = None
        long_ago = asyncio.get_running_loop().time() - self._limits.idle_seconds
        while self._idle and self._idle[0].idle_since <= long_ago:
            self._drop(self._idle.pop(0))
        self._schedule_sweep()
