"""Lets a session show more, under a new cookie: a copy of the old one opens nothing any more.

It stays the same session for the merchant (sessionId), so nothing is told again.
"""

from datetime import datetime

from dunwell.kit.crypto import sha256
from dunwell.landing.session import Level, Session, render_value
from dunwell.landing.store import save_raised
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def raise_session(
    work: Work, session: Session, level: Level, randomness: bytes, real_now: datetime
) -> str | None:
    """The new cookie's value; none when the session has ended or was raised meanwhile."""
    value = render_value(randomness)
    new_hash = sha256(value.encode())
    if not await save_raised(work.tx, session, new_hash, level, real_now):
        return None
    await save_audit(work, "session.raise", f"claim:{session.claim_id}", level=level)
    return value
