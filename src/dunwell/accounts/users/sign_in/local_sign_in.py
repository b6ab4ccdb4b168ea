"""Sign-in without single sign-on. If the installation file requires single sign-on, only admins
with emergency access can use it. They need it when the identity provider is unavailable, and
each use is reported."""

from uuid import UUID

from dunwell.accounts.installation.alerts.alert import AlertKind
from dunwell.accounts.installation.alerts.store import raise_alert
from dunwell.accounts.installation.store import load_installation
from dunwell.accounts.users.user import User
from dunwell.accounts.users.user_work import UserWork, save_user_audit
from dunwell.platform.database.database import Connection
from dunwell.platform.security_events import log_security_event


async def is_single_sign_on_required(tx: Connection) -> bool:
    sign_in = (await load_installation(tx)).installation.sign_in
    return sign_in is not None and sign_in.required


async def may_sign_in_locally(tx: Connection, user: User) -> bool:
    """Return whether the user may sign in with a password, a passkey or an invitation link."""
    if user.provider is not None:
        return False
    return user.is_break_glass or not await is_single_sign_on_required(tx)


async def report_break_glass(work: UserWork, user: User, session_id: UUID, by: str) -> None:
    """Record that an admin with emergency access has signed in: an audit entry, an alert and a log
    event."""
    await save_user_audit(work, "break_glass.use", user.user_id, after={"by": by})
    await raise_alert(
        work.tx, AlertKind.BREAK_GLASS, subject=str(session_id), now=work.now, ids=work.ids
    )
    log_security_event("BREAK_GLASS_USED")
