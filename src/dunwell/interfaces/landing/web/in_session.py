"""Guards for handlers of pages about an opened claim, which run only in a live session.  Requests
whose address names no claim are redirected to the claim that the browser opened last.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import wraps
from string import punctuation
from typing import Any, Concatenate, ParamSpec, TypeAlias
from urllib.parse import quote

from starlette.responses import Response

from dunwell.accounts.merchants.configuration import PageFeature
from dunwell.interfaces.landing.render.addresses import insert_handle
from dunwell.interfaces.landing.session.details import NOTHING, Detail
from dunwell.interfaces.landing.session.session import Level, Session, sort_by_age
from dunwell.interfaces.landing.session.states import is_closed
from dunwell.interfaces.landing.session.store import OpenedClaim, list_sessions
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.responses import build_redirect
from dunwell.platform.errors import NotFound

PageHandler: TypeAlias = Callable[[DebtorSite, DebtorRequest], Awaitable[Response]]
# The handlers of pages, by the page's name and the HTTP method.
RoutedPages: TypeAlias = Mapping[str, Mapping[str, PageHandler]]
ClaimPageHandler: TypeAlias = Callable[
    [DebtorSite, DebtorRequest, OpenedClaim], Awaitable[Response]
]
ClaimFormHandler: TypeAlias = Callable[
    [DebtorSite, DebtorRequest, OpenedClaim, FormFields], Awaitable[Response]
]
# The form, or nothing.
_Brought = ParamSpec("_Brought")
_Handle: TypeAlias = Callable[
    Concatenate[DebtorSite, DebtorRequest, OpenedClaim, _Brought], Awaitable[Response]
]
# Where a reader goes on to who was asked for more, by its name in the address that asks: the page,
# and what it needs. No address from outside is one.
RETURN_PAGES: Mapping[str, tuple[str, Level]] = {
    "claim": ("claim", Level.FACT),
    "documents": ("documents", Level.FACT),
    "others": ("others", Level.CODE),
    "options": ("options", Level.FACT),
    "plan": ("plan", Level.FACT),
    "later": ("later", Level.FACT),
    "help": ("help", Level.FACT),
    "reach": ("preferences", Level.FACT),
    "dispute": ("reasons", Level.FACT),
    "preferences": ("preferences", Level.CODE),
}


def in_session(show: ClaimPageHandler) -> PageHandler:
    """Guard a page: without a live session, the reader is told why there is none."""
    return in_session_with(NOTHING)(show)


def in_session_with(
    detail: Detail[Any], *, also_withheld: bool = False
) -> Callable[[ClaimPageHandler], PageHandler]:
    """Guard a page that shows more than the claim; `detail` is loaded with it. With also_withheld,
    the page is shown although the claim is withheld (`cases.disputes.withheld`); all other pages
    redirect to the claim's own page, which explains it."""

    def guard(show: ClaimPageHandler) -> PageHandler:
        @wraps(show)
        async def run(site: DebtorSite, request: DebtorRequest) -> Response:
            opened = await site.find_opened(request, detail)
            if opened is None or not site.is_live(opened):
                return site.answer_session_ended(request, opened)
            if opened.facts.withheld and not also_withheld:
                return site.redirect(site.build_claim_context(request, opened), "claim")
            return await show(site, request, opened)

        return run

    return guard


def accepts_form(take: ClaimFormHandler) -> PageHandler:
    """Guard a form: one that belongs to another session is refused before anything is done."""
    return accepts_form_with(NOTHING)(take)


def accepts_form_with(
    detail: Detail[Any], *, also_withheld: bool = False
) -> Callable[[ClaimFormHandler], PageHandler]:
    """Guard a form that needs more than the claim. also_withheld: see `in_session_with`."""

    def guard(take: ClaimFormHandler) -> PageHandler:
        @wraps(take)
        async def run(site: DebtorSite, request: DebtorRequest) -> Response:
            form, opened = (
                await request.read_session_form(),
                await site.find_opened(request, detail),
            )
            if opened is None or not site.is_live(opened):
                return site.answer_session_ended(request, opened, form=form)
            site.check_token(opened.session, form)
            if opened.facts.withheld and not also_withheld:
                return site.redirect(site.build_claim_context(request, opened), "claim")
            return await take(site, request, opened, form)

        return run

    return guard


def requires_level(level: Level, name: str) -> Callable[[ClaimPageHandler], ClaimPageHandler]:
    """Guard a page that shows more than a link alone may show. Below the level, the reader is asked
    for the missing proof and then returns to the page of this name (`RETURN_PAGES`)."""
    _check_place(name)

    def guard(show: ClaimPageHandler) -> ClaimPageHandler:
        @wraps(show)
        async def run(site: DebtorSite, request: DebtorRequest, opened: OpenedClaim) -> Response:
            if opened.session.level.reaches(level):
                return await show(site, request, opened)
            return site.redirect_to_verification(request, opened, name)

        return run

    return guard


def _check_place(name: str) -> None:
    """Raises ImportError: otherwise the reader would end up on the claim's page."""
    if name not in RETURN_PAGES:
        raise ImportError(f"The guarded page {name} is missing from RETURN_PAGES.")


def form_requires_level(level: Level, name: str) -> Callable[[ClaimFormHandler], ClaimFormHandler]:
    """Guard a form that needs this level. Below it, nothing is done."""
    _check_place(name)

    def guard(take: ClaimFormHandler) -> ClaimFormHandler:
        @wraps(take)
        async def run(
            site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
        ) -> Response:
            if opened.session.level.reaches(level):
                return await take(site, request, opened, form)
            return site.redirect_to_verification(request, opened, name)

        return run

    return guard


def unless_closed(handle: _Handle[_Brought]) -> _Handle[_Brought]:
    """Guard a page that a closed claim does not have: it redirects to the claim, which says so."""

    @wraps(handle)
    async def run(
        site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, /,
        *args: _Brought.args, **named: _Brought.kwargs,
    ) -> Response:  # fmt: skip
        if is_closed(opened.facts):
            return site.redirect(site.build_claim_context(request, opened), "claim")
        return await handle(site, request, opened, *args, **named)

    return run


def check_feature(opened: OpenedClaim, feature: PageFeature) -> None:
    """Raises NotFound: the merchant does not offer this feature (CONTRACT 11), or the claim is
    closed."""
    offered = opened.merchant.configuration.landing_page.features
    if feature not in offered or is_closed(opened.facts):
        raise NotFound("This claim has no such page.")


def redirect_to_latest(show: PageHandler) -> PageHandler:
    """Redirect to the same page of the latest claim. `show` handles the request if none exists."""

    async def run(site: DebtorSite, request: DebtorRequest) -> Response:
        handle = await find_latest_handle(site, request)
        if handle is None:
            return await show(site, request)
        query = quote(request.scope["query_string"].decode("latin-1"), safe=punctuation)
        path = insert_handle(quote(request.scope["path"]), handle)
        return build_redirect(f"{path}?{query}" if query else path)

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
