"""Gives somebody who is signed in a new password: all their sessions end, and this browser goes on
in a new one.
"""

from dunwell.accounts.users.audit import save_people_audit
from dunwell.accounts.users.open_session import OpenedBy, OpenedSession, open_session
from dunwell.accounts.users.own_account import Asking, TooLongAgo, check_own_password
from dunwell.accounts.users.password_rules import PasswordFault
from dunwell.accounts.users.reception import Reception
from dunwell.accounts.users.sessions import end_all_sessions
from dunwell.accounts.users.sign_in import TooOften, Wrong
from dunwell.accounts.users.signed_in import SignedIn
from dunwell.accounts.users.store import lock_user, save_password
from dunwell.accounts.users.store_entries import remove_entries_of


async def find_new_password_fault(
    reception: Reception, person: SignedIn, new: str
) -> PasswordFault | None:
    return await reception.passwords.find_fault(new, name=person.name, email=person.email)


async def change_password(
    reception: Reception, asking: Asking, new: str, randomness: bytes
) -> OpenedSession | Wrong | TooOften | TooLongAgo | PasswordFault:
    """randomness: SECRET_BYTES, for the new session."""
    person = asking.signed_in
    refusal = await check_own_password(reception, asking)
    if refusal is not None:
        return refusal
    fault = await find_new_password_fault(reception, person, new)
    if fault is not None:
        return fault
    password_hash = await reception.passwords.hash(new)
    async with reception.work(person.actor) as work:
        await lock_user(work.tx, person.user_id)
        await save_password(work.tx, person.user_id, password_hash, work.now)
        await remove_entries_of(work.tx, person.user_id)
        ended = await end_all_sessions(work.tx, person.user_id, work.now)
        after = {"sessionsEnded": ended}
        await save_people_audit(work, "password.change", person.user_id, after=after)
        return await open_session(
            work,
            person.user_id,
            by=OpenedBy.PASSWORD,
            visitor=asking.visitor,
            randomness=randomness,
        )
