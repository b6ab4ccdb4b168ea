"""What goes back over HTTP: finished bytes under the strictest policy a page can live with.

Browsers and proxies keep nothing but stylesheets and logos, whose addresses name their content.
"""

import gzip
from collections.abc import Mapping, Sequence
from functools import lru_cache

from starlette.responses import Response

from dunwell.core.files.names import render_disposition

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "form-action {}; frame-ancestors 'none'; base-uri 'none'"
)
# Beside what every answer of a web process bears.
_UNLISTED = {"X-Robots-Tag": "noindex, nofollow, noarchive"}
_PAGE_TYPE = "text/html; charset=utf-8"
_HARMLESS = "default-src 'none'; sandbox"
# Pages up to here weigh little as they are (bytes). Of longer ones most is alike, such as the rows
# of a hundred items; where an address says what a page shows, it is sent as it is, so that nobody
# learns of its secrets from how well it packs beside words of their own.
LIGHT = 10 * 1024


def answer_page(
    body: bytes, status: int = 200, *, form_origins: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    """form_origins: other origins that a form's answer may redirect to."""
    return Response(body, status, {**_head_page(tuple(form_origins)), **(more or {})})


def compress_page(response: Response) -> Response:
    """For a browser that takes gzip; what is no page, or a light one, goes as it is."""
    if len(response.body) <= LIGHT or response.headers.get("Content-Type") != _PAGE_TYPE:
        return response
    packed = gzip.compress(response.body, compresslevel=6, mtime=0)
    headers = {**response.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    del headers["content-length"]
    return Response(packed, response.status_code, headers)


@lru_cache(maxsize=64)
def _head_page(form_origins: tuple[str, ...]) -> Mapping[str, str]:
    return {
        "Content-Type": _PAGE_TYPE,
        "Cross-Origin-Opener-Policy": "same-origin",
        **_UNLISTED,
        "Content-Security-Policy": _POLICY.format(" ".join(["'self'", *form_origins])),
    }


def answer_redirect(location: str) -> Response:
    """303. `location` must be an address of ours, or a provider's that it was given. Raises
    ValueError for what could end the header or is no address."""
    if not location.isascii() or not location.isprintable() or " " in location:
        raise ValueError("this is no address to redirect to")
    return Response(None, 303, {**_UNLISTED, "Location": location})


def answer_asset(
    body: bytes, content_type: str, *, is_named_by_content: bool,
    more: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    """A stylesheet, script or picture. An SVG opened by itself may do nothing at all."""
    headers = {
        "Content-Type": content_type,
        "Cache-Control": "public, max-age=31536000, immutable"
        if is_named_by_content
        else "no-store",
        "Content-Security-Policy": _HARMLESS,
        **_UNLISTED,
        **(more or {}),
    }
    return Response(body, 200, headers)


def answer_file(body: bytes, content_type: str, name: str | None = None) -> Response:
    """What is one claim's alone: a picture on a page, or, under a name, a file to keep. It may do
    nothing by itself."""
    headers = {**_UNLISTED, "Content-Type": content_type, "Content-Security-Policy": _HARMLESS}
    if name is not None:
        headers["Content-Disposition"] = render_disposition(name)
    return Response(body, 200, headers)
