"""Serves the OpenAPI document, the reference page and the guides: finished at the start."""

from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.resources import files

import msgspec
from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from dunwell.api.answer import Answer
from dunwell.api.reference.document import build_document
from dunwell.api.reference.guides import (
    GUIDES_STYLE_PATH,
    INDEX_PATH,
    list_guides,
    render_guide,
    render_index,
)
from dunwell.api.reference.page import STYLE_PATH, render_page

# Nothing but our own stylesheet and images; no script, no frame, no form.
_POLICY = (
    b"default-src 'none'; style-src 'self'; img-src 'self' data:; frame-ancestors 'none'; "
    b"base-uri 'none'; form-action 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)

_HTML = b"text/html; charset=utf-8"
_CSS = b"text/css; charset=utf-8"


def encode_document() -> bytes:
    """The document as it is served, and as it is committed in docs/."""
    return msgspec.json.format(msgspec.json.encode(build_document()), indent=2) + b"\n"


def build_reference_routes(public_url: str) -> list[HTTPRouteHandler]:
    document = _answer_document()

    @get("/api/openapi.json", name="openapi")
    async def show_document() -> ASGIApp:
        return document

    @get("/", name="root")
    async def show_the_way() -> ASGIApp:
        return Answer(303, b"", ((b"location", b"/docs"),), content_type=b"text/plain")

    return [
        show_document,
        show_the_way,
        _serve_file("/docs", _render_reference(public_url), _HTML),
        *(_serve_file(path, page, _HTML) for path, page in _render_guides().items()),
        _serve_file(STYLE_PATH, _read("docs.css"), _CSS),
        _serve_file(GUIDES_STYLE_PATH, _read("guides.css"), _CSS),
    ]


# What an installation's settings do not change is rendered once in a process, however many
# applications are built in it.
@cache
def _answer_document() -> Answer:
    return Answer(200, encode_document(), content_type=b"application/json")


@lru_cache(maxsize=8)
def _render_reference(public_url: str) -> bytes:
    return render_page(public_url).encode()


@cache
def _render_guides() -> Mapping[str, bytes]:
    """By their addresses, the index among them."""
    guides = list_guides()
    pages = {each.path: render_guide(each, guides, STYLE_PATH) for each in guides}
    pages[INDEX_PATH] = render_index(guides, STYLE_PATH)
    return {path: page.encode() for path, page in pages.items()}


def _read(name: str) -> bytes:
    return files("dunwell.api.reference").joinpath(name).read_bytes()


def _serve_file(path: str, content: bytes, content_type: bytes) -> HTTPRouteHandler:
    answer = Answer(200, content, _HEADERS, content_type=content_type)

    @get(path, name=path.removeprefix("/").replace("/", "-"))
    async def show() -> ASGIApp:
        return answer

    return show
