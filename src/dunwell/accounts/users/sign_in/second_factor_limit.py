"""Limits how often someone who knows a password can guess the second factor.

Wrong codes that follow a right password are counted in the database, over all sessions, visitors
and processes, for 24 hours. After ten, codes are accepted only in a browser in which the user has
signed in during the last 30 days; passkeys keep working. The lock has no end of its own, because
whoever guesses still knows the password: a new password lifts it, or a reset by an admin or at the
server. A known browser has ten wrong codes of its own, so that a stolen cookie is no way around the
limit either.

Callers hold the lock of the user's row, so that parallel guesses are checked one after the other.
"""

from datetime import timedelta

from dunwell.accounts.installation.alerts.alert import AlertKind
from dunwell.accounts.installation.alerts.store import raise_alarm
from dunwell.accounts.users.audit import save_people_audit
from dunwell.accounts.users.factors.store import (
    count_wrong_codes,
    save_second_factor_lock,
    save_wrong_code,
)
from dunwell.accounts.users.user import User
from dunwell.accounts.users.user_mails import UserMail, mail_user
from dunwell.accounts.users.user_work import UserWork
from dunwell.platform.security_events import log_security_event

# Ten guesses at a million codes, of which three are valid at a time, succeed once in 33,000 times.
MAX_WRONG_CODES = 10
COUNTED_FOR = timedelta(hours=24)


async def is_code_accepted(work: UserWork, user: User, browser: bytes | None) -> bool:
    """Return whether a code may be compared. browser: the known browser's hash, if it is one."""
    if user.second_factor_locked_at is None:
        return True
    if browser is None:
        return False
    since = work.now - COUNTED_FOR
    return await count_wrong_codes(work.tx, user.user_id, since, browser) < MAX_WRONG_CODES


async def record_wrong_code(work: UserWork, user: User, browser: bytes | None) -> None:
    """Count one, and lock the user's second factor if it is the tenth within 24 hours."""
    await save_wrong_code(
        work.tx, work.ids.new(work.now), user.user_id, now=work.now, device_hash=browser
    )
    count = await count_wrong_codes(work.tx, user.user_id, work.now - COUNTED_FOR)
    if count < MAX_WRONG_CODES or not await save_second_factor_lock(
        work.tx, user.user_id, work.now
    ):
        return
    await save_people_audit(work, "second_factor.lock", user.user_id, after={"wrongCodes": count})
    occasion = str(work.ids.new(work.now))
    await raise_alarm(
        work.tx, AlertKind.SECOND_FACTOR_LOCKED, subject=occasion, now=work.now, ids=work.ids
    )
    await mail_user(work, user, UserMail.SECOND_FACTOR_LOCKED)
    log_security_event("PORTAL_SECOND_FACTOR_LOCKED")
