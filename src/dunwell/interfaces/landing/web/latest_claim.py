"""Redirects from addresses that name no claim to the claim that this browser opened last."""

from string import punctuation
from urllib.parse import quote

from starlette.responses import Response

from dunwell.interfaces.landing.render.addresses import insert_handle
from dunwell.interfaces.landing.session.cookies import sort_by_age
from dunwell.interfaces.landing.session.session import Session
from dunwell.interfaces.landing.session.store import list_sessions
from dunwell.interfaces.landing.web.debtor_request import DebtorRequest
from dunwell.interfaces.landing.web.in_session import PageHandler
from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.web.responses import answer_redirect


def redirect_to_latest(show: PageHandler) -> PageHandler:
    """Redirect to the same page of the latest claim. `show` handles the request if none exists."""

    async def run(site: DebtorSite, request: DebtorRequest) -> Response:
        handle = await find_latest_handle(site, request)
        if handle is None:
            return await show(site, request)
        query = quote(request.scope["query_string"].decode("latin-1"), safe=punctuation)
        path = insert_handle(quote(request.scope["path"]), handle)
        return answer_redirect(f"{path}?{query}" if query else path)

    return run


async def find_latest_handle(site: DebtorSite, request: DebtorRequest) -> str | None:
    """Find the handle of the claim that this browser opened last. Live sessions come first."""
    sessions = await load_browser_sessions(site, request)
    known = [handle for handle in sort_by_age(sessions) if sessions[handle] is not None]
    live = [handle for handle in known if _is_live(site, sessions[handle])]
    return [*known, *live][-1] if known else None


async def load_browser_sessions(
    site: DebtorSite, request: DebtorRequest
) -> dict[str, Session | None]:
    """Load the sessions of the request's cookies, by handle. None marks an unknown session."""
    if not request.session_hashes:
        return {}
    async with site.resources.database.connection() as connection:
        return await list_sessions(connection, request.session_hashes)


def _is_live(site: DebtorSite, session: Session | None) -> bool:
    return session is not None and session.is_live(site.now())
