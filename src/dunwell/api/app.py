"""Builds the web application: the merchant API, its reference, and the addresses for operators.

It opens nothing; what it needs is given, and other faces' routes are mounted beside its own.
"""

from collections.abc import Sequence
from typing import Any

from litestar import HttpMethod, Litestar, MediaType, Request, Response
from litestar.exceptions import HTTPException, MethodNotAllowedException, NotFoundException
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp, ControllerRouterHandler

from dunwell.api.answer import Answer
from dunwell.api.call import Tools
from dunwell.api.catalogue import ENDPOINTS, OPERATIONS
from dunwell.api.figures import Figures
from dunwell.api.operating import build_operating_routes
from dunwell.api.operation import Endpoint, Operation
from dunwell.api.reading import AnyRequest
from dunwell.api.reference.routes import build_reference_routes
from dunwell.api.refusing import answer_crash, answer_refusal
from dunwell.api.request_id import build_marking, request_id_of
from dunwell.api.routes.token import OBTAIN_TOKEN
from dunwell.api.serving import Server
from dunwell.api.token import answer_oauth_refusal, serve_token
from dunwell.errors import InvalidRequest, MethodNotAllowed, NotFound, Refusal
from dunwell.files.inspection import Inspector
from dunwell.files.storage import Storage
from dunwell.kit.resources import Resources
from dunwell.messages.channel import ChannelAdapter

BASE_PATH = "/api"


def build_app(
    resources: Resources,
    channels: Sequence[ChannelAdapter],
    extra_routes: Sequence[ControllerRouterHandler] = (),
    inspector: Inspector | None = None,
) -> Litestar:
    """`channels` carry what a sandbox merchant's moved clock sends; `extra_routes` are mounted at
    the root, and may use the inspector too. The application closes it when it is shut down."""
    inspector = inspector or Inspector()
    tools = Tools(resources, channels, Storage.open(resources.settings.files_url), inspector)
    figures = Figures()
    server = Server(tools, figures)
    routes: list[Any] = [_options_route(path) for path in {each.path: None for each in OPERATIONS}]
    routes += [_route(server, endpoint) for endpoint in ENDPOINTS]
    routes += [_token_route(tools, figures), *build_operating_routes(resources, figures)]
    routes += build_reference_routes(resources.settings.public_url)
    return Litestar(
        [*routes, *extra_routes],
        openapi_config=None,
        logging_config=None,
        # The bodies of our routes have limits of their own.
        request_max_body_size=None,
        exception_handlers={Exception: _build_exception_handler(resources)},
        before_send=[build_marking(resources)],
        on_shutdown=[inspector.close],
    )


def _route(server: Server, endpoint: Endpoint) -> HTTPRouteHandler:
    async def handle(request: Request[Any, Any, Any]) -> ASGIApp:
        return await server.serve(endpoint, request)

    return _build_handler(endpoint.operation)(handle)


def _options_route(path: str) -> HTTPRouteHandler:
    """Says what an address takes. Litestar's own answer forgets methods that are added to it later,
    hence these come first."""
    methods: list[str] = [each.method for each in OPERATIONS if each.path == path]
    headers = {"Allow": ", ".join(sorted([*methods, "OPTIONS"]))}

    async def handle() -> Response[None]:
        return Response(None, headers=headers, media_type=MediaType.TEXT)

    return HTTPRouteHandler(
        _template(path), http_method=HttpMethod.OPTIONS, name=f"options {path}", status_code=204
    )(handle)


def _token_route(tools: Tools, figures: Figures) -> HTTPRouteHandler:
    async def handle(request: Request[Any, Any, Any]) -> ASGIApp:
        return await serve_token(tools, figures, request)

    return _build_handler(OBTAIN_TOKEN)(handle)


def _build_handler(operation: Operation) -> HTTPRouteHandler:
    """Litestar tells numbers from texts in paths; here every id is a text, to be read strictly."""
    return HTTPRouteHandler(
        _template(operation.path),
        http_method=HttpMethod(operation.method),
        name=operation.operation_id,
        status_code=200,
    )


def _template(path: str) -> str:
    return BASE_PATH + path.replace("}", ":str}")


def _build_exception_handler(resources: Resources) -> Any:
    """What is raised outside our handlers: by routing, by other faces' routes."""

    def handle(request: AnyRequest, error: Exception) -> Response[bytes]:
        refusal = _read_refusal(request, error)
        if refusal is not None:
            is_token = request.scope["path"] == BASE_PATH + OBTAIN_TOKEN.path
            answer = answer_oauth_refusal(refusal) if is_token else answer_refusal(refusal)
            return _respond(answer)
        request_id = request_id_of(request.scope, resources)
        return _respond(answer_crash(error, request_id, request.scope["path"][:200]))

    return handle


def _read_refusal(request: AnyRequest, error: Exception) -> Refusal | None:
    path = request.scope["path"][:200]
    if isinstance(error, Refusal):
        return error
    if isinstance(error, NotFoundException):
        return NotFound(f"There is no address {path}. The reference is at /docs.")
    if isinstance(error, MethodNotAllowedException):
        named = (error.headers or {}).get("allow", "")
        allowed = sorted({each.strip() for each in named.split(",")} - {"OPTIONS", ""})
        return MethodNotAllowed(
            f"{path} does not take {request.method}. Use {' or '.join(allowed)}.", allowed=allowed
        )
    if isinstance(error, HTTPException) and error.status_code < 500:
        return InvalidRequest("The request cannot be read. Check its head and its address.")
    return None


def _respond(answer: Answer) -> Response[bytes]:
    headers = {name.decode(): value.decode() for name, value in answer.headers}
    headers["cache-control"] = "no-store"
    return Response(
        answer.body,
        status_code=answer.status,
        headers=headers,
        media_type=answer.content_type.decode(),
    )
