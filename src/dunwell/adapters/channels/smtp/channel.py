"""E-mail through the operator's mail server, signed with DKIM (RFC 6376) if configured.

Each message has its own sender address at the delivery provider's return domain, so that whatever
comes back identifies the message. Sending is not repeatable, because a mail server delivers every
copy that it accepts. A failure before the first byte of the content means that the message was not
sent. After that, a missing response means that its state is unknown.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import aiosmtplib
import structlog

from dunwell.accounts.installation.delivery_providers import ProviderPace, SmtpProvider
from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.internet_message import (
    AddressUnusable,
    build_internet_message,
    check_address,
)
from dunwell.adapters.channels.smtp.connections import (
    Connection,
    Connections,
    MailServer,
    get_default_port,
    parse_host,
)
from dunwell.adapters.channels.smtp.return_addresses import build_return_address
from dunwell.adapters.mail.bounce import parse_status
from dunwell.contact.sending.channel import (
    Accepted,
    DeliveryProviderUnusable,
    Message,
    Outcome,
    Permanent,
    Temporary,
)
from dunwell.platform.crypto import KeyRing

try:
    import dkim
    from dkim.crypto import UnparsableKeyError, parse_pem_private_key
except ImportError:  # The extra "dkim" is not installed.
    dkim = None

# The headers that a recipient sees, and those that programs act upon.
_SIGNED_HEADERS = (
    b"from", b"reply-to", b"to", b"subject", b"date", b"message-id", b"mime-version",
    b"content-type", b"list-unsubscribe", b"list-unsubscribe-post", b"auto-submitted",
)  # fmt: skip
_MISSING = 'DKIM needs the extra: install "dunwell[dkim]", or leave "dkim" out.'
_NO_KEY = "Its DKIM key is not valid: give an RSA private key in PEM format."


class Signer(Protocol):
    def sign(self, content: bytes) -> bytes:
        """Return the message preceded by its signature. Takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class _Dkim:
    domain: bytes
    selector: bytes
    key: bytes

    def sign(self, content: bytes) -> bytes:
        signature: bytes = dkim.sign(
            content, self.selector, self.domain, self.key,
            canonicalize=(b"relaxed", b"relaxed"), include_headers=list(_SIGNED_HEADERS),
        )  # fmt: skip
        return signature + content


def open_signer(name: str, provider: SmtpProvider, secrets: Mapping[str, bytes]) -> Signer | None:
    """Return the signer, or None if the delivery provider has no DKIM key. Raises
    DeliveryProviderUnusable.
    """
    if provider.dkim is None:
        return None
    if dkim is None:
        raise DeliveryProviderUnusable(_MISSING)
    key = secrets.get(f"deliveryProviders/{name}/dkim/keyFile", b"")
    try:
        parse_pem_private_key(key)
    except UnparsableKeyError as error:
        raise DeliveryProviderUnusable(_NO_KEY) from error
    return _Dkim(provider.dkim.domain.encode(), provider.dkim.selector.encode(), key)


# The message is not at fault: the server refuses our sign-in, which an operator has to resolve.
LOGIN_RETRY_SECONDS = 300
_ABOUT_US = (530, 534, 535, 538)
_ENHANCED = re.compile(r"\s*([245]\.\d{1,3}\.\d{1,3})\b")
_ADDRESS = re.compile(r"[^\s<>\"]+@[^\s<>\"]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\s]+")
_MAX_RESPONSE_LENGTH = 200


def interpret_refusal(code: int, text: str, *, is_sender_refused: bool = False) -> Outcome:
    """Interpret a response that refuses a message. `is_sender_refused` says that the
    server refused it before the recipient was named."""
    if code in _ABOUT_US:
        return build_login_refusal(code, text)
    if 500 <= code < 600:
        reason = f"The mail server refused it: {render_code(code, text)}."
        enhanced = _ENHANCED.match(text)
        status_meaning = parse_status(enhanced[1]) if enhanced else None
        if status_meaning is None or (is_sender_refused and status_meaning.cause == "ADDRESS"):
            return Permanent(reason)
        return Permanent(reason, status_meaning.cause)
    return Temporary(reason=f"The mail server deferred it: {render_code(code, text)}.")


def build_login_refusal(code: int, text: str) -> Temporary:
    reason = f"The mail server refuses the sign-in: {render_code(code, text)}."
    return Temporary(LOGIN_RETRY_SECONDS, reason)


def is_about_us(code: int) -> bool:
    """Return whether the server refuses us whatever the message is."""
    return code in _ABOUT_US


def render_code(code: int, text: str) -> str:
    """Return the code, followed by the enhanced code if the text has one: "550 5.1.1"."""
    enhanced = _ENHANCED.match(text)
    return f"{code} {enhanced[1]}" if enhanced else str(code)


def render_answer(code: int, text: str) -> str:
    """Return the server's response to an accepted message. It usually has the id in the server's
    log."""
    printable = _CONTROLS.sub(" ", text).strip()
    return f"{code} {_ADDRESS.sub('...', printable)}"[:_MAX_RESPONSE_LENGTH]


# Shorter than the caller's timeout, so that this timeout ends the call and it is known whether the
# content was sent.
_SEND_SECONDS = 50.0

log = structlog.get_logger(__name__)


