"""Serves the OpenAPI document, the reference page and its stylesheet: finished at the start."""

from importlib.resources import files

import msgspec
from litestar import get
from litestar.handlers import HTTPRouteHandler
from litestar.types import ASGIApp

from dunwell.api.answer import Answer
from dunwell.api.reference.document import build_document
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


def encode_document() -> bytes:
    """The document as it is served, and as it is committed in docs/."""
    return msgspec.json.format(msgspec.json.encode(build_document()), indent=2) + b"\n"


def build_reference_routes(public_url: str) -> list[HTTPRouteHandler]:
    document = Answer(200, encode_document(), content_type=b"application/json")
    page = Answer(
        200, render_page(public_url).encode(), _HEADERS, content_type=b"text/html; charset=utf-8"
    )
    stylesheet = files("dunwell.api.reference").joinpath("docs.css").read_bytes()
    style = Answer(200, stylesheet, _HEADERS, content_type=b"text/css; charset=utf-8")

    @get("/api/openapi.json", name="openapi")
    async def show_document() -> ASGIApp:
        return document

    @get("/docs", name="docs")
    async def show_page() -> ASGIApp:
        return page

    @get(STYLE_PATH, name="docs-style")
    async def show_style() -> ASGIApp:
        return style

    @get("/", name="root")
    async def show_the_way() -> ASGIApp:
        return Answer(303, b"", ((b"location", b"/docs"),), content_type=b"text/plain")

    return [show_document, show_page, show_style, show_the_way]
