"""The sessions that one browser holds: found again, extended, and kept in cookies (CONTRACT 17)."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.cookies import SessionsByHandle, choose_cookie_slot
from dunwell.interfaces.landing.session.lifecycle import (
    OpenedClaimSession,
    extend_session,
    reissue_token,
)
from dunwell.interfaces.landing.session.session import (
    PREVIOUS_TOKEN_LIFETIME,
    Level,
    Session,
    is_form_token,
)
from dunwell.interfaces.landing.session.store import OpenedClaim, load_opened_claim
from dunwell.interfaces.landing.sign_in.claim_openings import is_opened_by
from dunwell.interfaces.landing.sign_in.store import ClaimAccess
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.platform.crypto import sha256


def find_session_of_link(
    site: DebtorSite, sessions: SessionsByHandle, access: ClaimAccess
) -> str | None:
    """Find the handle of a live session that this link or code has opened in this browser."""
    for handle, session in sessions.items():
        if session and session.is_live(site.now()) and is_opened_by(session, access):
            return handle
    return None


def find_session_of_claim(
    site: DebtorSite, sessions: SessionsByHandle, merchant_id: int, claim_id: int, level: Level
) -> str | None:
    """Find the handle of a live session of the claim that reaches the level."""
    for handle, session in sessions.items():
        is_its = session and (session.merchant_id, session.claim_id) == (merchant_id, claim_id)
        if session and is_its and session.is_live(site.now()) and session.level.reaches(level):
            return handle
    return None


def find_session_with_higher_level(
    site: DebtorSite, sessions: SessionsByHandle, merchant_id: int, claim_id: int, level: Level
) -> Session | None:
    """Find the live session of the claim with the highest level above `level`. A session that
    replaces it keeps that level."""
    found = None
    for session in filter(None, sessions.values()):
        is_its = (session.merchant_id, session.claim_id) == (merchant_id, claim_id)
        if is_its and session.is_live(site.now()) and not level.reaches(session.level):
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
    """Return the cookie value of the extended session, or None if it has ended meanwhile."""
    session_id = site.resources.ids.new(site.now())
    async with site.resources.database.transaction() as tx:
        work = site.work(tx, opened.merchant, opened.session.session_id)
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
        work = site.work(tx, opened.merchant, opened.session.session_id)
        repeated = await reissue_token(work, previous_hash, site.draw_randomness())
    return repeated.cookie_value if repeated else None


async def find_opened_by(site: DebtorSite, value: str) -> OpenedClaim | None:
    """Find what a new session's cookie opens."""
    async with site.resources.database.connection() as connection:
        return await load_opened_claim(connection, sha256(value.encode()))


def is_extended_by_form(site: DebtorSite, opened: OpenedClaim, form: Mapping[str, str]) -> bool:
    """Return whether this form opened the session within the last ten seconds (a double click).
    After that, the same form is a new request to extend."""
    session, token = opened.session, form.get("token", "")
    is_its_form = session.previous_hash is not None and is_form_token(
        site.resources.keys, session.previous_hash, token
    )
    return is_its_form and site.now() < session.opened_at + PREVIOUS_TOKEN_LIFETIME
