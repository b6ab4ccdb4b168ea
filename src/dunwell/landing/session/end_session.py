"""Ends a session: its cookie opens nothing any more, wherever a copy of it is."""

from dunwell.landing.session.session import Session
from dunwell.landing.session.store import save_end
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def end_session(work: Work, session: Session) -> bool:
    """False, and nothing is done: it has ended already."""
    if not await save_end(work.tx, work.merchant_id, session.session_hash, work.real_now):
        return False
    await save_audit(work, "session.end", f"claim:{session.claim_id}")
    return True
