"""The debtor's pages as an ASGI application: its routes and services.

Every address answers every method with a page. An unsupported method gets an error page with links,
in the session's language and with its creditor.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import Headers
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import Receive, Scope, Send

from dunwell.accounts.installation.installation_file import FindOperator, find_no_operator
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.landing.claim_page import routes as claim_page
from dunwell.interfaces.landing.contact_preferences import routes as contact_preferences
from dunwell.interfaces.landing.contact_preferences import routes_addresses
from dunwell.interfaces.landing.disputes import routes as disputes
from dunwell.interfaces.landing.disputes import routes_evidence
from dunwell.interfaces.landing.notifications.writer import NoticeWriter
from dunwell.interfaces.landing.payment import routes as payment
from dunwell.interfaces.landing.payment import routes_receipts, routes_transfer
from dunwell.interfaces.landing.payment_plans import routes as payment_plans
from dunwell.interfaces.landing.payment_plans import routes_mandate, routes_modality
from dunwell.interfaces.landing.render.addresses import (
    IN_CLAIM,
    PATHS,
    normalize_case,
    strip_handle,
)
from dunwell.interfaces.landing.render.pages import DebtorPages
from dunwell.interfaces.landing.session.session import HANDLE
from dunwell.interfaces.landing.sign_in import routes as sign_in
from dunwell.interfaces.landing.sign_in import routes_authenticity, routes_verify
from dunwell.interfaces.landing.web import assets
from dunwell.interfaces.landing.web.in_session import PageHandler, redirect_to_latest
from dunwell.interfaces.landing.web.problems import answer_failure
from dunwell.interfaces.landing.web.site import DebtorRequest, DebtorSite
from dunwell.interfaces.web.application import PageApplication, ScopeRoute
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages

_PAGE_MODULES = (
    claim_page, sign_in, routes_authenticity, routes_verify, payment, routes_transfer,
    routes_receipts, payment_plans, routes_modality, routes_mandate, disputes, routes_evidence,
    contact_preferences, routes_addresses, assets,
)  # fmt: skip
_PAGES = {page: handlers for each in _PAGE_MODULES for page, handlers in each.PAGES.items()}
if _PAGES.keys() != PATHS.keys():
    raise ImportError(
        "A page needs an address in render/addresses.py and a handler in PAGES; one is missing for"
        f" {_PAGES.keys() ^ PATHS.keys()}"
    )
# The handlers by path and method.
ROUTES: Mapping[str, Mapping[str, PageHandler]] = {
    path: _PAGES[page] for page, path in (*PATHS.items(), *IN_CLAIM.items())
}
# The paths of a claim's pages without the handle, which messages and bookmarks use. They redirect
# to the latest claim.
LATEST_CLAIM_ROUTES: Mapping[str, PageHandler] = {
    strip_handle(path): redirect_to_latest(_PAGES[page]["GET"])
    for page, path in PATHS.items()
    if strip_handle(path) != path
}
# The path of the claim's page, which all other paths of a claim begin with.
_CLAIM_PAGE_PATH = PATHS["claim"]
_CLAIM_PATH = re.compile(_CLAIM_PAGE_PATH.replace("{handle}", HANDLE) + "(|/.*)", re.ASCII)
# The key of the request's scope that holds the matching route.
_ROUTE_KEY = "dunwell.route"
# The first path segments of the debtor's pages. All paths below them belong to these pages,
# including unknown ones.
_ROOTS = frozenset(path.split("/")[1] for path in PATHS.values())


def build_landing_routes(  # noqa: PLR0913, PLR0917 - what a process opens once
    resources: Resources,
    providers: PaymentProviders,
    hand_off_origins: Mapping[str, str] | None = None,
    catalogues: Path = DEBTOR_CATALOGUES,
    inspector: Inspector | None = None,
    printer: LetterPrinter | None = None,
    find_operator: FindOperator = find_no_operator,
) -> Sequence[BaseRoute]:
    """Build the routes of the debtor's pages. The caller closes `inspector` and `printer`.

    `hand_off_origins` maps each payment provider to the origin of its pages; see `DebtorSite`.
    `catalogues` is the folder of the translations. `inspector` checks debtors' files, `printer`
    prints receipts and confirmations, and `find_operator` returns the operator of the installation.
    """
    site = build_site(
        resources, providers, hand_off_origins, catalogues,
        inspector=inspector, printer=printer, find_operator=find_operator,
    )  # fmt: skip
    return list_routes(site)


def list_routes(site: DebtorSite) -> Sequence[BaseRoute]:
    """List the routes of a site that the caller has built, because another interface also uses the
    site."""
    router = _build_router(site)
    return [_DebtorPages(router, _is_below_root), ScopeRoute(router, _wants_page)]


def build_site(  # noqa: PLR0913 - what a process opens once
    resources: Resources,
    providers: PaymentProviders,
    hand_off_origins: Mapping[str, str] | None = None,
    catalogues: Path = DEBTOR_CATALOGUES,
    *,
    inspector: Inspector | None = None,
    printer: LetterPrinter | None = None,
    find_operator: FindOperator = find_no_operator,
) -> DebtorSite:
    """Build the shared services of the pages. For the parameters see `build_landing_routes`."""
    settings = resources.settings
    languages = load_languages(catalogues)
    return DebtorSite(
        resources=resources,
        providers=providers,
        pages=DebtorPages(
            languages=languages,
            domain=urlsplit(settings.public_url).netloc,
            stylesheet="landing",
            assets=assets.ASSETS.addresses,
            phone=settings.contact_phone,
            find_operator=find_operator,
        ),
        # Keep the caller's mapping even if it is empty, because applying an installation file fills
        # it later.
        hand_off_origins={} if hand_off_origins is None else hand_off_origins,
        notices=NoticeWriter(languages, settings.public_url, find_operator),
        storage=SealedFiles.open(resources),
        inspector=inspector or Inspector(),
        printer=printer or LetterPrinter(1, fonts=settings.fonts),
    )


class _Handle(Convertor[str]):
    """Matches only handles, so that any other text at this position of a path leads to no page."""

    regex = HANDLE

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("handle", _Handle())


class _DebtorPages(ScopeRoute):
    """Answers all paths below `_ROOTS`."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["path"] = normalize_case(scope["path"])
        await super().handle(scope, receive, send)


