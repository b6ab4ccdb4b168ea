"""Ends sessions of somebody who went at their provider (back-channel logout).

Each token ends something once. What it says is kept as long as a sign-in that was under way could
still end: a session that would begin after it does not.
"""

from datetime import timedelta
from hashlib import sha256

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.users.audit import save_people_audit
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.single_sign_on.let_in import hash_provider_session, hash_subject
from dunwell.accounts.users.single_sign_on.provider import ToldLogout
from dunwell.accounts.users.single_sign_on.store import (
    NewLogout,
    lock_issuer,
    save_logout,
    save_provider_end,
)

# Longer than any token of a logout, and any attempt, is good.
LOGOUT_KEPT = timedelta(hours=1)


async def process_logout(reception: SignInServices, provider: str, told: ToldLogout) -> bool:
    """False: this token was taken before."""
    session_hash = hash_provider_session(told.issuer, told.session)
    async with reception.work(SYSTEM) as work:
        await lock_issuer(work.tx, told.issuer)
        logout = NewLogout(
            issuer=told.issuer,
            token_hash=sha256(told.token_id.encode()).digest(),
            session_hash=session_hash,
            subject_hash=None if told.subject is None else hash_subject(told.subject),
            issued_at=told.issued_at,
            expires_at=work.now + LOGOUT_KEPT,
        )
        if not await save_logout(work.tx, logout):
            return False
        ended = await save_provider_end(
            work.tx, told.issuer, session_hash=session_hash, subject=told.subject, now=work.now
        )
        for user_id in sorted(set(ended)):
            after = {"provider": provider, "sessionsEnded": ended.count(user_id)}
            await save_people_audit(work, "session.end_by_provider", user_id, after=after)
    return True
