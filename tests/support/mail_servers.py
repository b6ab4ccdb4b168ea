"""A mail server for tests, built on aiosmtpd. It records the messages that it accepts; the local
part of the recipient decides what it does with a message."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session
from aiosmtpd.smtp import Session as SmtpSession

REFUSALS = {
    "nobody": "550 5.1.1 No such user here",
    "disabled": "550 5.2.1 Mailbox disabled",
    "full": "552 5.2.2 Mailbox full",
    "policy": "554 5.7.1 Message blocked by policy",
    "busy": "451 4.3.0 Try again later",
}


@dataclass
class ReceivedEmail:
    sender: str
    recipient: str
    content: bytes


@dataclass
class MailServer:
    """A handler for aiosmtpd."""

    taken: list[ReceivedEmail] = field(default_factory=list)
    attempts: Counter[str] = field(default_factory=Counter)
    connections: int = 0
    logins: list[str] = field(default_factory=list)
    port: int = 0
    # Whether to close the connection when the next message begins.
    drops_next: bool = False

    async def handle_MAIL(  # noqa: N802 - aiosmtpd's
        self, server: Any, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        if self.drops_next:
            self.drops_next = False
            server.transport.abort()
        word = address.partition("@")[0].rpartition("+")[2]
        if word in REFUSALS:
            return REFUSALS[word]
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's
        self, _server: Any, _session: Session, envelope: Envelope, address: str, _options: list[str]
    ) -> str:
        word = address.partition("@")[0].rpartition("+")[2]
        self.attempts[address] += 1
        if word in REFUSALS:
            return REFUSALS[word]
        if word == "grey" and self.attempts[address] == 1:
            return "450 4.7.1 Greylisted, come again"
        if word == "stall-before":
            await asyncio.Event().wait()
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's
        self, server: Any, _session: Session, envelope: Envelope
    ) -> str:
        assert isinstance(envelope.content, bytes)
        for recipient in envelope.rcpt_tos:
            word = recipient.partition("@")[0].rpartition("+")[2]
            if word == "late-refusal":
                return "554 5.6.0 I do not like what it says"
            sender = envelope.mail_from or ""
            self.taken.append(ReceivedEmail(sender, recipient, envelope.content))
            if word == "stall-after":
                await asyncio.Event().wait()
            if word == "garble-after":
                return "what is this"
            if word == "die-after":
                server.transport.abort()
                await asyncio.Event().wait()
        return f"250 2.0.0 OK: queued as {len(self.taken):08X}"

    def authenticate(
        self, _server: Any, _session: SmtpSession, _envelope: Envelope, _mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.logins.append(data.login.decode())
        return AuthResult(success=data.password == b"right", handled=False)


@asynccontextmanager
async def a_mail_server(
    *, context: ssl.SSLContext | None = None, is_tls: bool = False, port: int = 0, **given: Any
) -> AsyncIterator[MailServer]:
    """Run a mail server. `context` holds the TLS context; `is_tls` selects TLS from the first byte
    instead of STARTTLS. `port` defaults to a free port. `given` is passed to aiosmtpd's SMTP."""
    sink = MailServer()

    connections: list[SMTP] = []

    def serve() -> SMTP:
        sink.connections += 1
        tls: dict[str, Any] = {} if context is None or is_tls else {"tls_context": context}
        connection = SMTP(
            sink, hostname="sink.test", authenticator=sink.authenticate, **tls, **given
        )
        connections.append(connection)
        return connection

    loop = asyncio.get_running_loop()
    server = await loop.create_server(serve, "127.0.0.1", port, ssl=context if is_tls else None)
    sink.port = server.sockets[0].getsockname()[1]
    try:
        yield sink
    finally:
        server.close()
        for each in connections:
            if isinstance(each.transport, asyncio.WriteTransport):
                each.transport.abort()
        # The loop needs a few rounds to notice a closed connection.
        for _ in range(3):
            await asyncio.sleep(0)