def _is_below_root(scope: Scope) -> bool:
    return scope["path"].split("/")[1].lower() in _ROOTS


def _wants_page(scope: Scope) -> bool:
    """Return whether a browser requests a page. Programs of merchants do not accept HTML, so their
    requests are left to the other routes."""
    accepts = Headers(scope=scope).get("accept", "")
    return scope["method"] in ("GET", "HEAD") and "text/html" in accepts


class _PlainPages(BaseRoute):
    """The pages of a claim whose path has no parameter besides the handle. These pages are found
    with one dictionary lookup instead of matching up to a hundred patterns."""

    def __init__(self, routes: Mapping[str, Route]) -> None:
        """`routes` maps the path after the handle to the route; "" is the claim's page."""
        self._routes = routes

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        found = _CLAIM_PATH.fullmatch(scope["path"])
        route = None if found is None else self._routes.get(found[1])
        if route is None:
            return Match.NONE, {}
        match, child = route.matches(scope)
        return match, {**child, _ROUTE_KEY: route}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        route: Route = scope[_ROUTE_KEY]
        await route.handle(scope, receive, send)


def _build_router(site: DebtorSite) -> Router:
    application = PageApplication(site, DebtorRequest, answer_failure)

    def build_route(path: str, handlers: Mapping[str, PageHandler]) -> Route:
        return application.build_route(path, handlers, path.replace("{handle}", "{handle:handle}"))

    latest_claim_routes = [
        build_route(path, {"GET": handler}) for path, handler in LATEST_CLAIM_ROUTES.items()
    ]
    routes = {path: build_route(path, handlers) for path, handlers in ROUTES.items()}
    plain_routes = {
        path.removeprefix(_CLAIM_PAGE_PATH): route
        for path, route in routes.items()
        if path.startswith(_CLAIM_PAGE_PATH) and path.count("{") == 1
    }
    return application.build_router(
        [_PlainPages(plain_routes), *latest_claim_routes, *routes.values()]
    )
