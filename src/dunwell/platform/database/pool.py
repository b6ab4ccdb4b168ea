"""Open connections to one PostgreSQL, kept between uses; the one used last is taken first.

Behind a pooler in transaction mode, which the address names, each transaction may reach another of
the server's processes: nothing is asked of one that the next would have to know.

Taking a kept connection and giving it back clean costs no task, no timer and no round trip, which
every request would pay for. What connections are used for, and what their errors mean, is `db`'s.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import asyncpg
from prometheus_client import Gauge

from dunwell.platform.config.settings import read_address
from dunwell.platform.metrics import REGISTRY

# The server's answers when kept statements or types no longer fit its tables.
_OUTDATED = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError)
# Poolers know the name of who connects; what else a session may begin with they refuse.
_KNOWN_TO_POOLERS = ("application_name",)
_TURNS = 10
# Those of all processes that share their figures are added up; a process has one pool.
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
    """A connection whose statements have names at the server only where they may be kept there."""

    __slots__ = ()

    async def _get_statement(self, *given: Any, named: Any = False, **options: Any) -> Any:
        """A nameless one is sent anew with each use: a cursor's too, which asyncpg would name."""
        if named and not self._stmt_cache_enabled:
            named = ""
        return await super()._get_statement(*given, named=named, **options)


class PooledConnection(OpenConnection):
    """A connection that can tell whether it may be used again as it is."""

    __slots__ = ()

    def is_clean(self) -> bool:
        """In no transaction, nor in one whose beginning was interrupted, of which the server may
        know more than was heard of it."""
        return self._top_xact is None and not self.is_closed() and not self.is_in_transaction()


OpenedAs = TypeVar("OpenedAs", bound=OpenConnection)


async def connect(
    url: str, opened_as: type[OpenedAs], settings: Mapping[str, str] | None = None, **options: Any
) -> OpenedAs:
    """One connection. settings: what the session begins with; options: what asyncpg takes."""
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
    """A connection and what the pool keeps of it."""

    connection: PooledConnection
    uses: int = 0
    # When it was given back, by the loop's clock.
    idle_since: float = 0.0
    # When it was taken; None: it is idle.
    taken_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLimits:
    """How long a pool waits and keeps."""

    # For a connection to come free, or to be made.
    patience_seconds: float = 5.0
    # For each answer of a server that answers others.
    answer_seconds: float = 60.0
    # After which the server is asked whether it answers at all.
    doubt_seconds: float = 1.5
    # For that. Both together, and the first once more, are as long as anybody waits in vain.
    silence_seconds: float = 6.5
    # To end what a failed use left behind; after that the connection is dropped.
    mending_seconds: float = 5.0
    # Unused for so long, a connection is closed.
    idle_seconds: float = 300.0
    # After which it is closed too: the server's process grows with what it has seen.
    uses: int = 50_000


class ConnectionPool:
    """At most `size` connections, each made when it is first needed.

    Who takes one has a place until it is given back. The idle ones lie on a stack, so that those at
    its bottom are the longest unused.
    """

    def __init__(
        self, connect: Callable[[], Awaitable[PooledConnection]], size: int, limits: PoolLimits,
        ask: Callable[[], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        """ask: returns or raises once the server answers, on a connection of its own; None: however
        long it says nothing, it is waited for."""
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
        # So often the server has done all that it was asked for.
        self._answers = 0
        self._is_closing = False
        self._in_use = 0
        self._waiting = 0
        _MOST.set(size)

    async def take(self) -> Held:
        """Raises TimeoutError when none comes free, InterfaceError when the pool closes, and what
        connecting raises."""
        if self._is_closing:
            raise asyncpg.InterfaceError("the pool is closing")
        if self._places.locked() or not self._has_idle():
            held = await self._wait_in_time()
        else:
            # There is a place, so this does not wait, and cannot be cancelled.
            await self._places.acquire()
            held = self._idle.pop()
        held.uses += 1
        held.taken_at = asyncio.get_running_loop().time()
        self._in_use += 1
        _IN_USE.set(self._in_use)
        self._watch_later()
        return held

    def give_back(self, held: Held) -> None:
        """As it is: closed, or clean."""
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
        """Give back one that `error` left in doubt; a cancellation meanwhile does not stop that."""
        task = asyncio.create_task(self._mend(held, error))
        self._mending.add(task)
        task.add_done_callback(self._mending.discard)
        await asyncio.shield(task)

    async def close(self) -> None:
        """Wait until all are given back, and close them. Cancelled, it closes them at once."""
        if self._is_closing:
            return
        self._is_closing = True
        try:
            # Those who wait already are served first.
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
        """Whether an idle one lives; those the server closed are dropped from the top."""
        while self._idle and self._idle[-1].connection.is_closed():
            self._drop(self._idle.pop())
        return bool(self._idle)

    async def _open_one(self) -> Held:
        held = Held(await self._connect())
        self._open.add(held)
        return held

    async def _mend(self, held: Held, error: BaseException | None) -> None:
        """The reset waits until the server has ended what was interrupted, and rolls back."""
        try:
            if isinstance(error, _OUTDATED):
                await self._forget_schema()
            await held.connection.reset(timeout=self._limits.mending_seconds)
            if not held.connection.is_clean():
                # A transaction that began while it was interrupted was not known of before.
                held.connection.terminate()
        except Exception:  # noqa: BLE001 - whatever it is: this one is used no more
            held.connection.terminate()
        except BaseException:
            held.connection.terminate()
            raise
        finally:
            self.give_back(held)

    async def _forget_schema(self) -> None:
        """All connections learnt the same, so each would fail once."""
        for held in self._open:
            if not held.connection.is_closed():
                # It does not wait, in spite of its name: nothing is asked of the server.
                await held.connection.reload_schema_state()

    def _drop(self, held: Held) -> None:
        self._open.discard(held)
        held.connection.terminate()

    def _watch_later(self) -> None:
        if self._watching is None and self._ask is not None:
            loop = asyncio.get_running_loop()
            self._watching = loop.call_later(self._limits.doubt_seconds, self._watch)

    def _watch(self) -> None:
        """As long as any is taken: a server that stands still is not waited for as one that works
        for long is."""
        self._watching = None
        long_ago = asyncio.get_running_loop().time() - self._limits.doubt_seconds
        since = [held.taken_at for held in self._open if held.taken_at is not None]
        if not since:
            return
        if min(since) <= long_ago and (self._doubting is None or self._doubting.done()):
            self._doubting = asyncio.create_task(self._doubt())
        self._watch_later()

    async def _doubt(self) -> None:
        """Close the connections of a server that answers nobody. What waits for them is told that
        at once; whether the server does what it was asked for is known as little as before."""
        assert self._ask is not None
        answers, asking = self._answers, asyncio.ensure_future(self._ask())
        try:
            # In turns: where this process itself stood still, an answer may lie there unread.
            for _ in range(_TURNS):
                await asyncio.wait([asking], timeout=self._limits.silence_seconds / _TURNS)
                if asking.done() or self._answers != answers:
                    return
        finally:
            asking.cancel()
            # A refusal is an answer too.
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
