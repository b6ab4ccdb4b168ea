"""Removes sessions a day after their end, and wrong codes that count no more."""

from datetime import timedelta

from dunwell.kit.resources import Resources
from dunwell.landing.store import remove_sessions, remove_wrong_codes
from dunwell.landing.try_code import WINDOW

# So long can a page tell its reader that it timed out.
_KEPT_FOR = timedelta(days=1)
_ROWS_AT_ONCE = 5000


async def sweep_landing(resources: Resources) -> int:
    """Rows removed; 0 when nothing was left."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        removed = await remove_sessions(tx, now - _KEPT_FOR, _ROWS_AT_ONCE)
        return removed + await remove_wrong_codes(tx, now - WINDOW)
