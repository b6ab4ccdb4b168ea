"""Ends a session, or extends it: a new one, with its own id and cookie, takes its place
(CONTRACT 10). The cookie of one that has ended opens nothing any more, wherever a copy of it is.

The new cookie's value is derived, with a key, from the token of the form that asks for it: the same
form sent twice gets the same one, whichever answer the browser keeps, and nobody can make it of
what they know.
"""

from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.landing.session.open_session import Opening, open_session
from dunwell.interfaces.landing.session.session import (
    LASTS,
    REMEMBERED,
    Session,
    list_form_tokens,
    render_value,
)
from dunwell.interfaces.landing.session.store import find_session, save_end
from dunwell.interfaces.landing.session.store_drafts import move_drafts
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.database.database import Connection

# A second click, or a form sent anew as its answer was lost on the way.
REPEATED_WITHIN = timedelta(minutes=5)
_PURPOSE = "landing-extended-session"


async def end_session(work: Work, session: Session) -> bool:
    """False, and nothing is done: it has ended already."""
    work.need(Right.READ_CLAIMS)
    if not await save_end(work.tx, work.merchant_id, session.session_hash, work.real_now):
        return False
    await save_audit(work, "session.end", f"claim:{session.claim_id}")
    return True


async def extend_session(
    work: Work, keys: KeyRing, session: Session, session_id: UUID
) -> str | None:
    """The new cookie's value; what was typed and not sent goes along. A form sent at the same time
    may have extended it: then nothing is done, and the value is that form's. None: it has ended.
    """
    work.need(Right.READ_CLAIMS)
    if not await end_session(work, session):
        return await find_extended_value(work.tx, keys, session.session_hash, work.real_now)
    opening = Opening(
        claim_id=session.claim_id,
        communication_id=session.communication_id,
        channel=session.channel,
        level=session.level,
        session_id=session_id,
        randomness=_list_randomness(keys, session.session_hash)[0],
        goes_on_from=session,
    )
    value = await open_session(work, keys, opening)
    await move_drafts(work.tx, session, session_id, work.real_now + LASTS + REMEMBERED)
    return value


async def find_extended_value(
    tx: Connection, keys: KeyRing, session_hash: bytes, real_now: datetime
) -> str | None:
    """The new cookie's value of a session of this hash that was extended a moment ago; none when
    the new one has ended meanwhile too."""
    for value in map(render_value, _list_randomness(keys, session_hash)):
        extended = await find_session(tx, sha256(value.encode()))
        if extended is not None and extended.is_live(real_now):
            return value if real_now < extended.opened_at + REPEATED_WITHIN else None
    return None


def is_extended_by(keys: KeyRing, session: Session, form_token: str) -> bool:
    """Whether it was a form with this token that opened the session."""
    values = map(render_value, keys.digests(_PURPOSE, form_token.encode()))
    return any(sha256(value.encode()) == session.session_hash for value in values)


def _list_randomness(keys: KeyRing, session_hash: bytes) -> list[bytes]:
    """What the new cookie is made of, under each version of the secret key, the one in use
    first."""
    tokens = zip(keys.versions, list_form_tokens(keys, session_hash), strict=True)
    return [keys.digest(_PURPOSE, token.encode(), version) for version, token in tokens]
