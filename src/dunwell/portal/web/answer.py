"""What the portal answers over HTTP: pages under the strictest policy they can live with."""

from collections.abc import Mapping

from starlette.responses import Response

from dunwell.landing.web.answer import answer_asset, answer_file, answer_redirect, compress_page

__all__ = ["answer_asset", "answer_file", "answer_page", "answer_redirect", "compress_page"]

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


def answer_page(
    body: bytes, status: int = 200, *, more: Mapping[str, str] | None = None
) -> Response:
    return Response(body, status, {**_HEAD, **(more or {})})
