"""The outermost ASGI layer of a web process, for every request and response of every application.

It checks the Host header, limits concurrent requests, and adds the common response headers. The
limits on connections and request heads are in `platform.http.server`.
"""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ipaddress import ip_address
from urllib.parse import urlsplit

import prometheus_client
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dunwell.interfaces.api.answer import build_crash_response, build_refusal_response
from dunwell.platform.config import Settings
from dunwell.platform.errors import InvalidRequest, RateLimited, Refusal
from dunwell.platform.http.addresses import get_visitor_network
from dunwell.platform.http.requests import ConcurrencyLimit, get_request_id
from dunwell.platform.http.server import RenderedResponse
from dunwell.platform.metrics import REGISTRY
from dunwell.platform.resources import Resources
from dunwell.platform.watched_clock import get_host_time

# The characters that RFC 3986, 3.2 allows in a host.
_HOST = re.compile(r"[0-9A-Za-z!$&'()*+,;=\-._~:\[\]@%]*")
_PORT = re.compile(r":[0-9]*$")
RawHeaders = Sequence[tuple[bytes, bytes]]
# The defaults for responses that set no such header: they may load nothing and are not cached.
_DEFAULT_HEADERS: RawHeaders = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (
        b"content-security-policy",
        b"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
)
# For one year. Subdomains are not included, because other hosts of the domain may not be ours.
_TLS_HEADERS: RawHeaders = ((b"strict-transport-security", b"max-age=31536000"),)

# The limit for one visitor in one process. A request counts from the end of its head to the end of
# its response. At 100 ms each, an office or a mobile network behind one address can send a thousand
# requests per second; a merchant's program that creates claims at full speed uses 64.
MAX_REQUESTS_IN_PROGRESS = 100
_refused = prometheus_client.Counter(
    "dunwell_visitor_refused", "Requests that were refused because their visitor had too many in "
        "progress.",
    registry=REGISTRY,
)  # fmt: skip


def list_common_headers(settings: Settings) -> RawHeaders:
    """Return the headers that every response has unless it sets them itself."""
    return _DEFAULT_HEADERS if settings.is_development else (*_DEFAULT_HEADERS, *_TLS_HEADERS)


def _add_default_headers(
    own_headers: RawHeaders, default_headers: RawHeaders, request_id: str
) -> RawHeaders:
    names = {name.lower() for name, _ in own_headers}
    missing = [each for each in default_headers if each[0] not in names]
    return [*own_headers, *missing, (b"x-request-id", request_id.encode())]


def build_server_refusal_renderer(resources: Resources) -> Callable[[Refusal], RenderedResponse]:
    """Return a function that renders the refusals of the HTTP server itself, with the envelope and
    headers of all responses."""
    default_headers = list_common_headers(resources.settings)

    def render_refusal(refusal: Refusal) -> RenderedResponse:
        response = build_refusal_response(refusal)
        own_headers = [each for each in response.raw_headers if each[0] != b"content-length"]
        request_id = str(resources.ids.new(get_host_time(resources.clock)))
        headers = _add_default_headers(own_headers, default_headers, request_id)
        return response.status_code, [*headers], bytes(response.body)

    return render_refusal


def list_host_names(public_url: str) -> frozenset[str]:
    """Return the values of the Host header that name the host of this address, in lower case."""
    address = urlsplit(public_url)
    default_port = {"http": 80, "https": 443}[address.scheme]
    host = address.netloc.lower()
    if address.port is None:
        return frozenset((host, f"{host}:{default_port}"))
    return frozenset((host, host.removesuffix(f":{default_port}")))


def is_loopback_host(host: str) -> bool:
    """Return whether a Host header names the machine that the browser runs on, at any port.

    A name that needs a DNS lookup is not accepted: its owner could point it to 127.0.0.1, and then
    another site's pages could read what this machine serves (DNS rebinding).
    """
    name = _PORT.sub("", host).lower()
    # These names are never looked up (RFC 6761, 6.3).
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


