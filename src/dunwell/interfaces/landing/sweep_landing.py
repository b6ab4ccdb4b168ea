"""Removes sessions a day after their end, drafts that nobody went on with, new addresses nobody has
confirmed, and wrong codes that count no more.
"""

from dunwell.interfaces.landing.contact_preferences.store import remove_old_changes
from dunwell.interfaces.landing.session.session import REMEMBERED
from dunwell.interfaces.landing.session.store import remove_drafts, remove_sessions
from dunwell.interfaces.landing.sign_in.store import remove_visitor_tries
from dunwell.interfaces.landing.sign_in.visitor_limits import WINDOW
from dunwell.platform.resources import Resources

_ROWS_AT_ONCE = 5000


async def sweep_landing(resources: Resources) -> int:
    """Rows removed; 0 when nothing was left."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        removed = await remove_sessions(tx, now - REMEMBERED, _ROWS_AT_ONCE)
        removed += await remove_drafts(tx, now, _ROWS_AT_ONCE)
        removed += await remove_old_changes(tx, now, _ROWS_AT_ONCE)
        return removed + await remove_visitor_tries(tx, now - WINDOW)
