"""Addresses that name no claim lead on to the one that this browser has opened last."""

from string import punctuation
from urllib.parse import quote

from starlette.responses import Response

from dunwell.interfaces.landing.render.addresses import place
from dunwell.interfaces.landing.session.cookies import sort_by_age
from dunwell.interfaces.landing.session.session import Session
from dunwell.interfaces.landing.session.store import find_sessions
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import Run
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.responses import answer_redirect


def redirect_to_latest(show: Run) -> Run:
    """show: the page, which says that nothing was opened where that is so."""

    async def run(site: DebtorSite, visit: DebtorRequest) -> Response:
        handle = await find_last_handle(site, visit)
        if handle is None:
            return await show(site, visit)
        query = quote(visit.scope["query_string"].decode("latin-1"), safe=punctuation)
        path = place(quote(visit.scope["path"]), handle)
        return answer_redirect(f"{path}?{query}" if query else path)

    return run


async def find_last_handle(site: DebtorSite, visit: DebtorRequest) -> str | None:
    """The handle of the claim that this browser has opened last, a live one before others."""
    held = await find_held(site, visit)
    known = [handle for handle in sort_by_age(held) if held[handle] is not None]
    live = [handle for handle in known if _is_live(site, held[handle])]
    return [*known, *live][-1] if known else None


async def find_held(site: DebtorSite, visit: DebtorRequest) -> dict[str, Session | None]:
    """By handle, the sessions that the visitor's cookies name; none: nothing is known any more."""
    if not visit.session_hashes:
        return {}
    async with site.resources.database.connection() as connection:
        return await find_sessions(connection, visit.session_hashes)


def _is_live(site: DebtorSite, session: Session | None) -> bool:
    return session is not None and session.is_live(site.now())
