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

from dunwell.platform.config.settings import read_address
from dunwell.platform.metrics import REGISTRY

# The server's errors when prepared statements or types no longer fit its tables.
_OUTDATED = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError)
# Poolers accept only this session setting when a connection begins.
_KNOWN_TO_POOLERS = ("application_name",)
_TURNS = 10
# The values of all processes that share their metrics are added up. A process has one pool.
_IN_USE = Gauge(
    "dunwell_database_connections_in_use", "Connections to the database that are in use.",
    registry=REGISTRY, multiprocess_mode="livesum",
)  # fmt: skip
_WAITING = Gauge(
    "dunwell_database_connections_waiting",
    "How many wait for a connection to the database, to come free or to be made.",
    registry=REGISTRY, multiprocess_mode="livesum",
)  # fmt: skip
_MOST = Gauge(
    "dunwell_database_connections_limit", "The most connections to the database there can be.",
    registry=REGISTRY, multiprocess_mode="livesum",
)  # fmt: skip


class OpenConnection(asyncpg.Connection):  # type: ignore[misc] # asyncpg has no types
    """A connection that names prepared statements only if the server may keep them."""

    __slots__ = ()

    async def _get_statement(self, *given: Any, named: Any = False, **options: Any) -> Any:
        """Prepare a statement without a name for each use. This includes cursors, which asyncpg
        would name."""
        if named and not self._stmt_cache_enabled:
            named = ""
        return await super()._get_statement(*given, named=named, **options)


class PooledConnection(OpenConnection):
    """A connection that knows whether it can be used again without a reset."""

    __slots__ = ()

    def is_clean(self) -> bool:
        """Return True if no transaction is open. A transaction whose BEGIN was interrupted counts
        as open, because the server may have executed it."""
        return self._top_xact is None and not self.is_closed() and not self.is_in_transaction()


OpenedAs = TypeVar("OpenedAs", bound=OpenConnection)


async def connect(
    url: str, opened_as: type[OpenedAs], settings: Mapping[str, str] | None = None, **options: Any
) -> OpenedAs:
    """Open a connection. `settings` are those of the session, `options` the arguments of asyncpg."""
    address, begun = read_address(url), settings or {}
    if address.is_pooled:
        options["statement_cache_size"] = 0
        begun = {name: value for name, value in begun.items() if name in _KNOWN_TO_POOLERS}
    opened: OpenedAs = await asyncpg.connect(
        address.url, connection_class=opened_as, server_settings=dict(begun), **options
    )
    return opened


@dataclass(slots=True, eq=False)
class Held:
    """A connection with the pool's data about it."""

    connection: PooledConnection
    uses: int = 0
    # When it was given back, by the event loop's clock.
    idle_since: float = 0.0
    # When it was taken, None while it is idle.
    taken_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """The time limits of a pool."""

    # How long to wait for a connection to become free or to be opened.
    patience_seconds: float = 5.0
    # How long to wait for the result of a statement while the server answers others.
    answer_seconds: float = 60.0
    # How long a connection is in use before the server is pinged.
    doubt_seconds: float = 1.5
    # How long the ping may take. A caller waits in vain for at most this time plus twice
    # `doubt_seconds`.
    silence_seconds: float = 6.5
    # How long a reset may take after a failed use. After that the connection is closed.
    mending_seconds: float = 5.0
    # How long an unused connection stays open.
    idle_seconds: float = 300.0
    # How often a connection is used before it is closed, because the server process grows with use.
    uses: int = 50_000


