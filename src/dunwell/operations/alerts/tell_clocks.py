"""Reports as an alarm that this host's clock differs from the database's.

Each process reports what it found itself, by the database's time: a worker whose clocks are apart
does nothing else, and a web process has no loops. Without an open alarm of this kind nothing is
asked of the database.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from dunwell.accounts.installation.alerts.alert import AlertFigures, AlertKind, Sign
from dunwell.accounts.installation.alerts.store import save_alert
from dunwell.platform.resources import Resources
from dunwell.platform.watched_clock import WatchedClock

# Well within the time after which an alarm that nobody keeps is over.
_TELL_SECONDS = 30.0

log = structlog.get_logger(__name__)


async def raise_clock_alert(resources: Resources, host: str) -> bool:
    """Begin or keep the alarm, if the clocks differed when they were last compared; whether they
    did. host: the name of this machine."""
    clock = resources.clock
    comparison = clock.comparison if isinstance(clock, WatchedClock) else None
    if comparison is None or not comparison.is_odd:
        return False
    figures = AlertFigures(host_clock=comparison.host, database_clock=comparison.database)
    async with resources.database.transaction() as tx:
        now = await tx.fetchval("SELECT clock_timestamp()")
        await save_alert(tx, Sign(AlertKind.CLOCKS_APART, host, figures), now, resources.ids)
    return True


@asynccontextmanager
async def raising_clock_alerts(resources: Resources, host: str) -> AsyncIterator[None]:
    """Do so again and again until the block ends."""
    task = asyncio.create_task(_keep_telling(resources, host))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _keep_telling(resources: Resources, host: str) -> None:
    while True:
        try:
            await raise_clock_alert(resources, host)
        except Exception:  # the next round tries again, whatever it was
            log.exception("clocks not reported", once_a_minute=True)
        await asyncio.sleep(_TELL_SECONDS)
