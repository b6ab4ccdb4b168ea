"""Opens a claim by a link or a letter's code: once for clicks that come together, and so often.

Each opening is an event for the merchant, so that a form that is sent sixty times must not be sixty
of them. Counted for the visitor, and for the link over all visitors.
"""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.landing.session.lifecycle import (
    ClaimSessionOpening,
    OpenedClaimSession,
    open_session,
    reissue_token,
)
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked, compute_wait_seconds
from dunwell.interfaces.landing.sign_in.store import ClaimAccess
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.attempts import (
    LONGEST_LIMIT_PERIOD,
    Attempts,
    count_attempt,
    load_attempts,
)
from dunwell.platform.security_events import log_security_event

MAX_OPENINGS_PER_VISITOR = 10
MAX_OPENINGS_PER_LINK = 30
_PURPOSE = "landing-opening"


@dataclass(frozen=True, slots=True)
class ClaimEntry:
    """What opens a claim, and for whom. `visitor` comes from `digest_visitor`; `session_id` is the
    new session's. What was proven in `before` counts as proven in the new session."""

    access: ClaimAccess
    level: Level
    visitor: bytes
    session_id: UUID
    randomness: bytes
    before: Session | None = None


def is_opened_by(session: Session, access: ClaimAccess) -> bool:
    """Return whether the session was opened by this link."""
    return (
        session.merchant_id == access.merchant.merchant_id
        and session.claim_id == access.claim_id
        and session.communication_id == access.communication_id
        and session.channel == access.channel
    )


async def open_claim_once(
    work: Work, keys: KeyRing, entry: ClaimEntry
) -> OpenedClaimSession | Locked:
    """Open the claim. A form that is sent twice within ten seconds opens one session; see
    `reissue_token`."""
    work.require(Right.READ_CLAIMS)
    access, now = entry.access, work.real_now
    name = (
        f"{work.merchant_id} {access.claim_id} {access.communication_id} {access.channel} "
        f"{entry.level}"
    )
    link = keys.digest(_PURPOSE, name.encode())
    visitor = keys.digest(_PURPOSE, link + entry.visitor)
    links = _forget_old(work, await load_attempts(work.tx, link))
    known = _forget_old(work, await load_attempts(work.tx, visitor))
    repeated = await reissue_token(work, visitor, entry.randomness)
    if repeated is not None:
        return repeated
    for attempts, most in ((known, MAX_OPENINGS_PER_VISITOR), (links, MAX_OPENINGS_PER_LINK)):
        if attempts is not None and attempts.count >= most:
            log_security_event(
                "LINK_LOCKED", merchant_id=work.merchant_id, claim_id=access.claim_id
            )
            return Locked(compute_wait_seconds(attempts.first_at + LONGEST_LIMIT_PERIOD - now))
    await count_attempt(work.tx, link, links, now)
    await count_attempt(work.tx, visitor, known, now)
    opening = ClaimSessionOpening(
        claim_id=access.claim_id,
        communication_id=access.communication_id,
        channel=access.channel,
        level=entry.level,
        session_id=entry.session_id,
        randomness=entry.randomness,
        continues=entry.before,
        previous_hash=visitor,
    )
    return await open_session(work, keys, opening)


def _forget_old(work: Work, attempts: Attempts | None) -> Attempts | None:
    is_old = attempts is not None and attempts.first_at + LONGEST_LIMIT_PERIOD <= work.real_now
    return None if is_old else attempts