class SmtpChannel:
    """A `ProviderAdapter` for e-mail. It must be closed at the end."""

    channel: Channel = "EMAIL"
    is_repeatable = False

    def __init__(
        self, name: str, provider: SmtpProvider, secrets: Mapping[str, bytes], keys: KeyRing,
        *, send_seconds: float = _SEND_SECONDS,
    ) -> None:  # fmt: skip
        """`secrets` are those of the installation file, by name. Raises
        DeliveryProviderUnusable.
        """
        self.name = name
        self._provider = provider
        self._keys = keys
        self._signer: Signer | None = open_signer(name, provider, secrets)
        self._connections = Connections(
            build_mail_server(name, provider, secrets), limit=provider.pace.at_once
        )
        self._send_seconds = send_seconds

    @property
    def pace(self) -> ProviderPace:
        return self._provider.pace

    async def close(self) -> None:
        await self._connections.close()

    async def send(self, message: Message) -> Outcome:
        try:
            mail = await self._build_mail(message)
        except AddressUnusable:
            return Permanent("The e-mail address cannot be written into a message.")
        try:
            async with asyncio.timeout(self._send_seconds):
                return await self._send(mail)
        except (TimeoutError, OSError, aiosmtplib.SMTPException) as error:
            if mail.has_sent_content:
                raise
            return self._decide_failure(error)

    async def _build_mail(self, message: Message) -> "_OutgoingMail":
        """Render and sign the message. Raises AddressUnusable."""
        sender, domain = message.sender, self._provider.return_domain
        if domain is not None:
            merchant_id, message_id = message.merchant_id, message.communication_id
            sender, reply_to = (
                build_return_address(
                    self._keys, purpose, domain,
                    merchant_id=merchant_id, communication_id=message_id,
                )
                for purpose in ("bounce", "reply")
            )  # fmt: skip
            message = replace(message, reply_to=reply_to)
        content = build_internet_message(message)
        if self._signer is not None:
            content = await asyncio.to_thread(self._signer.sign, content)
        return _OutgoingMail(check_address(sender), check_address(message.recipient), content)

    async def _send(self, mail: "_OutgoingMail") -> Outcome:
        """Send the message. Repeat it once if an idle connection turned out to be closed."""
        is_fresh = True
        try:
            async with self._connections.lend() as connection:
                is_fresh = connection.is_fresh
                return await mail.send_over(connection)
        except (aiosmtplib.SMTPServerDisconnected, ConnectionError):
            if mail.has_sent_content or is_fresh:
                raise
        async with self._connections.lend(is_new=True) as connection:
            return await mail.send_over(connection)

    def _decide_failure(self, error: Exception) -> Outcome:
        """Return the outcome of a failure before the content was sent. The server's own text may
        name the recipient and is not kept."""
        code = error.code if isinstance(error, aiosmtplib.SMTPResponseException) else None
        log.warning(
            "mail server unavailable", provider=self.name, error=type(error).__name__, code=code
        )
        if code is None:
            return Temporary(reason="The mail server did not answer.")
        if is_about_us(code):
            return build_login_refusal(code, "")
        return Temporary(reason=f"The mail server deferred it: {code}.")


class _OutgoingMail:
    """One message in the form in which the server receives it."""

    def __init__(self, sender: str, recipient: str, content: bytes) -> None:
        self._sender = sender
        self._recipient = recipient
        self._content = content
        # True if the server may have the content.
        self.has_sent_content = False

    async def send_over(self, connection: Connection) -> Outcome:
        """Send the message over a connection. Raises the connection's exceptions."""
        client = connection.client
        if not self._recipient.isascii() and not client.supports_extension("smtputf8"):
            return Permanent("The mail server does not accept an address with such letters.")
        try:
            await self._send_envelope(client)
            connection.messages += 1
            self.has_sent_content = True
            answer = await client.data(self._content)
        except aiosmtplib.SMTPResponseException as refused:
            if self.has_sent_content and 200 <= refused.code < 300:
                return Accepted(render_answer(refused.code, refused.message))
            if self.has_sent_content and not 400 <= refused.code < 600:
                # This is not a response of a mail server, so the message may have been accepted.
                raise
            self.has_sent_content = False
            return await _handle_refusal(client, refused)
        return Accepted(render_answer(answer.code, answer.message))

    async def _send_envelope(self, client: aiosmtplib.SMTP) -> None:
        options = [f"SIZE={len(self._content)}"] if client.supports_extension("size") else []
        encoding = "ascii"
        if not self._recipient.isascii():
            options.append("SMTPUTF8")
            encoding = "utf-8"
        await client.mail(self._sender, options=options, encoding=encoding)
        await client.rcpt(self._recipient, encoding=encoding)


async def _handle_refusal(
    client: aiosmtplib.SMTP, refused: aiosmtplib.SMTPResponseException
) -> Outcome:
    """Prepare the connection for the next message or close it, and return the outcome."""
    try:
        await client.rset()
    except (aiosmtplib.SMTPException, OSError, TimeoutError):
        client.close()
    is_sender_refused = isinstance(refused, aiosmtplib.SMTPSenderRefused)
    return interpret_refusal(refused.code, refused.message, is_sender_refused=is_sender_refused)


def get_secret_text(secrets: Mapping[str, bytes], name: str) -> str:
    """Return a secret as text. Raises DeliveryProviderUnusable."""
    try:
        return secrets[name].decode()
    except (KeyError, UnicodeDecodeError) as error:
        reason = (
            f"The secret {name} cannot be decrypted or is not text: apply the installation file "
            "again."
        )
        raise DeliveryProviderUnusable(reason) from error


def build_mail_server(
    name: str, provider: SmtpProvider, secrets: Mapping[str, bytes]
) -> MailServer:
    """Return the delivery provider's mail server with the password. Raises
    DeliveryProviderUnusable.
    """
    host, port = parse_host(provider.server, get_default_port(provider.encryption))
    user = password = None
    if provider.credentials is not None:
        user = provider.credentials.user
        password = get_secret_text(
            secrets, f"deliveryProviders/{name}/credentials/passwordFile"
        ).strip("\r\n")
    return MailServer(
        host,
        port,
        encryption=provider.encryption,
        user=user,
        password=password,
        our_name=provider.return_domain,
    )
