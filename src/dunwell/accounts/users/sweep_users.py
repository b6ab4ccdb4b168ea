"""Delete expired rows about users: sessions, pending sign-ins, attempts and logouts of single
sign-on, saved forms, wrong codes and passkey challenges."""

from dunwell.accounts.users.factors.store import delete_expired_challenges, delete_wrong_codes
from dunwell.accounts.users.sessions.session_rules import REMEMBERED
from dunwell.accounts.users.sessions.store import delete_expired_forms, delete_expired_sessions
from dunwell.accounts.users.sign_in.limits import COUNTED_FOR
from dunwell.accounts.users.sign_in.store import delete_expired_sign_ins
from dunwell.accounts.users.single_sign_on.store import delete_expired_sign_on_rows
from dunwell.platform.resources import Resources

_ROWS_AT_ONCE = 5000


async def sweep_user_rows(resources: Resources) -> int:
    """Delete at most `_ROWS_AT_ONCE` expired rows of each table, and return how many rows were
    deleted; 0 if none were left."""
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        removed = await delete_expired_sessions(tx, now - REMEMBERED, _ROWS_AT_ONCE)
        removed += await delete_expired_sign_ins(tx, now, _ROWS_AT_ONCE)
        removed += await delete_expired_forms(tx, now, _ROWS_AT_ONCE)
        removed += await delete_wrong_codes(tx, now - COUNTED_FOR, _ROWS_AT_ONCE)
        removed += await delete_expired_sign_on_rows(tx, now, _ROWS_AT_ONCE)
        return removed + await delete_expired_challenges(tx, now, _ROWS_AT_ONCE)
