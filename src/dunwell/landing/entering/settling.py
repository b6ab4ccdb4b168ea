"""Where a claim that was opened goes on living in the visitor's browser (CONTRACT 17)."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from dunwell.kit.crypto import sha256
from dunwell.landing.entering.openings import is_opened_by
from dunwell.landing.entering.store_ways import WayIn
from dunwell.landing.render.pages import Frame
from dunwell.landing.session.cookies import choose_place
from dunwell.landing.session.session import Level, Session
from dunwell.landing.web.site import Site

# By handle (`find_held`).
Held = Mapping[str, Session | None]


def find_back(site: Site, held: Held, way: WayIn) -> str | None:
    """The handle of a live session that this very way has opened in this browser."""
    for handle, session in held.items():
        if session and session.is_live(site.now()) and is_opened_by(session, way):
            return handle
    return None


def keep_level(site: Site, held: Held, way: WayIn, level: Level) -> Level:
    """The highest that the visitor has proven for the claim in a session that lasts."""
    whose = (way.merchant.merchant_id, way.claim_id)
    for session in filter(None, held.values()):
        is_its = (session.merchant_id, session.claim_id) == whose
        if is_its and session.is_live(site.now()) and session.level.reaches(level):
            level = session.level
    return level


def lead_back(site: Site, frame: Frame, handle: str) -> Response:
    return site.redirect(msgspec.structs.replace(frame, handle=handle), "claim")


def settle(site: Site, frame: Frame, held: Held, way: WayIn, value: str) -> Response:
    """To the claim that `way` has opened, under its handle, whose cookie is `value`."""
    place = choose_place(held, way.merchant.merchant_id, way.claim_id, sha256(value.encode()))
    frame = msgspec.structs.replace(frame, handle=place.handle)
    answer = site.redirect(frame, "claim", cookie=value)
    for handle in place.dropped:
        site.set_cookie(answer, handle, "")
    return answer