class ConnectionPool:
    """At most `size` connections, each opened when it is first needed.

    Every connection in use occupies a place. Idle connections are a stack, so that those at the
    bottom have been unused the longest.
    """

    def __init__(
        self, connect: Callable[[], Awaitable[PooledConnection]], size: int, limits: PoolLimits,
        ask: Callable[[], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        """`ask` pings the server over a separate connection: it returns or raises when the server
        answers. With None, a silent server is never given up."""
        self._connect = connect
        self._ask = ask
        self._size = size
        self._limits = limits
        self._places = asyncio.Semaphore(size)
        self._idle: list[Held] = []
        self._open: set[Held] = set()
        self._mending: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None
        self._watching: asyncio.TimerHandle | None = None
        self._doubting: asyncio.Task[None] | None = None
        # The number of uses that the server has completed.
        self._answers = 0
        self._is_closing = False
        self._in_use = 0
        self._waiting = 0
        _MOST.set(size)

    async def take(self) -> Held:
        """Take a connection. Raises TimeoutError if none becomes free, InterfaceError if the pool
        is closing, and the errors of connecting."""
        if self._is_closing:
            raise asyncpg.InterfaceError("the pool is closing")
        if self._places.locked() or not self._has_idle():
            held = await self._wait_in_time()
        else:
            # A place is free, so this neither waits nor can be cancelled.
            await self._places.acquire()
            held = self._idle.pop()
        held.uses += 1
        held.taken_at = asyncio.get_running_loop().time()
        self._in_use += 1
        _IN_USE.set(self._in_use)
        self._watch_later()
        return held

    def give_back(self, held: Held) -> None:
        """Give back a connection that is closed or clean."""
        held.taken_at = None
        self._in_use -= 1
        _IN_USE.set(self._in_use)
        if not held.connection.is_closed():
            self._answers += 1
        if held.connection.is_closed() or held.uses >= self._limits.uses:
            self._drop(held)
        else:
            held.idle_since = asyncio.get_running_loop().time()
            self._idle.append(held)
            self._sweep_later()
        self._places.release()

    async def mend(self, held: Held, error: BaseException | None) -> None:
        """Reset a connection that `error` left in an unknown state and give it back. A cancellation
        does not interrupt this."""
        task = asyncio.create_task(self._mend(held, error))
        self._mending.add(task)
        task.add_done_callback(self._mending.discard)
        await asyncio.shield(task)

    async def close(self) -> None:
        """Wait until all connections are given back, and close them. When cancelled, close them at
        once."""
        if self._is_closing:
            return
        self._is_closing = True
        try:
            # Callers that already wait are served first.
            for _ in range(self._size):
                await self._places.acquire()
            await asyncio.gather(
                *(
                    held.connection.close(timeout=self._limits.mending_seconds)
                    for held in self._idle
                ),
                return_exceptions=True,
            )
        finally:
            for each in (self._sweeping, self._watching, self._doubting):
                if each is not None:
                    each.cancel()
            self._idle.clear()
            for held in list(self._open):
                self._drop(held)
            for gauge in (_IN_USE, _WAITING, _MOST):
                gauge.set(0)

    async def _wait_in_time(self) -> Held:
        self._waiting += 1
        _WAITING.set(self._waiting)
        try:
            async with asyncio.timeout(self._limits.patience_seconds):
                return await self._wait_for_one()
        finally:
            self._waiting -= 1
            _WAITING.set(self._waiting)

    async def _wait_for_one(self) -> Held:
        await self._places.acquire()
        try:
            return self._idle.pop() if self._has_idle() else await self._open_one()
        except BaseException:
            self._places.release()
            raise

    def _has_idle(self) -> bool:
        """Return whether an open idle connection is on top of the stack. Connections that the
        server has closed are dropped."""
        while self._idle and self._idle[-1].connection.is_closed():
            self._drop(self._idle.pop())
        return bool(self._idle)

    async def _open_one(self) -> Held:
        held = Held(await self._connect())
        self._open.add(held)
        return held

    async def _mend(self, held: Held, error: BaseException | None) -> None:
        """Reset the connection: this waits until the server has ended the interrupted statement,
        and rolls back."""
        try:
            if isinstance(error, _OUTDATED):
                await self._forget_schema()
            await held.connection.reset(timeout=self._limits.mending_seconds)
            if not held.connection.is_clean():
                # A transaction whose BEGIN was interrupted became visible only now.
                held.connection.terminate()
        except Exception:  # noqa: BLE001 - whatever it is: this one is used no more
            held.connection.terminate()
        except BaseException:
            held.connection.terminate()
            raise
        finally:
            self.give_back(held)

    async def _forget_schema(self) -> None:
        """Clear the cached schema of all connections, because each of them would fail once."""
        for held in self._open:
            if not held.connection.is_closed():
                # Despite its name this asks nothing of the server.
                await held.connection.reload_schema_state()

    def _drop(self, held: Held) -> None:
        self._open.discard(held)
        held.connection.terminate()

    def _watch_later(self) -> None:
        if self._watching is None and self._ask is not None:
            loop = asyncio.get_running_loop()
            self._watching = loop.call_later(self._limits.doubt_seconds, self._watch)

    def _watch(self) -> None:
        """Ping the server if a connection has been in use for long. This tells a server that hangs
        from one that works on a long statement."""
        self._watching = None
        long_ago = asyncio.get_running_loop().time() - self._limits.doubt_seconds
        since = [held.taken_at for held in self._open if held.taken_at is not None]
        if not since:
            return
        if min(since) <= long_ago and (self._doubting is None or self._doubting.done()):
            self._doubting = asyncio.create_task(self._doubt())
        self._watch_later()

    async def _doubt(self) -> None:
        """Close all connections in use if the server answers nobody. Their users get an error at
        once. As after any lost connection, it is unknown whether the server did what it was asked
        for."""
        assert self._ask is not None
        answers, asking = self._answers, asyncio.ensure_future(self._ask())
        try:
            # Wait in several steps: if this process itself was suspended, an answer may be waiting
            # unread.
            for _ in range(_TURNS):
                await asyncio.wait([asking], timeout=self._limits.silence_seconds / _TURNS)
                if asking.done() or self._answers != answers:
                    return
        finally:
            asking.cancel()
            # An error of the server is an answer, too.
            await asyncio.gather(asking, return_exceptions=True)
        for held in [each for each in self._open if each.taken_at is not None]:
            held.connection.terminate()

    def _sweep_later(self) -> None:
        if self._sweeping is None and self._idle:
            due_at = self._idle[0].idle_since + self._limits.idle_seconds
            self._sweeping = asyncio.get_running_loop().call_at(due_at, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = None
        long_ago = asyncio.get_running_loop().time() - self._limits.idle_seconds
        while self._idle and self._idle[0].idle_since <= long_ago:
            self._drop(self._idle.pop(0))
        self._sweep_later()
