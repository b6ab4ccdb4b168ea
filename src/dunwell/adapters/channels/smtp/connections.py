"""Connections to a mail server. Each sends one message at a time and is then reused.

A connection that was interrupted or whose state is unknown is closed and never reused.
"""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import aiosmtplib

from dunwell.accounts.installation.delivery_providers import Encryption

_PORTS = {"TLS": 465, "STARTTLS": 587, "NONE": 25}
_CONNECT_SECONDS = 15.0
_QUIT_SECONDS = 2.0
# Servers close idle connections. Close ours earlier.
_MAX_IDLE_SECONDS = 20.0
# After this many messages a connection is closed, because some servers accept no more.
_MAX_MESSAGES = 100


@dataclass(frozen=True, slots=True)
class MailServer:
    """The address of a mail server and how to sign in."""

    host: str
    port: int
    encryption: Encryption
    user: str | None = None
    password: str | None = None
    # The name in the greeting, None for this machine's name.
    our_name: str | None = None


def parse_host(server: str, port: int) -> tuple[str, int]:
    """Return the host and port of "mail.example.com:587", "[::1]:25" or a host without a port,
    which gets `port`."""
    host, _, port_text = server.rpartition("]:" if server.startswith("[") else ":")
    if host and port_text.isdecimal():
        return host.lstrip("["), int(port_text)
    return server.strip("[]"), port


def get_default_port(encryption: Encryption) -> int:
    """Return the usual port for this encryption."""
    return _PORTS[encryption]


class Connection:
    """An open connection."""

    def __init__(self, client: aiosmtplib.SMTP) -> None:
        self.client = client
        self.messages = 0
        self.used_at = time.monotonic()

    @property
    def is_fresh(self) -> bool:
        """Return whether no message was sent over this connection yet."""
        return self.messages == 0

    @property
    def is_usable(self) -> bool:
        is_recent = time.monotonic() - self.used_at < _MAX_IDLE_SECONDS
        return self.client.is_connected and is_recent and self.messages < _MAX_MESSAGES


class Connections:
    """The connections of one delivery provider. They must be closed at the end."""

    def __init__(self, server: MailServer, *, limit: int) -> None:
        self._server = server
        self._slots = asyncio.Semaphore(limit)
        self._idle: list[Connection] = []
        self._context: ssl.SSLContext | None = None

    @asynccontextmanager
    async def lend(self, *, is_new: bool = False) -> AsyncIterator[Connection]:
        """Lend a connection for one message. After an exception in the block it is closed. Raises
        the exceptions of connecting: OSError, TimeoutError, aiosmtplib.SMTPException."""
        async with self._slots:
            connection = None if is_new else self._pop_idle()
            if connection is None:
                connection = Connection(await self.connect())
            try:
                yield connection
            except BaseException:
                connection.client.close()
                raise
            connection.used_at = time.monotonic()
            if connection.client.is_connected:
                self._idle.append(connection)

    def _pop_idle(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable:
                return connection
            connection.client.close()
        return None

    async def connect(self) -> aiosmtplib.SMTP:
        """Return a new connection that is encrypted and signed in as configured."""
        server = self._server
        if server.encryption != "NONE" and self._context is None:
            self._context = await asyncio.to_thread(ssl.create_default_context)
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            username=server.user,
            password=server.password,
            local_hostname=server.our_name,
            use_tls=server.encryption == "TLS",
            start_tls=server.encryption == "STARTTLS",
            tls_context=self._context,
            timeout=_CONNECT_SECONDS,
        )
        try:
            await client.connect()
            if client.is_ehlo_or_helo_needed:  # Ask for the server's extensions.
                await client.ehlo()
        except BaseException:
            client.close()
            raise
        return client

    async def close(self) -> None:
        """Close the idle connections. A lent connection is closed by its user."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(quit_connection(connection.client) for connection in idle))


async def quit_connection(client: aiosmtplib.SMTP) -> None:
    """Say goodbye to the server and close the connection, whether the server responds or not."""
    with suppress(aiosmtplib.SMTPException, OSError, TimeoutError):
        await client.quit(timeout=_QUIT_SECONDS)
    client.close()
