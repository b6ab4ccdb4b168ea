"""Extends a session: a new one, with its own id and cookie, takes its place (CONTRACT 10)."""

from datetime import datetime
from uuid import UUID

from dunwell.landing.draft_store import move_drafts
from dunwell.landing.end_session import end_session
from dunwell.landing.open_session import Opening, open_session
from dunwell.landing.session import LASTS, Session
from dunwell.merchants.account import Work


async def extend_session(
    work: Work, session: Session, session_id: UUID, randomness: bytes, real_now: datetime
) -> str | None:
    """The new cookie's value; what was typed and not sent goes along. None: it has ended, or a
    form sent at the same time has extended it, and nothing is opened.
    """
    if not await end_session(work, session, real_now):
        return None
    opening = Opening(
        session.claim_id, session.communication_id, session.channel, session.level,
        session_id, randomness, real_now,
    )  # fmt: skip
    value = await open_session(work, opening)
    await move_drafts(work.tx, session, session_id, real_now + LASTS)
    return value
