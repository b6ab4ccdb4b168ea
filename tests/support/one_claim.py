"""A browser with one open claim, for tests that need not distinguish claims: paths and cookie are
written without the claim's handle. test_landing_side_by_side covers several open claims."""

import gzip
import re
from collections.abc import Mapping

import httpx
from starlette.applications import Starlette

from dunwell.interfaces.landing import application
from dunwell.interfaces.landing.render.addresses import IN_CLAIM, insert_handle, strip_handle
from dunwell.interfaces.landing.session.session import HANDLE
from dunwell.interfaces.landing.web.in_session import PageHandler
from dunwell.interfaces.web.responses import name_cookie
from tests.support.application import ORIGIN

COOKIE = "dunwell"
# Any value in the format of a handle.
ONE = "a234567bcd"
# The routes of the pages without the handle.
ROUTES: Mapping[str, Mapping[str, PageHandler]] = {
    strip_handle(path): runs
    for path, runs in application.ROUTES.items()
    if path not in IN_CLAIM.values()
}
_ASSETS = ("/claim/assets/", "/claim/brand/")
_OUTSIDE = ("/claim/notices", "/real")
_PLACED = re.compile(rf"/claim/{HANDLE}(?=[/?#\"'\s<]|$)")
_SET = re.compile(rf"^((?:__Host-)?dunwell)-{HANDLE}=")
_BROUGHT = re.compile(rb"\bdunwell=")


def connect_one(app: Starlette, address: str = "127.0.0.1") -> httpx.AsyncClient:
    transport = OneClaim(httpx.ASGITransport(app, client=(address, 40000)))
    return httpx.AsyncClient(transport=transport, base_url=ORIGIN)


def hide_handle(text: str) -> str:
    return _PLACED.sub("/claim", text).replace("/claim/real", "/real")


class OneClaim(httpx.AsyncBaseTransport):
    """Sends requests to `inner` with the handle of the one claim added."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        brought = any(name.lower() == b"cookie" for name, _ in request.headers.raw)
        target = _place(request.url.raw_path.decode("ascii"), in_session=brought)
        headers = [(name, _name(name, value)) for name, value in request.headers.raw]
        url = request.url.copy_with(raw_path=target.encode("ascii"))
        asked = httpx.Request(
            request.method, url, headers=headers, stream=request.stream,
            extensions=request.extensions,
        )  # fmt: skip
        answer = await self._inner.handle_async_request(asked)
        return await _hide(answer)


def _place(target: str, *, in_session: bool) -> str:
    path, mark, query = target.partition("?")
    if path in _OUTSIDE:
        return f"/claim/{ONE}/{path.split('/')[-1]}{mark}{query}" if in_session else target
    is_claims = re.match(r"/claim(/|$)", path) and not path.startswith(_ASSETS)
    return target if not is_claims or _PLACED.match(path) else insert_handle(target, ONE)


def _name(name: bytes, value: bytes) -> bytes:
    is_cookie = name.lower() == b"cookie"
    return (
        _BROUGHT.sub(name_cookie(ONE, is_secure=False).encode() + b"=", value)
        if is_cookie
        else value
    )


async def _hide(answer: httpx.Response) -> httpx.Response:
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.headers.raw
    ]
    headers = [
        (name, _SET.sub(r"\1=", hide_handle(value))) for name, value in headers
        if name.lower() != "content-length"
    ]  # fmt: skip
    content = await answer.aread()
    if answer.headers.get("Content-Type", "").startswith("text/html"):
        content = hide_handle(content.decode()).encode()
    if answer.headers.get("Content-Encoding") == "gzip":
        content = gzip.compress(content, mtime=0)
    return httpx.Response(
        answer.status_code, headers=headers, content=content, extensions=answer.extensions
    )