class Edge:
    """Wraps an application: checks the Host header, limits concurrent requests, adds the common
    headers to every response, and responds to exceptions that no inner layer handles."""

    def __init__(
        self, app: ASGIApp, resources: Resources, find_visitor: Callable[[str, list[str]], str],
        *, free_paths: frozenset[str] | None = None,
    ) -> None:  # fmt: skip
        """Wrap `app`.

        `find_visitor` returns the visitor's address from that of the peer and the X-Forwarded-For
        headers. `free_paths` are for health checks, which address a process by its IP address: they
        are served under any Host header, and do not count towards the limit on concurrent requests.
        With None, every path is served under any Host header, and every request counts.
        """
        self._app = app
        self._public_url = resources.settings.public_url
        self._hosts = list_host_names(self._public_url) if free_paths is not None else None
        # In development, an IDE or a tunnel may forward another port than that of the public URL.
        self._accepts_loopback_hosts = resources.settings.is_development
        self._free_paths = free_paths or frozenset()
        self._resources = resources
        self._find_visitor = find_visitor
        self._headers = list_common_headers(resources.settings)
        self._in_progress = ConcurrencyLimit(
            MAX_REQUESTS_IN_PROGRESS,
            f"More than {MAX_REQUESTS_IN_PROGRESS} requests from your address are in progress. "
            "Wait until some of them are complete, then repeat this one.",
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # Ignore trailing slashes, and treat repeated slashes as one.
        scope["path"] = "/" + re.sub("//+", "/", scope["path"].strip("/"))
        self._set_visitor(scope)
        request_id = get_request_id(scope, self._resources)
        has_started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_started
            if message["type"] == "http.response.start":
                has_started = True
                own_headers = message.get("headers", ())
                message["headers"] = _add_default_headers(own_headers, self._headers, request_id)
            await send(message)

        try:
            await self._serve(scope, receive, send_with_headers)
        except Exception as error:
            if has_started:
                raise
            response = build_crash_response(error, request_id, scope["path"][:200])
            await response(scope, receive, send_with_headers)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._choose_application(scope)
        with ExitStack() as exit_stack:
            # Health checks are not limited, because they may share an address with other clients.
            if scope["path"] not in self._free_paths:
                visitor = get_visitor_network(scope["client"][0] if scope["client"] else "")
                try:
                    exit_stack.enter_context(self._in_progress.hold(visitor))
                except RateLimited as refusal:
                    _refused.inc()
                    app = build_refusal_response(refusal)
            await app(scope, receive, send)

    def _set_visitor(self, scope: Scope) -> None:
        """Replace the client in the scope, which may be a proxy, by the visitor."""
        if scope["client"]:
            peer, port = scope["client"]
            forwarded = Headers(scope=scope).getlist("x-forwarded-for")
            scope["client"] = (self._find_visitor(peer, forwarded), port)

    def _choose_application(self, scope: Scope) -> ASGIApp:
        hosts = Headers(scope=scope).getlist("host")
        # If there are several Host headers, a proxy may have used another one than this service
        # would (RFC 9112, 3.2).
        host = hosts[0] if len(hosts) == 1 else ""
        if len(hosts) > 1 or _HOST.fullmatch(host) is None:
            return build_refusal_response(
                InvalidRequest(
                    "The request cannot be read. Send exactly one Host header with a valid host."
                )
            )
        if not self._is_own_host(host) and scope["path"] not in self._free_paths:
            return build_refusal_response(
                InvalidRequest(
                    f"This service is available only at {self._public_url}. A proxy must pass "
                    "on the Host header unchanged."
                )
            )
        return self._app

    def _is_own_host(self, host: str) -> bool:
        if self._hosts is None or host.lower() in self._hosts:
            return True
        return self._accepts_loopback_hosts and is_loopback_host(host)
