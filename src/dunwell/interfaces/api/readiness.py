"""Check that a process can work: the database responds in time, has its tables and accepts writes,
and the database's clock agrees with this host's.

The probe writes, because a database that can only read is of no use. The probe writes to the
write-ahead log, which waits for the disk and for a synchronous standby, and to a temporary file,
which fails when the disk is full. Neither leaves anything behind.
"""

import asyncio
import time

from dunwell.platform.clock import Clock
from dunwell.platform.database.database import Database, DatabaseAway, NotMigrated
from dunwell.platform.errors import Unavailable

# The time within which `check` returns or raises, whatever the database does.
TIMEOUT_SECONDS = 1.5
# How long a success is reused, so that frequent health checks cost one probe per second.
_REUSE_SECONDS = 1.0
_LOAD_STATE = """
SELECT to_regclass('merchants') IS NOT NULL, current_setting('transaction_read_only') = 'on'
"""
# One round trip and one transaction. The rows exceed 64 kB, so PostgreSQL writes them to a
# temporary file.
_TRY_WRITING = """
SELECT set_config('work_mem', '64kB', true);
SELECT count(*) FROM generate_series(1, 4000);
SELECT pg_logical_emit_message(true, 'dunwell readiness', '');
"""


class Readiness:
    """The readiness of one process. It runs at most one probe at a time, however many clients
    ask."""

    def __init__(
        self, database: Database, clock: Clock, *, timeout_seconds: float = TIMEOUT_SECONDS,
        reuse_seconds: float = _REUSE_SECONDS,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._timeout_seconds = timeout_seconds
        self._reuse_seconds = reuse_seconds
        self._probe: asyncio.Task[None] | None = None
        self._ready_until = 0.0

    async def check(self) -> None:
        """Check the database and the clock within `timeout_seconds`. Raises Unavailable if the
        process cannot work."""
        await self._check_database()
        self._clock.now()

    async def _check_database(self) -> None:
        if time.monotonic() < self._ready_until:
            return
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._run_probe())
            # Mark the exception as retrieved even if no caller waits any more.
            self._probe.add_done_callback(lambda probe: probe.cancelled() or probe.exception())
        await asyncio.wait([self._probe], timeout=self._timeout_seconds)
        if not self._probe.done():
            raise DatabaseAway("The database does not respond in time. Try again shortly.")
        error = self._probe.exception()
        if error is not None:
            raise error

    async def _run_probe(self) -> None:
        await probe(self._database, self._timeout_seconds)
        self._ready_until = time.monotonic() + self._reuse_seconds


async def probe(database: Database, timeout_seconds: float) -> None:
    """Check that the database has its tables and accepts writes. Raises Unavailable otherwise.

    `timeout_seconds` limits each statement, but not the wait for a connection: if the database does
    not respond, that takes as long as the driver's own timeout.
    """
    async with database.connection() as connection:
        row = await connection.fetchrow(_LOAD_STATE, timeout=timeout_seconds)
        has_tables, is_read_only = row
        if not has_tables:
            raise NotMigrated
        if is_read_only:
            raise Unavailable("The database is read-only. Try again shortly.")
        await connection.execute(_TRY_WRITING, timeout=timeout_seconds)
