"""Lets a session show more, under a new cookie: a copy of the old one opens nothing any more.

It stays the same session for the merchant (sessionId), so nothing is told again. The new cookie's
value is derived from the old one, with a key: the same form sent twice gets the same one, whichever
answer the browser keeps, and nobody can make it of a cookie they know.
"""

from collections.abc import Sequence
from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.landing.session.session import Level, Session, render_value
from dunwell.interfaces.landing.session.store import find_session, save_raised
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.database.database import Connection

_PURPOSE = "landing-raised-session"


def derive_raised_value(keys: KeyRing, session_hash: bytes) -> str:
    """The cookie's value of a session that went under this hash before it was raised."""
    return _list_raised_values(keys, session_hash)[0]


async def raise_session(
    work: Work, keys: KeyRing, session: Session, level: Level, proven: Sequence[bytes] = ()
) -> str | None:
    """The new cookie's value; none when the session has ended. A form sent at the same time may
    have raised it: then nothing is done, and the value is that form's. `proven`: digests of the
    address that the code went to which raises it."""
    work.need(Right.READ_CLAIMS)
    value = derive_raised_value(keys, session.session_hash)
    if await save_raised(
        work.tx, session, sha256(value.encode()), level=level, now=work.real_now,
        proven_digests=proven,
    ):  # fmt: skip
        await save_audit(work, "session.raise", f"claim:{session.claim_id}", level=level)
        return value
    return await find_raised_value(
        work.tx, keys, session.session_hash, level=level, real_now=work.real_now
    )


async def find_raised_value(
    tx: Connection, keys: KeyRing, session_hash: bytes, level: Level, real_now: datetime
) -> str | None:
    """The new cookie's value of a session that was raised to `level` from this hash, and lasts."""
    for value in _list_raised_values(keys, session_hash):
        raised = await find_session(tx, sha256(value.encode()))
        if raised is not None and raised.is_live(real_now) and raised.level.reaches(level):
            return value
    return None


def _list_raised_values(keys: KeyRing, session_hash: bytes) -> list[str]:
    """Under each version of the secret key, the one in use first."""
    return [render_value(digest) for digest in keys.digests(_PURPOSE, session_hash)]
