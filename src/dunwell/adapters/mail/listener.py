"""Receive e-mail at the delivery providers' return domains by SMTP or LMTP. The server relays
nothing, accepts no other domain, and limits sizes, connections and durations.

A message is confirmed once it is stored. While the database is unavailable, the client is asked to
try again later.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Literal, cast, get_args

import structlog
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.adapters.channels.smtp.return_addresses import parse_return_address
from dunwell.adapters.mail import incoming
from dunwell.adapters.mail.receive_mail import MailParser, list_return_domains, receive_mail
from dunwell.cases.replies.receive_reply import ReplyOutcome
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

Protocol = Literal["SMTP", "LMTP"]
MAX_BYTES = 10 * 1024 * 1024
# The largest number of lines in one message, including the commands. This is more than is parsed
# (`incoming.MAX_LINES`).
MAX_LINES = 250_000
# The largest number of open connections of each protocol.
MAX_CONNECTIONS = 20
# The largest number of SMTP connections from one client address. The operator's own mail server,
# which uses LMTP, may use all LMTP connections.
_MAX_CONNECTIONS_PER_HOST = 5
# The longest time from one command to the next, which includes receiving the content.
_COMMAND_SECONDS = 60
# The longest duration of a connection, however busy it is.
_CONNECTION_SECONDS = 600
# The largest number of messages of each protocol that are processed at a time.
_PARSED_AT_ONCE = 2
_RESPONSES = {
    ReplyOutcome.NEW: "250 2.0.0 Taken",
    ReplyOutcome.KNOWN: "250 2.0.0 Already accepted",
    ReplyOutcome.GONE: "550 5.1.1 The claim of this message no longer accepts replies",
    ReplyOutcome.TOO_MANY: "452 4.2.2 Too many messages in one day",
}

log = structlog.get_logger(__name__)


class MailHandler:
    """An aiosmtpd handler. It decides which connections and messages are accepted."""

    def __init__(
        self, resources: Resources, parser: MailParser, find_providers: Callable[[], Any], *,
        max_connections: int = MAX_CONNECTIONS,
    ) -> None:  # fmt: skip
        """`find_providers` returns the current delivery providers by name. `max_connections` is the
        limit of connections for each protocol."""
        self._resources = resources
        self._parser = parser
        self._find_providers: Callable[[], dict[str, DeliveryProvider]] = find_providers
        # Each protocol has its own limit, so that strangers on one do not block the other.
        protocols: tuple[Protocol, ...] = get_args(Protocol)
        self._slots = {protocol: asyncio.Semaphore(_PARSED_AT_ONCE) for protocol in protocols}
        self._max_connections = max_connections
        self.open_connections: Mapping[Protocol, Counter[str]] = {
            protocol: Counter() for protocol in protocols
        }

    def accepts_connection(self, host: str, protocol: Protocol) -> bool:
        open_now = self.open_connections[protocol]
        is_full = open_now.total() >= self._max_connections
        return not is_full and (protocol == "LMTP" or open_now[host] < _MAX_CONNECTIONS_PER_HOST)

    def is_busy(self, protocol: Protocol) -> bool:
        """Return whether the next message has to wait."""
        return self._slots[protocol].locked()

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's
        self, _server: Any, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if envelope.rcpt_tos:
            # Each recipient is confirmed separately.
            return "452 4.5.3 One recipient at a time"
        if self._find_provider(address) is None:
            return "550 5.7.1 We accept no mail for this domain"
        if _get_sender(envelope) and parse_return_address(self._resources.keys, address) is None:
            return "550 5.1.1 There is no such address"
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's
        self, server: Any, _session: Session, envelope: Envelope
    ) -> str:
        protocol: Protocol = server.protocol
        [recipient] = envelope.rcpt_tos
        provider, content = self._find_provider(recipient), envelope.content
        if provider is None or not isinstance(content, bytes):
            return "550 5.7.1 We accept no mail for this domain"
        received = incoming.Envelope(
            provider,
            _get_sender(envelope),
            recipient,
            content,
            is_from_our_server=protocol == "LMTP",
        )
        try:
            async with self._slots[protocol]:
                return _RESPONSES[await receive_mail(self._resources, self._parser, received)]
        except Unavailable:
            return "451 4.3.0 Try again later"

    async def handle_exception(self, error: Exception) -> str:
        log.error("mail not accepted", error=type(error).__name__)
        return "451 4.3.0 Try again later"

    def _find_provider(self, address: str) -> str | None:
        domain = address.rpartition("@")[2].lower()
        return list_return_domains(self._find_providers()).get(domain)


def _get_sender(envelope: Envelope) -> str:
    """Return the sender, "" for a message that must not be answered, for which aiosmtpd has
    "<>"."""
    return (envelope.mail_from or "").removeprefix("<>")


def _build_connection(handler: MailHandler, protocol: Protocol) -> SMTP:
    kind = _LmtpConnection if protocol == "LMTP" else _SmtpConnection
    return kind(
        handler,
        data_size_limit=MAX_BYTES,
        enable_SMTPUTF8=True,
        hostname="dunwell",
        ident="mail",
        timeout=_COMMAND_SECONDS,
    )


class _LimitedConnection(SMTP):
    """A connection that is counted while it is open and closed after a maximum time."""

    protocol: Protocol = "SMTP"
    _client_host = ""
    _end: asyncio.TimerHandle | None = None
    # The envelope to which the counts below belong. Each message has its own.
    _counted: Envelope | None = None
    _lines = 0
    _bytes = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        handler: MailHandler = self.event_handler
        host = str((transport.get_extra_info("peername") or ("",))[0])
        if not handler.accepts_connection(host, self.protocol):
            transport = cast(asyncio.WriteTransport, transport)
            transport.write(b"421 4.3.2 Too many connections\r\n")
            transport.close()
            return
        self._client_host = host
        handler.open_connections[self.protocol][host] += 1
        loop = asyncio.get_running_loop()
        self._end = loop.call_later(_CONNECTION_SECONDS, transport.close)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._end is None:
            return
        self._count(data)
        if self._lines > MAX_LINES or self._bytes > 2 * MAX_BYTES:
            # Close the connection, because the library would read the whole rest of the message,
            # line by line.
            transport = cast(asyncio.WriteTransport, self.transport)
            transport.write(b"552 5.3.4 Too large, or too many lines\r\n")
            transport.close()
            return
        super().data_received(data)

    def _count(self, data: bytes) -> None:
        """Count what was received since the last message."""
        envelope = self.envelope
        if envelope is not self._counted:
            self._counted, self._lines, self._bytes = envelope, 0, 0
        self._lines += data.count(b"\n")
        self._bytes += len(data)

    def eof_received(self) -> bool | None:
        return None if self._end is None else super().eof_received()

    def connection_lost(self, error: Exception | None) -> None:
        if self._end is None:
            return
        self._end.cancel()
        self._end = None
        open_now = self.event_handler.open_connections[self.protocol]
        open_now[self._client_host] -= 1
        if not open_now[self._client_host]:
            del open_now[self._client_host]
        super().connection_lost(error)


class _SmtpConnection(_LimitedConnection):
    pass


class _LmtpConnection(_LimitedConnection, LMTP):
    protocol: Protocol = "LMTP"


@asynccontextmanager
async def listen(
    handler: MailHandler, protocol: Protocol, host: str, port: int
) -> AsyncIterator[int]:
    """Listen and yield the port. Port 0 means any free port."""
    # aiosmtpd would log addresses.
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)
    server = await asyncio.get_running_loop().create_server(
        lambda: _build_connection(handler, protocol), host, port
    )
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
