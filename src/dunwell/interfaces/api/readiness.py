"""Whether a process can do its work: the database answers in time, has its tables and is written,
and its clock and this host's agree.

The probe writes, as a database that only answers is of no use: to the log of transactions, waiting
for the disk and for a standby that must confirm, and to a file of its own for a moment, which a
full disk refuses. Nothing is left of either.
"""

import asyncio
import time

from dunwell.platform.clock import Clock
from dunwell.platform.database.database import Database, DatabaseAway, NotMigrated
from dunwell.platform.errors import Unavailable

# Within these who asks is answered, whatever the database does.
PATIENCE_SECONDS = 1.5
# So long it counts for others that all was well: who asks without end costs one probe a second.
_KEPT_SECONDS = 1.0
_LOOK = """
SELECT to_regclass('merchants') IS NOT NULL, current_setting('transaction_read_only') = 'on'
"""
# One round trip and one transaction. More rows than 64 kB hold are laid down in a file.
_WRITE = """
SELECT set_config('work_mem', '64kB', true);
SELECT count(*) FROM generate_series(1, 4000);
SELECT pg_logical_emit_message(true, 'dunwell readiness', '');
"""


class Readiness:
    """Of one process. However many ask, and however long it takes, one probe is under way."""

    def __init__(
        self, database: Database, clock: Clock, *, timeout_seconds: float = PATIENCE_SECONDS,
        kept_seconds: float = _KEPT_SECONDS,
    ) -> None:  # fmt: skip
        self._database = database
        self._clock = clock
        self._patience_seconds = timeout_seconds
        self._kept_seconds = kept_seconds
        self._probe: asyncio.Task[None] | None = None
        self._well_until = 0.0

    async def check(self) -> None:
        """Raises Unavailable, in time."""
        await self._check_database()
        self._clock.now()

    async def _check_database(self) -> None:
        if time.monotonic() < self._well_until:
            return
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._ask())
            # Of one that nobody waits for any more nobody asks what became of it.
            self._probe.add_done_callback(lambda probe: probe.cancelled() or probe.exception())
        await asyncio.wait([self._probe], timeout=self._patience_seconds)
        if not self._probe.done():
            raise DatabaseAway("The database does not answer in time. Try again shortly.")
        error = self._probe.exception()
        if error is not None:
            raise error

    async def _ask(self) -> None:
        await probe(self._database, self._patience_seconds)
        self._well_until = time.monotonic() + self._kept_seconds


async def probe(database: Database, timeout_seconds: float) -> None:
    """Raises Unavailable; when the database does not answer, as late as it gives up on it."""
    async with database.connection() as connection:
        row = await connection.fetchrow(_LOOK, timeout=timeout_seconds)
        has_tables, is_read_only = row
        if not has_tables:
            raise NotMigrated
        if is_read_only:
            raise Unavailable("The database can be read and not written. Try again shortly.")
        await connection.execute(_WRITE, timeout=timeout_seconds)
