"""What goes back over HTTP: finished bytes under the strictest policy a page can live with.

Browsers and proxies keep nothing but stylesheets and logos, whose addresses name their content.
"""

import gzip
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec
from starlette.types import Receive, Scope, Send

from dunwell.files.names import render_disposition

Headers = tuple[tuple[bytes, bytes], ...]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "form-action {}; frame-ancestors 'none'; base-uri 'none'"
)
_COMMON: Headers = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-robots-tag", b"noindex, nofollow, noarchive"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
_PRIVATE: Headers = ((b"cache-control", b"no-store"), *_COMMON)
_PAGE: Headers = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cross-origin-opener-policy", b"same-origin"),
    *_PRIVATE,
)
_GZIPPED: Headers = ((b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding"))
# Pages up to here weigh little as they are (bytes). Of longer ones most is alike, such as the rows
# of a hundred items; where an address says what a page shows, it is sent as it is, so that nobody
# learns of its secrets from how well it packs beside words of their own.
LIGHT = 10 * 1024


class Answer(msgspec.Struct, frozen=True, gc=False):
    """An ASGI application that sends one response."""

    status: int
    headers: Headers
    body: bytes = b""

    def compress(self) -> "Answer":
        """A page, for a browser that takes gzip."""
        if _PAGE[0] not in self.headers:
            return self
        packed = gzip.compress(self.body, compresslevel=6, mtime=0)
        return Answer(self.status, (*self.headers, *_GZIPPED), packed)

    def bring(self, cookie: str) -> "Answer":
        """The same, with a cookie."""
        header = (b"set-cookie", cookie.encode("ascii"))
        return Answer(self.status, (*self.headers, header), self.body)

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        length = (b"content-length", b"%d" % len(self.body))
        start: Any = {
            "type": "http.response.start",
            "status": self.status,
            "headers": [length, *self.headers],
        }
        await send(start)
        await send({"type": "http.response.body", "body": self.body, "more_body": False})


def answer_page(
    body: bytes, status: int = 200, *, form_origins: Sequence[str] = (), more: Headers = ()
) -> Answer:
    """form_origins: other origins that a form's answer may redirect to."""
    return Answer(status, (*_head_page(tuple(form_origins)), *more), body)


@lru_cache(maxsize=64)
def _head_page(form_origins: tuple[str, ...]) -> Headers:
    policy = _POLICY.format(" ".join(["'self'", *form_origins])).encode()
    return (*_PAGE, (b"content-security-policy", policy))


def answer_redirect(location: str, *, cookie: str | None = None) -> Answer:
    """303. `location` must be an address of ours, or a provider's that it was given."""
    headers = [*_PRIVATE, (b"location", _encode(location))]
    if cookie is not None:
        headers.append((b"set-cookie", cookie.encode("ascii")))
    return Answer(303, tuple(headers))


def answer_asset(
    body: bytes, content_type: str, *, is_named_by_content: bool, more: Headers = ()
) -> Answer:
    """A stylesheet, script or picture. An SVG opened by itself may do nothing at all."""
    kept = b"public, max-age=31536000, immutable" if is_named_by_content else b"no-store"
    headers: Headers = (
        (b"content-type", content_type.encode("ascii")),
        (b"cache-control", kept),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
        *_COMMON,
        *more,
    )
    return Answer(200, headers, body)


def answer_file(body: bytes, content_type: str, name: str | None = None) -> Answer:
    """What is one claim's alone: a picture on a page, or, under a name, a file to keep. It may do
    nothing by itself."""
    headers = [
        *_PRIVATE,
        (b"content-type", content_type.encode("ascii")),
        (b"content-security-policy", b"default-src 'none'; sandbox"),
    ]
    if name is not None:
        headers.append((b"content-disposition", render_disposition(name).encode("ascii")))
    return Answer(200, tuple(headers), body)


def _encode(location: str) -> bytes:
    """Raises ValueError for what could end the header or is no address."""
    if not location.isascii() or not location.isprintable() or " " in location:
        raise ValueError("this is no address to redirect to")
    return location.encode("ascii")
