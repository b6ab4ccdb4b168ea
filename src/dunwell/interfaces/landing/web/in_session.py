"""Guards for handlers of pages about an opened claim, which run only in a live session. Requests
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
from dunwell.interfaces.landing.session.session import Level, Session, sort_by_expiry
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
# The further parameters of a handler: a form, or none.
_Arguments = ParamSpec("_Arguments")
_Handle: TypeAlias = Callable[
    Concatenate[DebtorSite, DebtorRequest, OpenedClaim, _Arguments], Awaitable[Response]
]
# The pages that a debtor returns to after a verification, by the name in the address of the
# verification page: the page and the level that it needs. Only these pages can be returned to, so
# that the address cannot redirect to another site.
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


def in_session(handle_page: ClaimPageHandler) -> PageHandler:
    """Guard a page. Without a live session, a page is shown that says why there is none."""
    return in_session_with(NOTHING)(handle_page)


def in_session_with(
    detail: Detail[Any], *, also_withheld: bool = False
) -> Callable[[ClaimPageHandler], PageHandler]:
    """Guard a page that shows more than the claim; `detail` is loaded with it. With
    `also_withheld`, the page is shown although the claim is withheld
    (`cases.disputes.wrong_person`); all other pages redirect to the claim's own page, which says
    why the claim is withheld."""

    def guard(handle_page: ClaimPageHandler) -> PageHandler:
        @wraps(handle_page)
        async def guarded(site: DebtorSite, request: DebtorRequest) -> Response:
            opened = await site.find_opened(request, detail)
            if opened is None or not site.is_live(opened):
                return site.answer_session_ended(request, opened)
            if opened.facts.withheld and not also_withheld:
                return site.redirect(site.build_claim_context(request, opened), "claim")
            return await handle_page(site, request, opened)

        return guarded

    return guard


def accepts_form(handle_form: ClaimFormHandler) -> PageHandler:
    """Guard a form: one that belongs to another session is refused before anything is done."""
    return accepts_form_with(NOTHING)(handle_form)


def accepts_form_with(
    detail: Detail[Any], *, also_withheld: bool = False
) -> Callable[[ClaimFormHandler], PageHandler]:
    """Guard a form that needs more than the claim. For the parameters see `in_session_with`."""

    def guard(handle_form: ClaimFormHandler) -> PageHandler:
        @wraps(handle_form)
        async def guarded(site: DebtorSite, request: DebtorRequest) -> Response:
            form, opened = (
                await request.read_session_form(),
                await site.find_opened(request, detail),
            )
            if opened is None or not site.is_live(opened):
                return site.answer_session_ended(request, opened, form=form)
            site.check_token(opened.session, form)
            if opened.facts.withheld and not also_withheld:
                return site.redirect(site.build_claim_context(request, opened), "claim")
            return await handle_form(site, request, opened, form)

        return guarded

    return guard


def requires_level(level: Level, name: str) -> Callable[[ClaimPageHandler], ClaimPageHandler]:
    """Guard a page that shows more than a link alone may show. Below the level, the reader is asked
    for the missing proof and then returns to the page of this name (`RETURN_PAGES`)."""
    _check_return_page(name)

    def guard(handle_page: ClaimPageHandler) -> ClaimPageHandler:
        @wraps(handle_page)
        async def guarded(
            site: DebtorSite, request: DebtorRequest, opened: OpenedClaim
        ) -> Response:
            if opened.session.level.reaches(level):
                return await handle_page(site, request, opened)
            return site.redirect_to_verification(request, opened, name)

        return guarded

    return guard


def _check_return_page(name: str) -> None:
    """Check that the name is one of RETURN_PAGES. Raises ImportError, because without
    an entry the debtor would return to the claim's page."""
    if name not in RETURN_PAGES:
        raise ImportError(f"The guarded page {name} is missing from RETURN_PAGES.")


def form_requires_level(level: Level, name: str) -> Callable[[ClaimFormHandler], ClaimFormHandler]:
    """Guard a form that needs this level. Below it, nothing is done."""
    _check_return_page(name)

    def guard(handle_form: ClaimFormHandler) -> ClaimFormHandler:
        @wraps(handle_form)
        async def guarded(
            site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, form: FormFields
        ) -> Response:
            if opened.session.level.reaches(level):
                return await handle_form(site, request, opened, form)
            return site.redirect_to_verification(request, opened, name)

        return guarded

    return guard


def unless_closed(handle: _Handle[_Arguments]) -> _Handle[_Arguments]:
    """Guard a page that a closed claim does not have. Requests are redirected to the claim's page,
    which says that the claim is closed."""

    @wraps(handle)
    async def guarded(
        site: DebtorSite, request: DebtorRequest, opened: OpenedClaim, /,
        *args: _Arguments.args, **named: _Arguments.kwargs,
    ) -> Response:  # fmt: skip
        if is_closed(opened.facts):
            return site.redirect(site.build_claim_context(request, opened), "claim")
        return await handle(site, request, opened, *args, **named)

    return guarded


def check_feature(opened: OpenedClaim, feature: PageFeature) -> None:
    """Check that the merchant offers this feature (CONTRACT 11) and the claim is not closed. Raises
    NotFound otherwise."""
    offered = opened.merchant.configuration.landing_page.features
    if feature not in offered or is_closed(opened.facts):
        raise NotFound("This claim has no such page.")


def redirect_to_latest(handle_page: PageHandler) -> PageHandler:
    """Redirect to the same page of the latest claim. `handle_page` handles the request if none
    exists.
    """

    async def guarded(site: DebtorSite, request: DebtorRequest) -> Response:
        handle = await find_latest_handle(site, request)
        if handle is None:
            return await handle_page(site, request)
        query = quote(request.scope["query_string"].decode("latin-1"), safe=punctuation)
        path = insert_handle(quote(request.scope["path"]), handle)
        return build_redirect(f"{path}?{query}" if query else path)

    return guarded


async def find_latest_handle(site: DebtorSite, request: DebtorRequest) -> str | None:
    """Find the handle of the claim whose session expires last. A live session takes precedence over
    an ended one."""
    sessions = await load_browser_sessions(site, request)
    known = [handle for handle in sort_by_expiry(sessions) if sessions[handle] is not None]
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
