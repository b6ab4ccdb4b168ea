"""Raises the level of a session and rotates its token: a copy of the old cookie opens nothing.

It stays the same session for the merchant (sessionId), so that no event is raised again. The same
form, sent twice within ten seconds, gets another valid token with its proof. The old token alone
gets nothing, because somebody who lacks the proof may have it.
"""

from collections.abc import Sequence

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.landing.session.open_session import repeat_opening
from dunwell.interfaces.landing.session.session import Level, Session, render_value
from dunwell.interfaces.landing.session.store import save_raised
from dunwell.platform.crypto import sha256


async def raise_session(
    work: Work, session: Session, level: Level, *, randomness: bytes, proven: Sequence[bytes] = ()
) -> str | None:
    """Return the new cookie value, or None if the session has ended. If the same form has raised it
    just before, return another value. proven: digests of the address to which the code was sent."""
    work.require(Right.READ_CLAIMS)
    value = render_value(randomness)
    if await save_raised(
        work.tx, session, sha256(value.encode()), level=level, now=work.real_now,
        proven_digests=proven,
    ):  # fmt: skip
        await save_audit(work, "session.raise", f"claim:{session.claim_id}", level=level)
        return value
    return await repeat_raise(work, session.session_hash, level, randomness=randomness)


async def repeat_raise(
    work: Work, previous_hash: bytes, level: Level, *, randomness: bytes
) -> str | None:
    """Return another cookie value of the session that was raised from this token to `level`."""
    work.require(Right.READ_CLAIMS)
    repeated = await repeat_opening(work, previous_hash, randomness, level)
    return repeated.cookie_value if repeated else None
