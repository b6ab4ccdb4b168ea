"""The session that a sent code opens: the same form sent twice opens one, for one visitor.

The cookie's value is derived, with a key, from the code's notice and from who typed the code. So a
second click gets the cookie of the first, whose answer the browser may have thrown away; and to
whoever sends it from anywhere else, a code that was used is a wrong one.
"""

from datetime import datetime
from uuid import UUID

from dunwell.interfaces.landing.session.session import render_value
from dunwell.interfaces.landing.session.store import find_session
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.database.database import Connection

_PURPOSE = "landing-sent-session"


def derive_sent_randomness(keys: KeyRing, notice_id: UUID, visitor: bytes) -> bytes:
    """What the cookie is made of. `notice_id`: that took the code along, which opens one session.
    `visitor`: `digest_visitor`'s."""
    return keys.digest(_PURPOSE, notice_id.bytes + visitor)


async def find_sent_value(tx: Connection, randomness: bytes, real_now: datetime) -> str | None:
    """The cookie's value, if a session was opened with it and lasts."""
    value = render_value(randomness)
    session = await find_session(tx, sha256(value.encode()))
    return value if session is not None and session.is_live(real_now) else None
