"""What the portal answers over HTTP: pages under the strictest policy they can live with."""

from collections.abc import Mapping

from starlette.responses import Response

from dunwell.interfaces.landing.web.answer import (
    answer_asset,
    answer_file,
    answer_redirect,
    compress_page,
)
from dunwell.platform.crypto import sha256

__all__ = [
    "answer_asset", "answer_file", "answer_live", "answer_page", "answer_redirect",
    "compress_page",
]  # fmt: skip

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types dunwell"
)
_HEAD: Mapping[str, str] = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "X-Robots-Tag": "noindex, nofollow, noarchive",
}


def answer_live(answer: Response, headers: Mapping[str, str]) -> Response:
    """Of a page that is asked for again and again while somebody waits: with an ETag, by which what
    has not changed is not sent again."""
    etag = f'"{sha256(bytes(answer.body)).hex()[:32]}"'
    if headers.get("if-none-match") == etag:
        return Response(None, 304, {"ETag": etag})
    answer.headers["ETag"] = etag
    return answer


def answer_page(
    body: bytes, status: int = 200, *, more: Mapping[str, str] | None = None
) -> Response:
    return Response(body, status, {**_HEAD, **(more or {})})
