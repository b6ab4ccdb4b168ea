"""HTTP responses of the pages, the cookies of sessions, and the stylesheets, icons and scripts that
pages use.
"""

import gzip
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from dunwell.core.files.upload import render_disposition
from dunwell.platform.crypto import sha256
from dunwell.platform.errors import NotFound
from dunwell.platform.http.requests import accepts_gzip


def name_cookie(name: str, *, is_secure: bool) -> str:
    """Return the cookie's full name. With `__Host-`, browsers limit it to this host, all paths and
    TLS. Development may run without TLS, so its cookies have no prefix."""
    return f"__Host-dunwell-{name}" if is_secure else f"dunwell-{name}"


def render_cookie(name: str, value: str, *, is_secure: bool) -> str:
    """Render the Set-Cookie header. An empty value removes the cookie. Any other cookie has no
    maximum age: if the cookie expired with its session, a page could not distinguish an ended
    session from none."""
    parts = [f"{name_cookie(name, is_secure=is_secure)}={value}", "Path=/"]
    parts += ["HttpOnly", "SameSite=Lax"]
    if is_secure:
        parts.append("Secure")
    if not value:
        parts.append("Max-Age=0")
    return "; ".join(parts)


# Sent in addition to the headers that a web process adds to every response.
_NO_INDEXING = {"X-Robots-Tag": "noindex, nofollow, noarchive"}
_PAGE_TYPE = "text/html; charset=utf-8"
_NO_SCRIPTS_POLICY = "default-src 'none'; sandbox"
# Shorter pages are not compressed (bytes). The length of a compressed page reveals how much of it
# repeats. A page is therefore never compressed if its address decides what it shows: an attacker
# who chooses the address could find out the page's secrets.
MIN_COMPRESSED_BYTES = 10 * 1024


def build_page_response(
    body: bytes, status: int = 200, *, policy: str, more: Mapping[str, str] | None = None
) -> Response:
    """Respond with a page. `policy` is its Content-Security-Policy, `more` are further headers."""
    headers = {
        "Content-Type": _PAGE_TYPE,
        "Content-Security-Policy": policy,
        "Cross-Origin-Opener-Policy": "same-origin",
        **_NO_INDEXING,
        **(more or {}),
    }
    return Response(body, status, headers)


def compress_page(response: Response) -> Response:
    """Compress a page with gzip. Short pages and other responses are returned unchanged."""
    is_page = response.headers.get("Content-Type") == _PAGE_TYPE
    if not is_page or len(response.body) <= MIN_COMPRESSED_BYTES:
        return response
    compressed = gzip.compress(response.body, compresslevel=6, mtime=0)
    headers = {**response.headers, "Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    del headers["content-length"]
    return Response(compressed, response.status_code, headers)


def add_etag(response: Response, request_headers: Mapping[str, str]) -> Response:
    """Add an ETag to a page that is polled, or respond with 304 if the browser has this version."""
    etag = f'"{sha256(bytes(response.body)).hex()[:32]}"'
    if request_headers.get("if-none-match") == etag:
        return Response(None, 304, {"ETag": etag})
    response.headers["ETag"] = etag
    return response


def build_redirect(location: str) -> Response:
    """Redirect with 303. `location` is one of our addresses or a provider's. Raises ValueError for
    characters that an address cannot contain, such as those that would end a header."""
    if not location.isascii() or not location.isprintable() or " " in location:
        raise ValueError("this is not an address to redirect to")
    return Response(None, 303, {**_NO_INDEXING, "Location": location})


def build_asset_response(
    body: bytes, content_type: str, *, is_immutable: bool,
    more: Mapping[str, str] | None = None,
) -> Response:  # fmt: skip
    """Respond with a stylesheet, script or picture. `is_immutable` says that the address changes
    with the content, so that browsers may cache the response forever. An SVG that is opened on its
    own cannot run scripts."""
    headers = {
        "Content-Type": content_type,
        "Cache-Control": "public, max-age=31536000, immutable" if is_immutable else "no-store",
        "Content-Security-Policy": _NO_SCRIPTS_POLICY,
        **_NO_INDEXING,
        **(more or {}),
    }
    return Response(body, 200, headers)


def build_file_response(body: bytes, content_type: str, name: str | None = None) -> Response:
    """Respond with a file of one claim: a picture on a page or, with `name`, a download. A file
    that is opened on its own cannot run scripts."""
    headers = {
        **_NO_INDEXING,
        "Content-Type": content_type,
        "Content-Security-Policy": _NO_SCRIPTS_POLICY,
    }
    if name is not None:
        headers["Content-Disposition"] = render_disposition(name)
    return Response(body, 200, headers)


CSS = "text/css; charset=utf-8"
_TYPES = {".css": CSS, ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


class AssetFolder:
    """The assets in one folder, and the scripts in its subfolder `scripts`."""

    def __init__(self, folder: Path, build_address: Callable[[str], str]) -> None:
        """`build_address` returns the address of an asset by its file name."""
        paths = [*folder.glob("*.css"), *folder.glob("*.svg"), *folder.glob("scripts/*.js")]
        self.contents: Mapping[str, tuple[str, bytes]] = {
            path.stem: (path.suffix, path.read_bytes()) for path in sorted(paths)
        }
        # The addresses by the names of the assets.
        self.addresses: Mapping[str, str] = {
            name: build_address(f"{name}-{sha256(content).hex()[:12]}{suffix}")
            for name, (suffix, content) in self.contents.items()
        }

    async def send(self, _site: object, request: Request) -> Response:
        """Send an asset. An older address gets the current content. Raises NotFound.

        Compressing it is safe, because it contains no secret that its length could reveal.
        """
        file_name = request.path_params["name"]
        name = file_name.partition("-")[0]
        if name not in self.contents:
            raise NotFound("There is no such file.")
        suffix, content = self.contents[name]
        is_current = self.addresses[name].endswith(f"/{file_name}")
        more = {"Vary": "Accept-Encoding"}
        if accepts_gzip(request.headers.get("accept-encoding", "")):
            content, more = _compress(content), {**more, "Content-Encoding": "gzip"}
        return build_asset_response(content, _TYPES[suffix], is_immutable=is_current, more=more)


@cache
def _compress(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)
