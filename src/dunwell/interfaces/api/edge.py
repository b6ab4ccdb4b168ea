"""The outermost layer of a web process: what holds for every request and every answer, whichever
application it is for. Headers that all answers bear belong here; what is bounded before a request
is one, in `platform.http.server`."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ipaddress import ip_address
from urllib.parse import urlsplit

import prometheus_client
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dunwell.interfaces.api.answer import answer_crash, answer_refusal
from dunwell.platform.config import Settings
from dunwell.platform.errors import InvalidRequest, RateLimited, Refusal
from dunwell.platform.http.addresses import get_visitor_network
from dunwell.platform.http.requests import ConcurrencyLimit, request_id_of
from dunwell.platform.http.server import RenderedResponse
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources
from dunwell.platform.watched_clock import read_host_clock

# The characters of RFC 3986, 3.2.
_HOST = re.compile(r"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")
_PORT = re.compile(r":[0-9]*$")
RawHeaders = Sequence[tuple[bytes, bytes]]
# Where an answer says nothing else of its own, it may do and load nothing, and is kept nowhere.
_EVERYWHERE: RawHeaders = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
)
# A year. Only of this host: what else its domain holds is not ours.
_ONLY_TLS: RawHeaders = ((b"strict-transport-security", b"max-age=31536000"),)

# From the end of a request's head to the end of its response, of one visitor in one process. An
# office or a mobile network behind one address has a thousand requests a second with so many, at
# 100 ms each; a merchant's program that creates claims as fast as it can uses 64.
MOST_REQUESTS_IN_PROGRESS = 100
_refused = prometheus_client.Counter(
    "dunwell_visitor_refused", "Requests refused as their visitor had too many in progress.",
    registry=REGISTRY,
)  # fmt: skip


def list_headers(settings: Settings) -> RawHeaders:
    """What every answer bears, whoever makes it."""
    return _EVERYWHERE if settings.is_development else (*_EVERYWHERE, *_ONLY_TLS)


def _complete(own: RawHeaders, everywhere: RawHeaders, request_id: str) -> RawHeaders:
    names = {name.lower() for name, _ in own}
    further = [each for each in everywhere if each[0] not in names]
    return [*own, *further, (b"x-request-id", request_id.encode())]


def build_outside_answer(resources: Resources) -> Callable[[Refusal], RenderedResponse]:
    """What the server itself refuses, in the envelope and with the headers of every answer."""
    everywhere = list_headers(resources.settings)

    def answer(refusal: Refusal) -> RenderedResponse:
        response = answer_refusal(refusal)
        own = [each for each in response.raw_headers if each[0] != b"content-length"]
        request_id = str(resources.ids.new(read_host_clock(resources.clock)))
        headers = _complete(own, everywhere, request_id)
        return response.status_code, [*headers], bytes(response.body)

    return answer


def name_hosts(public_url: str) -> frozenset[str]:
    """What a request may call the host of this address, in small letters."""
    address = urlsplit(public_url)
    usual = {"http": 80, "https": 443}[address.scheme]
    named = address.netloc.lower()
    if address.port is None:
        return frozenset((named, f"{named}:{usual}"))
    return frozenset((named, named.removesuffix(f":{usual}")))


def is_own_machine(host: str) -> bool:
    """Return whether a Host header names the machine that the browser runs on, at any port.

    No name that is looked up is one: whoever owns a name can let it lead to 127.0.0.1, and then the
    pages of another site could read what this machine serves (DNS rebinding).
    """
    name = _PORT.sub("", host).lower()
    if name == "localhost" or name.endswith(".localhost"):  # never looked up (RFC 6761, 6.3)
        return True
    try:
        return ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


class Edge:
    """Gives every answer its headers, and answers what nothing further in does."""

    def __init__(
        self, app: ASGIApp, resources: Resources, find_visitor: Callable[[str, list[str]], str],
        *, free_paths: frozenset[str] | None = None,
    ) -> None:  # fmt: skip
        """find_visitor: whose request it is, from who called and the X-Forwarded-For headers.
        free_paths: what is asked for under any host, as machines ask that know a process by its
        number; none: all of it."""
        self._app = app
        self._public_url = resources.settings.public_url
        self._hosts = name_hosts(self._public_url) if free_paths is not None else None
        # In development an IDE or a tunnel may lead here by another port than that of the address.
        self._takes_own_machine = resources.settings.is_development
        self._free_paths = free_paths or frozenset()
        self._resources = resources
        self._find_visitor = find_visitor
        self._headers = list_headers(resources.settings)
        self._in_progress = ConcurrencyLimit(
            MOST_REQUESTS_IN_PROGRESS,
            f"More than {MOST_REQUESTS_IN_PROGRESS} requests from your address are in progress. "
            "Wait for some of them to be answered, then send this one again.",
        )

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
                own = message.get("headers", ())
                message["headers"] = _complete(own, self._headers, request_id)
            await send(message)

        try:
            await self._serve(scope, receive, send_marked)
        except Exception as error:
            if has_begun:
                raise
            answer = answer_crash(error, request_id, scope["path"][:200])
            await answer(scope, receive, send_marked)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._find_application(scope)
        with ExitStack() as holding:
            # Whether the process is well is asked by machines that may be anybody's neighbours.
            if scope["path"] not in self._free_paths:
                visitor = get_visitor_network(scope["client"][0] if scope["client"] else "")
                try:
                    holding.enter_context(self._in_progress.hold(visitor))
                except RateLimited as refusal:
                    _refused.inc()
                    app = answer_refusal(refusal)
            await app(scope, receive, send)

    def _set_visitor(self, scope: Scope) -> None:
        """From here on the client is the visitor, whichever proxies stand between."""
        if scope["client"]:
            peer, port = scope["client"]
            forwarded = Headers(scope=scope).getlist("x-forwarded-for")
            scope["client"] = (self._find_visitor(peer, forwarded), port)

    def _find_application(self, scope: Scope) -> ASGIApp:
        hosts = Headers(scope=scope).getlist("host")
        # Of several, a proxy in front may have decided by another than we would (RFC 9112, 3.2).
        host = hosts[0] if len(hosts) == 1 else ""
        if len(hosts) > 1 or _HOST.fullmatch(host) is None:
            return answer_refusal(
                InvalidRequest("The request cannot be read. Send one Host header, with a host.")
            )
        if not self._is_own(host) and scope["path"] not in self._free_paths:
            return answer_refusal(
                InvalidRequest(
                    f"This is served at {self._public_url}, under no other name. A proxy in front "
                    "passes the Host header on as it came."
                )
            )
        return self._app

    def _is_own(self, host: str) -> bool:
        if self._hosts is None or host.lower() in self._hosts:
            return True
        return self._takes_own_machine and is_own_machine(host)
