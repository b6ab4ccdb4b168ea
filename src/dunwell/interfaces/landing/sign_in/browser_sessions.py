"""The sessions of one browser: opened by a link or a letter's code, found again and extended."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.lifecycle import (
    ClaimSessionOpening,
    OpenedClaimSession,
    extend_session,
    open_session,
    reissue_token,
)
from dunwell.interfaces.landing.session.session import (
    PREVIOUS_TOKEN_LIFETIME,
    Level,
    Session,
    SessionsByHandle,
    choose_cookie_slot,
    is_form_token,
)
from dunwell.interfaces.landing.session.store import OpenedClaim, load_opened_claim
from dunwell.interfaces.landing.sign_in.attempt_limits import Locked, compute_wait_seconds
from dunwell.interfaces.landing.sign_in.store import ClaimAccess
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.database.attempts import (
    MAX_LIMIT_PERIOD,
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
    """A request to open a claim. `visitor` comes from `digest_visitor`, and `session_id` is
    the id of the new session. What was proven in the session `previous` counts as proven in the new
    session."""

    access: ClaimAccess
    level: Level
    visitor: bytes
    session_id: UUID
    randomness: bytes
    previous: Session | None = None


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
    link_name = (
        f"{work.merchant_id} {access.claim_id} {access.communication_id} {access.channel} "
        f"{entry.level}"
    )
    link_key = keys.digest(_PURPOSE, link_name.encode())
    visitor_key = keys.digest(_PURPOSE, link_key + entry.visitor)
    link_attempts = _drop_expired(work, await load_attempts(work.tx, link_key))
    visitor_attempts = _drop_expired(work, await load_attempts(work.tx, visitor_key))
    repeated = await reissue_token(work, visitor_key, entry.randomness)
    if repeated is not None:
        return repeated
    for attempts, limit in (
        (visitor_attempts, MAX_OPENINGS_PER_VISITOR),
        (link_attempts, MAX_OPENINGS_PER_LINK),
    ):
        if attempts is not None and attempts.count >= limit:
            log_security_event(
                "LINK_LOCKED", merchant_id=work.merchant_id, claim_id=access.claim_id
            )
            return Locked(compute_wait_seconds(attempts.first_at + MAX_LIMIT_PERIOD - now))
    await count_attempt(work.tx, link_key, link_attempts, now)
    await count_attempt(work.tx, visitor_key, visitor_attempts, now)
    opening = ClaimSessionOpening(
        claim_id=access.claim_id,
        communication_id=access.communication_id,
        channel=access.channel,
        level=entry.level,
        session_id=entry.session_id,
        randomness=entry.randomness,
        continues=entry.previous,
        previous_hash=visitor_key,
    )
    return await open_session(work, keys, opening)


def _drop_expired(work: Work, attempts: Attempts | None) -> Attempts | None:
    is_old = attempts is not None and attempts.first_at + MAX_LIMIT_PERIOD <= work.real_now
    return None if is_old else attempts


def find_handle_of_link(
    site: DebtorSite, sessions: SessionsByHandle, access: ClaimAccess
) -> str | None:
    """Find the handle of a live session that this link or code has opened in this browser."""
    for handle, session in sessions.items():
        if session and session.is_live(site.now()) and is_opened_by(session, access):
            return handle
    return None


def find_handle_of_claim(
    site: DebtorSite, sessions: SessionsByHandle, merchant_id: int, claim_id: int, level: Level
) -> str | None:
    """Find the handle of a live session of the claim that reaches the level."""
    for handle, session in sessions.items():
        is_same_claim = session and (session.merchant_id, session.claim_id) == (
            merchant_id,
            claim_id,
        )
        if (
            session
            and is_same_claim
            and session.is_live(site.now())
            and session.level.reaches(level)
        ):
            return handle
    return None


def find_session_with_higher_level(
    site: DebtorSite, sessions: SessionsByHandle, merchant_id: int, claim_id: int, level: Level
) -> Session | None:
    """Find the live session of the claim with the highest level above `level`."""
    found = None
    for session in filter(None, sessions.values()):
        is_same_claim = (session.merchant_id, session.claim_id) == (merchant_id, claim_id)
        if is_same_claim and session.is_live(site.now()) and not level.reaches(session.level):
            found, level = session, session.level
    return found


def redirect_to_claim(site: DebtorSite, page: DebtorPageContext, handle: str) -> Response:
    return site.redirect(msgspec.structs.replace(page, handle=handle), "claim")


def redirect_with_session_cookie(
    site: DebtorSite,
    page: DebtorPageContext,
    sessions: SessionsByHandle,
    opened: OpenedClaimSession,
) -> Response:
    """Redirect to the claim's page and set the cookie of its new session. If too many claims are
    open, that page asks which to close (`interfaces.landing.claim_page.routes`)."""
    slot = choose_cookie_slot(sessions, opened.session, now=site.now())
    page = msgspec.structs.replace(page, handle=slot.handle)
    response = site.redirect(page, "claim", cookie=opened.cookie_value)
    for handle in slot.evicted_handles:
        site.set_cookie(response, handle, "")
    return response


async def extend_opened(site: DebtorSite, opened: OpenedClaim) -> str | None:
    """Return the cookie value of the extended session, or None if the session has ended
    meanwhile."""
    session_id = site.resources.ids.new(site.now())
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        return await extend_session(
            work, site.resources.keys, opened.session, session_id,
            randomness=site.draw_randomness(),
        )  # fmt: skip


async def renew_previous_token(
    site: DebtorSite, opened: OpenedClaim, previous_hash: bytes
) -> str | None:
    """Return another cookie value of an extended session, for a form that was sent with the
    previous cookie."""
    async with site.resources.database.transaction() as tx:
        work = site.build_work(tx, opened.merchant, opened.session.session_id)
        repeated = await reissue_token(work, previous_hash, site.draw_randomness())
    return repeated.cookie_value if repeated else None


async def find_claim_opened_by(site: DebtorSite, cookie_value: str) -> OpenedClaim | None:
    """Find the claim that the cookie of a new session opens."""
    async with site.resources.database.connection() as connection:
        return await load_opened_claim(connection, sha256(cookie_value.encode()))


def is_extended_by_form(site: DebtorSite, opened: OpenedClaim, form: Mapping[str, str]) -> bool:
    """Return whether this form created the session, by extending the previous one, within the last
    ten seconds (a double click). After that, the same form is a new request to extend."""
    session, token = opened.session, form.get("token", "")
    is_its_form = session.previous_hash is not None and is_form_token(
        site.resources.keys, session.previous_hash, token
    )
    return is_its_form and site.now() < session.opened_at + PREVIOUS_TOKEN_LIFETIME
