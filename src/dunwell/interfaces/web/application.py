"""The pages of one interface as an ASGI application."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeAlias, TypeVar

from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import BaseRoute, Match, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from dunwell.interfaces.web.requests import PageRequest
from dunwell.interfaces.web.responses import compress_page
from dunwell.platform.resources import Resources


@dataclass(frozen=True, slots=True)
class WebSite:
    """The shared services of one interface's pages; one per process."""

    resources: Resources

    @property
    def is_secure(self) -> bool:
        return self.resources.settings.public_url.startswith("https://")

    def now(self) -> datetime:
        """Return the real time. Sessions do not follow a merchant's test clock."""
        return self.resources.clock.now()


_S = TypeVar("_S", bound=WebSite)
_R = TypeVar("_R", bound=PageRequest)
PageHandler: TypeAlias = Callable[[_S, _R], Awaitable[Response]]
# The handlers of one address, by method.
PageHandlers: TypeAlias = Mapping[str, PageHandler[_S, _R]]
_HANDLED_EXCEPTIONS = (HTTPException, Exception)


@dataclass(frozen=True, slots=True)
class PageApplication(Generic[_S, _R]):
    """Builds the routes of one interface's pages.

    `answer_failure` responds to an exception. `check` raises for a request that must not reach any
    handler. `complete` adds what every response needs.
    """

    site: _S
    request_type: Callable[[Scope, Receive, str], _R]
    answer_failure: Callable[[_S, _R, Exception], Awaitable[Response]]
    check: Callable[[_R], None] = lambda _request: None
    complete: Callable[[_R, Response], None] = lambda _request, _response: None

    def build_route(self, path: str, handlers: PageHandlers[_S, _R], pattern: str = "") -> Route:
        """Return the route. `path` is its name in logs. `pattern` is Starlette's pattern if it
        differs from the path."""

        async def serve(starlette_request: Request) -> Response:
            request = self._get_page_request(starlette_request)
            request.route = path
            self.check(request)
            method = "GET" if request.method == "HEAD" else request.method
            response = await handlers[method](self.site, request)
            self.complete(request, response)
            # See MIN_COMPRESSED_BYTES for why a page with a query is not compressed.
            may_compress = request.accepts_gzip and not request.kept_query
            is_streamed = isinstance(response, StreamingResponse)
            return compress_page(response) if may_compress and not is_streamed else response

        return Route(pattern or path, serve, methods=[*handlers])

    def build_router(self, routes: Sequence[BaseRoute]) -> Router:
        async def answer_exception(request: Request, error: Exception) -> Response:
            return await self.answer_failure(self.site, self._get_page_request(request), error)

        return Router(
            routes,
            redirect_slashes=False,
            middleware=[
                Middleware(
                    ExceptionMiddleware, dict.fromkeys(_HANDLED_EXCEPTIONS, answer_exception)
                )
            ],
        )

    def _get_page_request(self, request: Request) -> _R:
        """Return the request's PageRequest, which is created once."""
        if not hasattr(request.state, "page_request"):
            origin = self.site.resources.settings.public_url
            request.state.page_request = self.request_type(request.scope, request.receive, origin)
        page_request: _R = request.state.page_request
        return page_request


class ScopeRoute(BaseRoute):
    """Passes an HTTP request to an application if `is_ours` returns True for its scope.

    Unlike Starlette's Mount it decides by the whole path, which may contain line breaks.
    """

    def __init__(self, app: ASGIApp, is_ours: Callable[[Scope], bool]) -> None:
        self._app = app
        self._is_ours = is_ours

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        matches = scope["type"] == "http" and self._is_ours(scope)
        return (Match.FULL if matches else Match.NONE), {}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)
