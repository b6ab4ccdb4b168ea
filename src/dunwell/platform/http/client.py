"""The HTTP client for webhooks, channels and providers, which cannot reach internal addresses.

Each address is checked when its socket is opened. The check therefore covers literal addresses,
resolved names, and names that resolve to another address later. The client follows no redirects,
keeps no cookies, uses no proxy, and reads only the beginning of a response.
"""

import asyncio
import socket
import ssl
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from dunwell.platform.http.addresses import Network, is_forbidden, is_within
from dunwell.platform.security_events import log_security_event

_RESPONSE_BYTES = 4096
# If the other side closed an idle connection, the request fails within this time. A later failure
# has another reason.
_STALE_SECONDS = 2.0
_NAME_LOOKUPS = 64
_CONNECT_SECONDS = 10.0
# With these errors, no part of the request was sent.
_NOTHING_SENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_FAILURES = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class AddressRefused(PermissionError):  # noqa: N818 - the suffix Error would add nothing
    """The address is internal, and nothing was sent to it."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response: its status, its headers, and the first bytes of its body."""

    status: int
    headers: Mapping[str, str]
    start: bytes


@dataclass(frozen=True, slots=True)
class NoResponse:
    """There was no response. The reason contains no part of the address."""

    reason: str
    # True if the request may have reached the other side. `post` always leaves it True.
    may_have_arrived: bool = True


class HttpClient:
    """Sends requests to other servers. It keeps no state except its connections."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str] = _NO_HEADERS
    ) -> HttpResponse | NoResponse:
        """Post a request. Repeat it once and immediately if the connection turned out to be
        closed."""
        started = time.monotonic()
        try:
            return await self._post(url, body, headers)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            was_late = time.monotonic() - started > _STALE_SECONDS
            if was_late or isinstance(error, aiohttp.ClientConnectorError):
                return NoResponse(describe_failure(error))
        except _FAILURES as error:
            return NoResponse(describe_failure(error))
        try:
            return await self._post(url, body, headers)
        except _FAILURES as error:
            return NoResponse(describe_failure(error))

    async def post_once(
        self, url: str, body: bytes, headers: Mapping[str, str] = _NO_HEADERS, *,
        max_bytes: int = _RESPONSE_BYTES,
    ) -> HttpResponse | NoResponse:  # fmt: skip
        """Post a request over a new connection and never repeat it, because it must not be executed
        twice. A failure says whether the request may have arrived. `max_bytes` limits the
        response."""
        try:
            own_headers = {**headers, "Connection": "close"}
            return await self._post(url, body, own_headers, max_bytes)
        except _FAILURES as error:
            return NoResponse(
                describe_failure(error), may_have_arrived=not isinstance(error, _NOTHING_SENT)
            )

    async def get(
        self,
        url: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        *,
        max_bytes: int = _RESPONSE_BYTES,
    ) -> HttpResponse | NoResponse:
        """Send a GET request once. `max_bytes` limits the response."""
        return await self.request("GET", url, headers, max_bytes=max_bytes)

    async def request(
        self, method: str, url: str, headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes | None = None, *, max_bytes: int = _RESPONSE_BYTES,
    ) -> HttpResponse | NoResponse:  # fmt: skip
        """Send a request once, over a new or a kept connection. `max_bytes` limits the response."""
        try:
            return await self._send(method, url, body, headers, max_bytes=max_bytes)
        except _FAILURES as error:
            return NoResponse(
                describe_failure(error), may_have_arrived=not isinstance(error, _NOTHING_SENT)
            )

    async def _post(
        self, url: str, body: bytes, headers: Mapping[str, str], max_bytes: int = _RESPONSE_BYTES
    ) -> HttpResponse:
        return await self._send("POST", url, body, headers, max_bytes=max_bytes)

    async def _send(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], *,
        max_bytes: int,
    ) -> HttpResponse:  # fmt: skip
        async with self._session.request(
            method, url, data=body, headers=headers, allow_redirects=False
        ) as response:
            start = await _read_start(response, max_bytes)
            return HttpResponse(response.status, response.headers, start)


@asynccontextmanager
async def open_http_client(  # noqa: PLR0913 - all that a caller may narrow
    *,
    allow_loopback: bool,
    user_agent: str,
    timeout_seconds: float = 15.0,
    resolver: AbstractResolver | None = None,
    networks: Sequence[Network] = (),
    authorities: str | None = None,
    keeps_connections: bool = True,
) -> AsyncIterator[HttpClient]:
    """Open a client whose requests take at most `timeout_seconds`, which includes resolving the
    name and reading the response.

    `resolver` replaces the system's name resolution. `networks` are the only networks that the
    client connects to, if an operator names private ones; otherwise it connects to all addresses
    that are not internal. `authorities` are PEM certificates that are trusted in addition to the
    public ones. Without `keeps_connections`, every request opens a new connection, so that none can
    be stale.
    """
    resolver = resolver or _Resolver()
    connector = aiohttp.TCPConnector(
        resolver=resolver,
        limit=0,  # Callers limit their requests themselves.
        ssl=True if authorities is None else build_tls_context(authorities),
        keepalive_timeout=30 if keeps_connections else None,
        force_close=not keeps_connections,
        socket_factory=lambda info: _open_checked_socket(
            info, networks, allow_loopback=allow_loopback
        ),
    )
    session = aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(
            total=timeout_seconds,
            sock_connect=None if keeps_connections else _CONNECT_SECONDS,
            ceil_threshold=timeout_seconds + 1,
        ),
        headers={"User-Agent": user_agent, "Accept-Encoding": "identity"},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,  # A small compressed response must not expand into a large one.
    )
    async with session:
        yield HttpClient(session)
    await resolver.close()


def build_tls_context(authorities: str) -> ssl.SSLContext:
    """Return a TLS context that trusts these PEM certificates and the public ones. Raises
    ssl.SSLError."""
    context = ssl.create_default_context()
    context.load_verify_locations(cadata=authorities)
    return context


class _Resolver(AbstractResolver):
    """Resolves names in its own threads, so that a name server that hangs does not delay other
    names."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_NAME_LOOKUPS, thread_name_prefix="names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        addresses = await asyncio.get_running_loop().run_in_executor(
            self._threads, _resolve_name, host, port, family
        )
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=port,
                family=family, proto=proto, flags=socket.AI_NUMERICHOST,
            )
            for family, _, proto, _, address in addresses
        ]  # fmt: skip

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _resolve_name(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
    return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM)


