"""Builds the debtor's pages as handlers to be mounted at the root.

Every address answers every method with a page: a HEAD is answered as its GET, and what an address
does not take gets a page that leads on.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeAlias
from urllib.parse import urlsplit

from litestar import HttpMethod
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from dunwell.errors import NotFound
from dunwell.kit.resources import Resources
from dunwell.landing.answer import Answer
from dunwell.landing.desk import Desk
from dunwell.landing.pages import Frame, Pages
from dunwell.landing.problems import answer_problem, find_problem, log_crash, wrong_method
from dunwell.landing.routes import assets, claim, entry, paying
from dunwell.landing.visit import AnyRequest, Visit
from dunwell.landing.wording import load_languages
from dunwell.payments.provider import Providers

Run: TypeAlias = Callable[[Desk, Visit], Awaitable[Answer]]


async def _refuse_unknown(_desk: Desk, _visit: Visit) -> Answer:
    raise NotFound("There is no such page.")


# Address -> method -> what it does.
ROUTES: Mapping[str, Mapping[str, Run]] = {
    "/q": {"GET": entry.show_code_entry, "POST": entry.enter_code},
    "/q/{token:str}": {"GET": entry.show_link, "POST": entry.open_link},
    "/claim": {"GET": claim.show_claim},
    "/claim/pay": {"GET": paying.check_payment, "POST": paying.hand_off},
    "/claim/return/{request_id:str}": {"GET": paying.come_back},
    "/claim/receipt/{request_id:str}": {"GET": paying.show_receipt},
    "/claim/extend": {"GET": claim.go_back, "POST": claim.extend},
    "/claim/end": {"GET": claim.go_back, "POST": claim.end},
    "/claim/ended": {"GET": claim.show_ended},
    "/claim/notices": {"GET": claim.show_notices},
    "/claim/style/{name:str}": {"GET": assets.send_stylesheet},
    "/claim/brand/{merchant_id:str}/{revision:str}/{name:str}": {"GET": assets.send_brand},
    "/claim/{rest:path}": {"GET": _refuse_unknown, "POST": _refuse_unknown},
    "/q/{token:str}/{rest:path}": {"GET": _refuse_unknown, "POST": _refuse_unknown},
}
_METHODS = [HttpMethod(name) for name in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")]


def build_landing_routes(
    resources: Resources, providers: Providers, hand_off_origins: Mapping[str, str] | None = None
) -> Sequence[HTTPRouteHandler]:
    """hand_off_origins: of providers' own pages, by the provider's name (`Desk`)."""
    domain = urlsplit(resources.settings.public_url).netloc
    pages = Pages(load_languages(), domain, assets.name_stylesheet())
    desk = Desk(resources, providers, pages, hand_off_origins or {})
    return [_build_handler(desk, path, runs) for path, runs in ROUTES.items()]


def _build_handler(desk: Desk, path: str, runs: Mapping[str, Run]) -> HTTPRouteHandler:
    async def handle(request: AnyRequest) -> ASGIApp:
        visit = Visit(request, desk.resources.settings.public_url)
        run = runs.get("GET" if visit.method == "HEAD" else visit.method)
        if run is None:
            allowed = ", ".join(sorted({*runs, "HEAD"}))
            return answer_problem(desk.pages, desk.frame(visit), wrong_method(allowed))
        try:
            return await run(desk, visit)
        except Exception as error:  # noqa: BLE001 - whatever it is, its reader gets a page
            return _answer_failure(desk, visit, path, error)

    return HTTPRouteHandler(
        path, http_method=_METHODS, name=f"landing {path}", status_code=200, include_in_schema=False
    )(handle)


def _answer_failure(desk: Desk, visit: Visit, route: str, error: Exception) -> Answer:
    problem = find_problem(error)
    request_id = None
    if problem.status == 500:
        request_id = log_crash(desk.resources, visit, route, error)
    frame: Frame = desk.frame(visit)
    return answer_problem(desk.pages, frame, problem, request_id)
