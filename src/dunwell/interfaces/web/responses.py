"""HTTP responses of the pages: finished bytes under the strictest policy that a page can work with.

Browsers and proxies keep nothing but assets and logos, whose addresses change with their content.
"""

import gzip
from collections.abc import Mapping

from starlette.responses import Response

from dunwell.core.files.upload import render_disposition
from dunwell.platform.crypto import sha256

# In addition to the headers that a web process gives every response.
_UNLISTED = {"X-Robots-Tag": "noindex, nofollow, noarchive"}
_PAGE_TYPE = "text/html; charset=utf-8"
_HARMLESS = "default-src 'none'; sandbox"
# Shorter pages are not compressed (bytes). The length of a compressed page tells how much of it
# repeats, and so a page is never compressed if its address decides what it shows: somebody who
# chooses the address could learn the page's secrets.
MIN_COMPRESSED_BYTES = 10 * 1024


def answer_page(
    body: bytes, status: int = 200, *, policy: str, more: Mapping[str, str] | None = None
) -> Response:
    """Answer with a page. policy: its Content-Security-Policy. more: further headers."""
    headers = {
        "Content-Type": _PAGE_TYPE,
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        **_UNLISTED,
        **(more or {}),
    }
    return Response(body, status, headers)


def compress_page(response: Response) -> Response:
    """Compress a page with gzip. Short pages and other responses stay as they are."""
    is_page = response.headers.get("Content-Type") == _PAGE_TYPE
    if not is_page or len(response.body) <= MIN_COMPRESSED_BYTES:
        return response
    packed = gzip.compress(response.body, compresslevel=6, mtime=0)
    headers = {**response.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    del headers["content-length"]
    return Response(packed, response.status_code, headers)


def add_etag(response: Response, request_headers: Mapping[str, str]) -> Response:
    """Add an ETag to a page that is polled, or answer 304 if the browser has this version."""
    etag = f'"{sha256(bytes(response.body)).hex()[:32]}"'
    if request_headers.get("if-none-match") == etag:
        return Response(None, 304, {"ETag": etag})
    response.headers["ETag"] = etag
    return response


def answer_redirect(location: str) -> Response:
    """Answer 303. `location` is an address of ours or one that a provider gave. Raises ValueError
    for characters that no address has, such as those that end a header."""
    if not location.isascii() or not location.isprintable() or " " in location:
        raise ValueError("this is no address to redirect to")
    return Response(None, 303, {**_UNLISTED, "Location": location})


def answer_asset(
    body: bytes, content_type: str, *, is_named_by_content: bool,
    more: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    """Answer with a stylesheet, script or picture. An SVG that is opened alone runs nothing."""
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
    """Answer with a file of one claim: a picture on a page or, with a name, a download. A file that
    is opened alone runs nothing."""
    headers = {**_UNLISTED, "Content-Type": content_type, "Content-Security-Policy": _HARMLESS}
    if name is not None:
        headers["Content-Disposition"] = render_disposition(name)
    return Response(body, 200, headers)
