"""The portal's routes, its error pages, and the response to all other requests. Every URL answers
every method with a page. A refusal that a page does not handle itself gets an error page. Any
other exception is an internal error: it is logged with the request's id, and the page shows only
this id. A page that the user may not open is shown as not found."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import Scope

from dunwell.interfaces.landing.web.site import DebtorSite
from dunwell.interfaces.portal.audit import routes as audit
from dunwell.interfaces.portal.claims import routes_actions, routes_claim, routes_list
from dunwell.interfaces.portal.communications import routes as communications
from dunwell.interfaces.portal.debits import routes_debits, routes_files, routes_mandates
from dunwell.interfaces.portal.delivery_providers import routes as delivery_providers
from dunwell.interfaces.portal.disputes import routes as disputes
from dunwell.interfaces.portal.evidence import routes as evidence
from dunwell.interfaces.portal.jobs import routes as jobs
from dunwell.interfaces.portal.jobs import routes_bulk
from dunwell.interfaces.portal.modalities import routes as plans
from dunwell.interfaces.portal.payments import routes as payments
from dunwell.interfaces.portal.payments import routes_refund, routes_review
from dunwell.interfaces.portal.render.addresses import PATHS, ROOT, build_address
from dunwell.interfaces.portal.render.pages import PortalPages
from dunwell.interfaces.portal.rules import routes as rules
from dunwell.interfaces.portal.rules import routes_publish as rules_publish
from dunwell.interfaces.portal.rules import routes_rule, routes_try
from dunwell.interfaces.portal.setup import routes as setup
from dunwell.interfaces.portal.setup import routes_access, routes_clock, routes_section
from dunwell.interfaces.portal.setup import routes_file as setup_file
from dunwell.interfaces.portal.start import routes as start
from dunwell.interfaces.portal.statements import (
    routes_accounts,
    routes_close,
    routes_entries,
    routes_payouts,
    routes_setup,
)
from dunwell.interfaces.portal.suppressions import routes as suppressions
from dunwell.interfaces.portal.texts import routes as texts
from dunwell.interfaces.portal.texts import routes_preview
from dunwell.interfaces.portal.users import (
    routes_account,
    routes_invitation,
    routes_sign_in,
    routes_single_sign_on,
    routes_users,
)
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.guards import RouteHandler
from dunwell.interfaces.portal.web.preview_turns import PreviewBusy, PreviewTooSlow
from dunwell.interfaces.portal.web.site import PortalServices, PortalSite
from dunwell.interfaces.portal.webhooks import routes as webhooks
from dunwell.interfaces.portal.workflows import routes_editor, routes_history, routes_publish
from dunwell.interfaces.portal.workflows import routes_list as workflows
from dunwell.interfaces.web.application import PageApplication, ScopeRoute
from dunwell.interfaces.web.problems import Problem, ProblemTable, find_problem, log_crash
from dunwell.interfaces.web.responses import AssetFolder
from dunwell.interfaces.web.templates import Page
from dunwell.platform import errors
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import STAFF_CATALOGUES, load_languages


class ProblemPage(Page, frozen=True):
    template: ClassVar[str] = "problem.html"

    # The kind of the problem, see `Problem`.
    kind: str
    # The text of the refusal.
    message: str = ""
    # Set only for an internal error.
    request_id: str = ""
    # The page's URL, if trying again may help.
    again: str = ""


_PORTAL_PROBLEMS: ProblemTable = (
    # An unauthorised user learns no more than that the page does not exist.
    (errors.InsufficientScope, Problem(404, "NOT_FOUND")),
    (errors.InvalidState, Problem(409, "STATE_CHANGED")),
    (errors.TooSlow, Problem(408, "UNAVAILABLE")),
    (PreviewBusy, Problem(429, "PREVIEW_BUSY", retry_after=5)),
    (PreviewTooSlow, Problem(503, "PREVIEW_SLOW", retry_after=5)),
    (errors.RateLimited, Problem(429, "UNAVAILABLE", retry_after=30)),
)
_STATE_CHANGED = Problem(409, "STATE_CHANGED")


async def answer_failure(site: PortalSite, request: PortalRequest, error: Exception) -> Response:
    problem, request_id = find_problem(error, _PORTAL_PROBLEMS, otherwise=_STATE_CHANGED), ""
    if problem.status == 500:
        request_id = log_crash(request, site.resources, error)
    message = ""
    if problem.kind == "STATE_CHANGED" and isinstance(error, errors.Refusal):
        message = error.text
    context = site.build_context(request, getattr(request.state, "access", None))
    is_preview = isinstance(error, PreviewBusy | PreviewTooSlow)
    again = request.own_address if is_preview and request.method in ("GET", "HEAD") else ""
    page = ProblemPage(problem.kind, message, request_id, again)
    return site.render_page(context, page, problem.status, more=problem.headers)


_ROUTE_MODULES = (
    routes_sign_in, routes_single_sign_on, routes_invitation, routes_account, routes_users,
    start, routes_list, routes_claim, routes_actions, disputes, evidence, plans,
    delivery_providers, communications, jobs, routes_bulk, audit, webhooks, payments,
    routes_refund, routes_review, routes_accounts, routes_entries, routes_payouts,
    routes_close,
    routes_setup,
    routes_debits, routes_files, routes_mandates,
    suppressions, rules, routes_rule, routes_try, rules_publish, workflows, routes_editor,
    routes_publish, routes_history, texts, routes_preview, setup, setup_file,
    routes_section, routes_access, routes_clock,
)  # fmt: skip
ASSETS = AssetFolder(Path(__file__).parent / "web", lambda name: build_address("asset", name=name))
_PAGES = {page: handlers for each in _ROUTE_MODULES for page, handlers in each.PAGES.items()}
_PAGES |= {"asset": {"GET": ASSETS.send}}
if _PAGES.keys() != PATHS.keys():
    raise ImportError(
        "Each page needs a URL in render/addresses.py and a handler in the PAGES of a module."
        f" These have only one of them: {_PAGES.keys() ^ PATHS.keys()}"
    )
# The handlers by path and method.
ROUTES: Mapping[str, Mapping[str, RouteHandler]] = {
    path: _PAGES[page] for page, path in PATHS.items()
}


def build_portal_routes(
    resources: Resources, debtors: DebtorSite, services: PortalServices | None = None
) -> Sequence[BaseRoute]:
    """Build the routes. `debtors` are the debtor pages, for the preview of a claim's page."""
    site = PortalSite(
        resources=resources,
        pages=PortalPages(
            languages=load_languages(STAFF_CATALOGUES),
            domain=urlsplit(resources.settings.public_url).netloc,
            stylesheet="portal",
            assets=ASSETS.addresses,
        ),
        debtors=debtors,
        services=services or PortalServices(),
    )
    application = PageApplication(
        site, PortalRequest, answer_failure, check=_check_path, complete=site.set_language_cookie
    )
    routes = [application.build_route(path, handlers) for path, handlers in ROUTES.items()]
    return [ScopeRoute(application.build_router(routes), _is_below_root)]


def _check_path(request: PortalRequest) -> None:
    """Raise NotFound for NUL in the path: no name or id has it, and no SQL statement accepts it."""
    if any("\0" in value for value in request.path_params.values()):
        raise NotFound("There is no such page.")


def _is_below_root(scope: Scope) -> bool:
    return f"{scope['path']}/".startswith(f"{ROOT}/")
