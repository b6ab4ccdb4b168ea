"""Delete sessions a day after their expiry, expired drafts, expired changes of addresses, and old
counts of wrong codes."""

from dunwell.interfaces.landing.contact_preferences.store import delete_old_changes
from dunwell.interfaces.landing.session.session import ENDED_SESSION_RETENTION
from dunwell.interfaces.landing.session.store import delete_old_drafts, delete_old_sessions
from dunwell.interfaces.landing.sign_in.store import delete_visitor_attempts
from dunwell.interfaces.landing.sign_in.visitor_limits import WINDOW
from dunwell.platform.resources import Resources

_ROWS_AT_ONCE = 5000


async def delete_expired_debtor_data(resources: Resources) -> int:
    """Delete up to `_ROWS_AT_ONCE` rows of each kind. Return the number of deleted rows."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        removed = await delete_old_sessions(tx, now - ENDED_SESSION_RETENTION, _ROWS_AT_ONCE)
        removed += await delete_old_drafts(tx, now, _ROWS_AT_ONCE)
        removed += await delete_old_changes(tx, now, _ROWS_AT_ONCE)
        return removed + await delete_visitor_attempts(tx, now - WINDOW)
