"""The outermost layer of a web process: what holds for every request and every answer, whichever
application it is for. Headers that all answers bear belong here; what is bounded before a request
is one, in `kit.http_server`."""

import re
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dunwell.api.answer import answer_crash, answer_refusal
from dunwell.errors import InvalidRequest, Refusal
from dunwell.kit.http_server import Words
from dunwell.kit.requests import request_id_of
from dunwell.kit.resources import Resources

# The characters of RFC 3986, 3.2.
_HOST = re.compile(r"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")


def build_outside_answer(resources: Resources) -> Callable[[Refusal], Words]:
    """What the server itself refuses, in the envelope and marked as every answer is."""

    def answer(refusal: Refusal) -> Words:
        response = answer_refusal(refusal)
        headers = [each for each in response.raw_headers if each[0] != b"content-length"]
        request_id = str(resources.ids.new(resources.clock.now()))
        marks = [(b"cache-control", b"no-store"), (b"x-request-id", request_id.encode())]
        return response.status_code, [*headers, *marks], bytes(response.body)

    return answer


class Edge:
    """Marks every answer with its request's id, and answers what nothing further in does."""

    def __init__(
        self, app: ASGIApp, resources: Resources, find_visitor: Callable[[str, list[str]], str]
    ) -> None:
        """find_visitor: whose request it is, from who called and the X-Forwarded-For headers."""
        self._app = app
        self._resources = resources
        self._find_visitor = find_visitor

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # An address means the same with a slash at its end, or with two where one would do.
        scope["path"] = "/" + re.sub("//+", "/", scope["path"].strip("/"))
        self._set_visitor(scope)
        request_id = request_id_of(scope, self._resources)
        has_begun = False

        async def send_marked(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                headers = MutableHeaders(scope=message)
                headers.setdefault("Cache-Control", "no-store")
                headers["X-Request-Id"] = request_id
            await send(message)

        try:
            await self._find_application(scope)(scope, receive, send_marked)
        except Exception as error:
            if has_begun:
                raise
            answer = answer_crash(error, request_id, scope["path"][:200])
            await answer(scope, receive, send_marked)

    def _set_visitor(self, scope: Scope) -> None:
        """From here on the client is the visitor, whichever proxies stand between."""
        if scope["client"]:
            peer, port = scope["client"]
            forwarded = Headers(scope=scope).getlist("x-forwarded-for")
            scope["client"] = (self._find_visitor(peer, forwarded), port)

    def _find_application(self, scope: Scope) -> ASGIApp:
        if _HOST.fullmatch(Headers(scope=scope).get("host", "")) is None:
            return answer_refusal(
                InvalidRequest("The request cannot be read. Check its head and its address.")
            )
        return self._app
