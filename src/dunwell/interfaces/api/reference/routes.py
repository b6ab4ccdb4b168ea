"""Serve the OpenAPI document, the reference page and the guides.

The document is built at the start. A page is rendered when it is first requested, because rendering
all of them would delay the start of a process.
"""

import asyncio
import gzip
from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial
from importlib.resources import files

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dunwell.interfaces.api.reference.document import build_document
from dunwell.interfaces.api.reference.guides import (
    GUIDES_STYLE_PATH,
    INDEX_PATH,
    list_guide_paths,
    list_guides,
    render_guide,
    render_index,
    render_missing,
)
from dunwell.interfaces.api.reference.page import STYLE_PATH, render_page
from dunwell.platform.http.requests import accepts_gzip

# The pages load only our own stylesheets and images.
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)
_HEADERS = {"Content-Security-Policy": _POLICY, "Vary": "Accept-Encoding"}


def encode_document() -> bytes:
    """Return the document as it is served and as it is committed in docs/."""
    return msgspec.json.format(msgspec.json.encode(build_document()), indent=2) + b"\n"


def build_reference_routes(public_url: str) -> list[Route]:
    guides = [*list_guide_paths(), INDEX_PATH]
    styles = {STYLE_PATH: "docs.css", GUIDES_STYLE_PATH: "guides.css"}
    return [
        _build_compressed_route("/docs", partial(_render_reference, public_url), "text/html"),
        *(_build_compressed_route(path, partial(_render_guide, path)) for path in guides),
        *(
            _build_compressed_route(path, partial(_read_style, name), "text/css")
            for path, name in styles.items()
        ),
        Route("/docs/{unknown:path}", _serve_missing, methods=["GET"]),
    ]


# The document does not depend on the settings, so it is encoded once per process, even if several
# applications are built in it.
@cache
def build_document_response() -> Response:
    return Response(encode_document(), media_type="application/json")


@lru_cache(maxsize=8)
def _render_reference(public_url: str) -> bytes:
    return render_page(public_url).encode()


def _render_guide(path: str) -> bytes:
    return _render_guides()[path]


@cache
def _render_guides() -> Mapping[str, bytes]:
    """Return the guides and their index by path."""
    guides = list_guides()
    pages = {each.path: render_guide(each, guides, STYLE_PATH) for each in guides}
    pages[INDEX_PATH] = render_index(guides, STYLE_PATH)
    return {path: page.encode() for path, page in pages.items()}


def _read_style(name: str) -> bytes:
    return files("dunwell.interfaces.api.reference").joinpath(name).read_bytes()


def _build_compressed_route(
    path: str, render: Callable[[], bytes], media_type: str = "text/html"
) -> Route:
    """Build a route for content that is rendered and compressed once, in a thread: the reference
    has 1.5 MB, or 60 kB compressed."""
    responses: list[Response] = []

    def build_responses() -> list[Response]:
        content = render()
        headers = {**_HEADERS, "Content-Encoding": "gzip"}
        compressed = Response(_compress(content), headers=headers, media_type=media_type)
        return [Response(content, headers=_HEADERS, media_type=media_type), compressed]

    async def serve(request: Request) -> Response:
        if not responses:
            responses[:] = await asyncio.to_thread(build_responses)
        plain, compressed = responses
        is_gzip_accepted = accepts_gzip(request.headers.get("accept-encoding", ""))
        return compressed if is_gzip_accepted else plain

    return Route(path, serve, methods=["GET"])


# Each page is compressed once per process, even if several applications are built in it.
@cache
def _compress(content: bytes) -> bytes:
    return gzip.compress(content, compresslevel=6, mtime=0)


async def _serve_missing(request: Request) -> Response:
    """Respond with a page to browsers, and with the API's refusal for an unknown address to
    programs."""
    if "text/html" not in request.headers.get("accept", ""):
        raise HTTPException(404)
    return Response(_render_missing(), 404, headers=_HEADERS, media_type="text/html")


@cache
def _render_missing() -> bytes:
    return render_missing(list_guides(), STYLE_PATH).encode()
