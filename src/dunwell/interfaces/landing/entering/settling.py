"""Where a claim that was opened goes on living in the visitor's browser (CONTRACT 17)."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from dunwell.interfaces.landing.entering.openings import is_opened_by
from dunwell.interfaces.landing.entering.store_ways import WayIn
from dunwell.interfaces.landing.render.pages import DebtorPageContext
from dunwell.interfaces.landing.session.cookies import choose_place
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.platform.crypto import sha256

# By handle (`find_held`).
Held = Mapping[str, Session | None]


def find_back(site: DebtorSite, held: Held, way: WayIn) -> str | None:
    """The handle of a live session that this very way has opened in this browser."""
    for handle, session in held.items():
        if session and session.is_live(site.now()) and is_opened_by(session, way):
            return handle
    return None


def find_live(
    site: DebtorSite, held: Held, merchant_id: int, claim_id: int, level: Level
) -> str | None:
    """The handle of a session of the claim that lasts in this browser, with so much proven."""
    for handle, session in held.items():
        is_its = session and (session.merchant_id, session.claim_id) == (merchant_id, claim_id)
        if session and is_its and session.is_live(site.now()) and session.level.reaches(level):
            return handle
    return None


def find_before(
    site: DebtorSite, held: Held, merchant_id: int, claim_id: int, level: Level
) -> Session | None:
    """The session of the claim that lasts in this browser, if more was proven in it than `level`:
    one that takes its place keeps that."""
    found = None
    for session in filter(None, held.values()):
        is_its = (session.merchant_id, session.claim_id) == (merchant_id, claim_id)
        if is_its and session.is_live(site.now()) and not level.reaches(session.level):
            found, level = session, session.level
    return found


def lead_back(site: DebtorSite, frame: DebtorPageContext, handle: str) -> Response:
    return site.redirect(msgspec.structs.replace(frame, handle=handle), "claim")


def settle(
    site: DebtorSite,
    frame: DebtorPageContext,
    held: Held,
    merchant_id: int,
    claim_id: int,
    value: str,
) -> Response:
    """To the claim that was opened, under its handle, whose cookie is `value`. Its page asks first
    if too many are open (`landing.claim.routes_room`)."""
    place = choose_place(held, merchant_id, claim_id, sha256(value.encode()), now=site.now())
    frame = msgspec.structs.replace(frame, handle=place.handle)
    answer = site.redirect(frame, "claim", cookie=value)
    for handle in place.dropped:
        site.set_cookie(answer, handle, "")
    return answer
