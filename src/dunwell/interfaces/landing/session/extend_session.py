"""Ends a session, or extends it: a new session with its own id and token replaces it (CONTRACT 10).

The previous token stays valid for ten seconds, so that a double click or a second tab does not lose
the session. After that, the cookie of an ended session opens nothing, whoever has a copy of it.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.landing.session.open_session import (
    ClaimSessionOpening,
    open_session,
    repeat_opening,
)
from dunwell.interfaces.landing.session.session import LASTS, REMEMBERED, Session
from dunwell.interfaces.landing.session.store import move_drafts, save_end
from dunwell.platform.crypto import KeyRing


async def end_session(work: Work, session: Session) -> bool:
    """Return False, and do nothing, if the session has ended already."""
    work.require(Right.READ_CLAIMS)
    if not await save_end(work.tx, work.merchant_id, session.session_id, work.real_now):
        return False
    await save_audit(work, "session.end", f"claim:{session.claim_id}")
    return True


async def extend_session(
    work: Work, keys: KeyRing, session: Session, session_id: UUID, *, randomness: bytes
) -> str | None:
    """Return the cookie value of the new session, which takes over the drafts. If the same form has
    extended the session just before, return another value of that one. None: it has ended."""
    work.require(Right.READ_CLAIMS)
    if not await end_session(work, session):
        repeated = await repeat_opening(work, session.session_hash, randomness)
        return repeated.cookie_value if repeated else None
    opening = ClaimSessionOpening(
        claim_id=session.claim_id,
        communication_id=session.communication_id,
        channel=session.channel,
        level=session.level,
        session_id=session_id,
        randomness=randomness,
        goes_on_from=session,
        previous_hash=session.session_hash,
    )
    opened = await open_session(work, keys, opening)
    await move_drafts(work.tx, session, session_id, work.real_now + LASTS + REMEMBERED)
    return opened.cookie_value
