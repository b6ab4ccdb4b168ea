"""Outgoing HTTP: one client for webhooks, channels and providers, which cannot be turned inwards.

Each address is checked when its socket is made, so a literal, a name's answer and an answer that
changed since it was looked up are all judged by what would really be connected to. Redirects,
cookies and proxies do not exist here, and an answer is read only as far as its first few bytes.
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

_KEPT_BYTES = 4096
# A connection the other side closed while it was idle shows at once; later is another failure.
_STALE_SECONDS = 2.0
_NAME_LOOKUPS = 64
_CONNECT_SECONDS = 10.0
# Nothing of the request had left by then.
_UNSENT = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL)
_FAILURES = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class AddressRefused(PermissionError):  # noqa: N818 - reads as what happened
    """The address lies inside; nothing was sent to it."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """What came back: the status, its headers, and the first bytes of the body."""

    status: int
    headers: Mapping[str, str]
    start: bytes


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Nothing came back, and why, in words that hold no part of the address."""

    reason: str
    # Whether the request may have reached the other side.
    may_have_left: bool = True


class HttpClient:
    """Asks other people's servers. Stateless but for its connections."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str] = _NO_HEADERS
    ) -> HttpResponse | NoAnswer:
        """Post once, and a second time at once if the first met a connection gone stale."""
        started = time.monotonic()
        try:
            return await self._post(url, body, headers)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
            was_late = time.monotonic() - started > _STALE_SECONDS
            if was_late or isinstance(error, aiohttp.ClientConnectorError):
                return NoAnswer(describe_failure(error))
        except _FAILURES as error:
            return NoAnswer(describe_failure(error))
        try:
            return await self._post(url, body, headers)
        except _FAILURES as error:
            return NoAnswer(describe_failure(error))

    async def post_once(
        self, url: str, body: bytes, headers: Mapping[str, str] = _NO_HEADERS, *,
        most_bytes: int = _KEPT_BYTES,
    ) -> HttpResponse | NoAnswer:  # fmt: skip
        """Post once and never again, over a connection of its own: for what must not be taken
        twice. Whether it may have been taken is told. most_bytes: of the answer."""
        try:
            own = {**headers, "Connection": "close"}
            return await self._post(url, body, own, most_bytes)
        except _FAILURES as error:
            return NoAnswer(describe_failure(error), may_have_left=not isinstance(error, _UNSENT))

    async def get(
        self, url: str, headers: Mapping[str, str] = _NO_HEADERS, *, most_bytes: int = _KEPT_BYTES
    ) -> HttpResponse | NoAnswer:
        """Ask once. most_bytes: of the answer."""
        try:
            async with self._session.get(url, headers=headers, allow_redirects=False) as response:
                start = await _read_start(response, most_bytes)
                return HttpResponse(response.status, response.headers, start)
        except _FAILURES as error:
            return NoAnswer(describe_failure(error))

    async def _post(
        self, url: str, body: bytes, headers: Mapping[str, str], most_bytes: int = _KEPT_BYTES
    ) -> HttpResponse:
        async with self._session.post(
            url, data=body, headers=headers, allow_redirects=False
        ) as response:
            start = await _read_start(response, most_bytes)
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
    """A client whose requests last `timeout_seconds` in all, name lookup and reading included.

    `resolver`: what names are looked up with, instead of the system. `networks`: the only ones it
    connects to, where an operator names networks of their own; else all that are not inside.
    `authorities`: certificates, in PEM, that are trusted beside the public ones.
    `keeps_connections`: none that has gone stale is met without.
    """
    resolver = resolver or _Resolver()
    connector = aiohttp.TCPConnector(
        resolver=resolver,
        limit=0,  # callers have slots of their own
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
        auto_decompress=False,  # a small answer must not unpack into a large one
    )
    async with session:
        yield HttpClient(session)
    await resolver.close()


def build_tls_context(authorities: str) -> ssl.SSLContext:
    """Trusts these, in PEM, and the public ones. Raises ssl.SSLError."""
    context = ssl.create_default_context()
    context.load_verify_locations(cadata=authorities)
    return context


class _Resolver(AbstractResolver):
    """Looks names up in threads of its own: a name server that hangs holds nobody else's names."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_NAME_LOOKUPS, thread_name_prefix="names")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await asyncio.get_running_loop().run_in_executor(
            self._threads, _look_up, host, port, family
        )
        return [
            ResolveResult(
                hostname=host, host=str(address[0]), port=port,
                family=family, proto=proto, flags=socket.AI_NUMERICHOST,
            )
            for family, _, proto, _, address in found
        ]  # fmt: skip

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
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


async def _read_start(response: aiohttp.ClientResponse, most_bytes: int) -> bytes:
    """The first bytes of the body; of a longer one the rest is never read."""
    start = b""
    while not response.content.at_eof() and len(start) < most_bytes:
        start += await response.content.read(most_bytes - len(start))
    if not response.content.at_eof():
        response.close()
    return start


def describe_failure(error: BaseException) -> str:
    """A failure in a few words for a log of tries; never the error's own text, which may hold
    the address and what is secret in it."""
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
