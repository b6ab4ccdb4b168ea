"""Build the web application from the merchant API, its reference, and the health checks and metrics
for operators.

This module opens no resources: its callers pass them in, as well as the routes of the other
interfaces. Each web process and worker also has an operators' address. Health checks are served at
both addresses, and in production, metrics only at the operators' address.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Mount, Route, Router
from starlette.types import ExceptionHandler, Scope

from dunwell.cases.intake.create_together import ClaimIntake
from dunwell.contact.sending.channel import ChannelAdapter
from dunwell.core.files.inspection import Inspector
from dunwell.core.files.storage import SealedFiles
from dunwell.interfaces.api.answer import build_refusal_response, build_result_response
from dunwell.interfaces.api.catalogue import ENDPOINTS
from dunwell.interfaces.api.edge import Edge
from dunwell.interfaces.api.metrics import RequestMetrics
from dunwell.interfaces.api.operation import ApiEndpoint, ApiServices
from dunwell.interfaces.api.readiness import Readiness
from dunwell.interfaces.api.reference.routes import build_document_response, build_reference_routes
from dunwell.interfaces.api.schemas.service import Health
from dunwell.interfaces.api.serving import ApiServer
from dunwell.interfaces.api.token import OBTAIN_TOKEN, build_oauth_refusal_response, serve_token
from dunwell.platform.errors import InvalidRequest, MethodNotAllowed, NotFound, Refusal, Unavailable
from dunwell.platform.resources import Resources

_BASE_PATH = "/api"
_HEALTH_PATHS = frozenset(("/healthz", "/readyz"))


def _use_peer_as_visitor(peer: str, _forwarded: list[str]) -> str:
    return peer


def build_app(
    resources: Resources,
    channels: Sequence[ChannelAdapter],
    inspector: Inspector,
    routes: Iterable[BaseRoute] = (),
    find_visitor: Callable[[str, list[str]], str] = _use_peer_as_visitor,
    request_metrics: RequestMetrics | None = None,
) -> Starlette:
    """Build the whole web application.

    `channels` deliver what a sandbox merchant's test clock causes to be sent, `routes` are those of
    the other interfaces, `find_visitor` is passed to `Edge`, and `request_metrics` counts the
    requests."""
    settings, request_metrics = resources.settings, request_metrics or RequestMetrics()
    services = ApiServices(
        resources,
        channels,
        storage=SealedFiles.open(resources),
        inspector=inspector,
        intake=ClaimIntake(resources),
    )
    app = Starlette(
        routes=[
            Mount(_BASE_PATH, _build_api(services, request_metrics)),
            *_build_health_routes(resources),
            *([_build_metrics_route(request_metrics)] if settings.is_development else []),
            *build_reference_routes(settings.public_url),
            *routes,
        ],
        middleware=[Middleware(Edge, resources, find_visitor, free_paths=_HEALTH_PATHS)],
        exception_handlers=_HANDLERS,
    )
    # Edge has already removed trailing slashes.
    app.router.redirect_slashes = False
    return app


def build_operators_app(resources: Resources, request_metrics: RequestMetrics) -> Starlette:
    """Build the application that a web process or worker serves at the operators' address."""
    app = Starlette(
        routes=[*_build_health_routes(resources), _build_metrics_route(request_metrics)],
        middleware=[Middleware(Edge, resources, _use_peer_as_visitor)],
        exception_handlers=_HANDLERS,
    )
    app.router.redirect_slashes = False
    return app


def _build_health_routes(resources: Resources) -> list[Route]:
    # Liveness: the process responds. It checks nothing else.
    alive = build_result_response(Health("ok"))
    readiness = Readiness(resources.database, resources.clock)

    async def send_readiness(_request: Request) -> Response:
        try:
            await readiness.check()
        except Unavailable as refusal:
            return build_refusal_response(refusal)
        return alive

    return [Route("/healthz", alive, methods=["GET"]), Route("/readyz", send_readiness)]


def _build_metrics_route(request_metrics: RequestMetrics) -> Route:
    async def send_metrics(_request: Request) -> Response:
        return Response(request_metrics.render(), media_type=CONTENT_TYPE_LATEST)

    return Route("/metrics", send_metrics)


def _build_api(services: ApiServices, request_metrics: RequestMetrics) -> Router:
    """Build the routes below {base_url}."""
    server = ApiServer(services, request_metrics)
    by_path: dict[str, dict[str, ApiEndpoint]] = {}
    for each in ENDPOINTS:
        by_path.setdefault(each.operation.path, {})[each.operation.method] = each

    async def obtain_token(request: Request) -> Response:
        return await serve_token(services, request_metrics, request)

    # Fixed paths come first, because `/events/replay` also matches the path of an event.
    paths = sorted(by_path, key=lambda path: path.endswith("}"))
    return Router(
        [
            *(_build_route(server, path, by_path[path]) for path in paths),
            Route(OBTAIN_TOKEN.path, obtain_token, methods=[OBTAIN_TOKEN.method]),
            Route("/openapi.json", build_document_response(), methods=["GET"]),
        ],
        redirect_slashes=False,
        middleware=[Middleware(ExceptionMiddleware, {HTTPException: _respond_to_mismatch})],
    )


def _build_route(server: ApiServer, path: str, endpoints: dict[str, ApiEndpoint]) -> Route:
    async def serve(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await server.serve(endpoints[method], request)

    return _ApiRoute(path, serve, methods=[*endpoints])


class _ApiRoute(Route):
    """A route that matches its path for every method. Otherwise a request that this route answers
    with 405 could be passed to another route whose path has a parameter."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return (Match.NONE if match is Match.NONE else Match.FULL), child


async def _respond_to_mismatch(request: Request, error: Exception) -> Response:
    """Respond to an unknown address, or to a method that the address does not support."""
    assert isinstance(error, HTTPException)
    path = request.scope["path"][:200]
    if error.status_code == 404:
        return build_refusal_response(
            NotFound(f"There is no path {path}. The reference is at /docs.")
        )
    if error.status_code != 405:
        return build_refusal_response(
            InvalidRequest("The request cannot be read. Check its headers and its URL.")
        )
    methods = sorted((error.headers or {})["Allow"].split(", "))
    if request.method == "OPTIONS":
        return Response(None, 204, {"Allow": ", ".join(sorted([*methods, "OPTIONS"]))})
    allowed = [method for method in methods if method != "HEAD"]
    refusal = MethodNotAllowed(
        f"{path} does not support {request.method}. Use {' or '.join(allowed)}.", allowed=allowed
    )
    is_token = path == _BASE_PATH + OBTAIN_TOKEN.path
    response = (
        build_oauth_refusal_response(refusal) if is_token else build_refusal_response(refusal)
    )
    response.headers["Allow"] = ", ".join(methods)
    return response


async def _respond_to_refusal(_request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return build_refusal_response(error)


_HANDLERS: Mapping[Any, ExceptionHandler] = {
    HTTPException: _respond_to_mismatch,
    Refusal: _respond_to_refusal,
}
