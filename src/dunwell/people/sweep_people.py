"""Removes sessions long after their end, and what a sign-in under way leaves behind."""

from dunwell.kit.resources import Resources
from dunwell.people.session_rules import REMEMBERED
from dunwell.people.single_sign_on.store_identities import remove_left_behind
from dunwell.people.store_entries import remove_entries
from dunwell.people.store_factors import remove_challenges
from dunwell.people.store_sessions import remove_sessions

_ROWS_AT_ONCE = 5000


async def sweep_people(resources: Resources) -> int:
    """Rows removed; 0 when nothing was left."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        removed = await remove_sessions(tx, now - REMEMBERED, _ROWS_AT_ONCE)
        removed += await remove_entries(tx, now, _ROWS_AT_ONCE)
        removed += await remove_left_behind(tx, now, _ROWS_AT_ONCE)
        return removed + await remove_challenges(tx, now, _ROWS_AT_ONCE)