def _open_checked_socket(
    info: aiohttp.AddrInfoType, networks: Sequence[Network], *, allow_loopback: bool
) -> socket.socket:
    family, kind, protocol, _, address = info
    host = str(address[0])
    is_allowed = (
        is_within(host, networks)
        if networks
        else not is_forbidden(host, allow_loopback=allow_loopback)
    )
    if not is_allowed:
        log_security_event("ADDRESS_REFUSED")
        raise AddressRefused("The address lies in a range that is not connected to.")
    return socket.socket(family, kind, protocol)


async def _read_start(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Return the first bytes of the body. The rest of a longer body is never read."""
    start = b""
    while not response.content.at_eof() and len(start) < max_bytes:
        start += await response.content.read(max_bytes - len(start))
    if not response.content.at_eof():
        response.close()
    return start


def describe_failure(error: BaseException) -> str:
    """Describe a failure in a few words. Never return the error's own text, which may contain the
    address and its secrets."""
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(
        error.os_error, AddressRefused
    ):
        return "address not allowed"
    for kind, words in _FAILURE_WORDS:
        if isinstance(error, kind):
            return words
    return "no usable answer"


_FAILURE_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (TimeoutError, "timed out"),
    (aiohttp.ClientConnectorDNSError, "name not found"),
    (aiohttp.ClientConnectorCertificateError, "certificate not accepted"),
    (aiohttp.ClientSSLError, "no TLS connection"),
    (aiohttp.ClientConnectorError, "no connection"),
    (aiohttp.ServerDisconnectedError, "connection closed without an answer"),
    (aiohttp.ClientOSError, "connection broken"),
    (aiohttp.InvalidURL, "address not usable"),
    (aiohttp.ClientResponseError, "answer is not HTTP"),
    (aiohttp.ClientPayloadError, "answer incomplete"),
)
