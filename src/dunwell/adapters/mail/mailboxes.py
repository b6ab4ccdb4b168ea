"""Fetch new e-mails from the delivery providers' mailboxes by IMAP.

Nothing in a mailbox is deleted or marked. The progress is the number (UID) of the last message that
was stored or refused (see `ReplyOutcome`). The IMAP functions block and are called in a thread.
"""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from email.utils import parseaddr

import structlog
from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientError, LoginError

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.delivery_providers import ReturnMailbox, SmtpProvider
from dunwell.adapters.channels.smtp.connections import parse_host
from dunwell.adapters.mail.incoming import Envelope
from dunwell.adapters.mail.receive_mail import MailParser, receive_mail
from dunwell.adapters.mail.store import MailboxProgress, find_progress, save_progress
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

_PORTS = {"TLS": 993, "STARTTLS": 143, "NONE": 143}
_TIMEOUT_SECONDS = 30.0
_FETCHED_AT_ONCE = 20
# Only the beginning of a larger message is fetched, and stored as unreadable.
MAX_BYTES = 10 * 1024 * 1024
_FETCHED_OF_LARGER = 128 * 1024


class MailboxUnavailable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The mailbox does not respond or refuses the sign-in. The text contains no secret."""


class MailboxRefused(MailboxUnavailable):
    """The mailbox refuses the sign-in."""


@dataclass(frozen=True, slots=True)
class FetchedMail:
    uid: int
    # None if the message was deleted in the meantime.
    content: bytes | None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class FetchedMails:
    """The next messages in the order of their UIDs, and the UIDVALIDITY to which these belong."""

    validity: int
    mails: Sequence[FetchedMail]


def fetch_mail(
    mailbox: ReturnMailbox, password: str, *, validity: int, after_uid: int
) -> FetchedMails:
    """Return the next messages after `after_uid`, or from the first one if the mailbox has another
    UIDVALIDITY: at most _FETCHED_AT_ONCE. Blocks, so call it in a thread. Raises
    MailboxUnavailable."""
    try:
        with _connect(mailbox) as client:
            client.login(mailbox.credentials.user, password)
            selected = client.select_folder(mailbox.folder, readonly=True)
            current_validity = int(selected[b"UIDVALIDITY"])
            last = after_uid if current_validity == validity else 0
            # "n:*" includes the last message even if its number is smaller than n.
            uids = sorted(uid for uid in client.search(f"UID {last + 1}:*") if uid > last)
            return FetchedMails(
                current_validity, [_fetch(client, uid) for uid in uids[:_FETCHED_AT_ONCE]]
            )
    except (IMAPClientError, OSError, KeyError, ValueError) as error:
        raise MailboxUnavailable(type(error).__name__) from error


def check_mailbox(mailbox: ReturnMailbox, password: str) -> None:
    """Check that the mailbox accepts the sign-in and has the folder. Blocks, so call it in a
    thread. Raises MailboxUnavailable, and MailboxRefused for a wrong user or password."""
    try:
        with _connect(mailbox) as client:
            client.login(mailbox.credentials.user, password)
            if not client.folder_exists(mailbox.folder):
                raise MailboxUnavailable(f"it has no folder {mailbox.folder}")
    except LoginError as error:
        raise MailboxRefused from error
    except (IMAPClientError, OSError, ValueError) as error:
        raise MailboxUnavailable(type(error).__name__) from error


def _connect(mailbox: ReturnMailbox) -> IMAPClient:
    host, port = parse_host(mailbox.server, _PORTS[mailbox.encryption])
    context = ssl.create_default_context()
    client = IMAPClient(
        host, port, ssl=mailbox.encryption == "TLS", ssl_context=context, timeout=_TIMEOUT_SECONDS
    )
    if mailbox.encryption == "STARTTLS":
        client.starttls(context)
    return client


def _fetch(client: IMAPClient, uid: int) -> FetchedMail:
    size = client.fetch([uid], ["RFC822.SIZE"])
    if uid not in size:
        return FetchedMail(uid, None)
    is_cut = int(size[uid][b"RFC822.SIZE"]) > MAX_BYTES
    part = f"<0.{_FETCHED_OF_LARGER}>" if is_cut else ""
    fetched = client.fetch([uid], [f"BODY.PEEK[]{part}"]).get(uid, {})
    content = fetched.get(b"BODY[]<0>" if is_cut else b"BODY[]")
    return FetchedMail(uid, content if isinstance(content, bytes) else None, is_cut)


MAILBOX_SECONDS = 30.0
# Headers in which a mail server names the recipient. A catch-all mailbox has many recipients.
_RECIPIENT_HEADERS = ("X-Original-To", "Delivered-To", "Envelope-To", "To")

# How much of the head is searched for the recipient.
_MAX_HEAD_BYTES = 64 * 1024

log = structlog.get_logger(__name__)


class Mailboxes:
    """The mailboxes of the current delivery providers."""

    def __init__(
        self, resources: Resources, parser: MailParser, installation: CurrentInstallation
    ) -> None:
        self._resources = resources
        self._parser = parser
        self._installation = installation

    async def run_once(self) -> int:
        """Fetch the next messages from each mailbox and return their number. A mailbox that does
        not respond does not delay the others."""
        fetches = [
            self._fetch_from(name, provider.mailbox)
            for name, provider in self._installation.delivery_providers.items()
            if isinstance(provider, SmtpProvider) and provider.mailbox is not None
        ]
        return sum(await asyncio.gather(*fetches))

    async def _fetch_from(self, provider: str, mailbox: ReturnMailbox) -> int:
        password = self._installation.secrets.get(
            f"deliveryProviders/{provider}/mailbox/credentials/passwordFile", b""
        )
        try:
            password_text = password.decode().strip("\r\n")
            return await fetch_new_mail(
                self._resources, self._parser, provider, mailbox=mailbox, password=password_text
            )
        except (MailboxUnavailable, UnicodeDecodeError) as error:
            log.warning(
                "mailbox unavailable", provider=provider, error=type(error).__name__,
                reason=str(error),
            )  # fmt: skip
            return 0


async def fetch_new_mail(
    resources: Resources, parser: MailParser, provider: str, mailbox: ReturnMailbox, password: str
) -> int:
    """Fetch and store the next messages of a mailbox, and return their number. Raises
    MailboxUnavailable, Unavailable."""
    async with resources.database.connection() as connection:
        progress = await find_progress(connection, provider)
    if progress is None or progress.folder != mailbox.folder:
        progress = MailboxProgress(mailbox.folder, 0, 0)
    fetched: FetchedMails = await asyncio.to_thread(
        fetch_mail, mailbox, password, validity=progress.uid_validity, after_uid=progress.last_uid
    )
    is_same = fetched.validity == progress.uid_validity
    new_progress = MailboxProgress(
        mailbox.folder, fetched.validity, progress.last_uid if is_same else 0
    )
    for mail in fetched.mails:
        try:
            await _receive(resources, parser, provider, mail)
        except Unavailable:
            raise
        except Exception:  # A message that cannot be processed must not block the others.
            log.exception("mail not processed, kept as unreadable", provider=provider, uid=mail.uid)
            unreadable = Envelope(provider, "", "", mail.content or b"", is_cut=True)
            await receive_mail(resources, parser, unreadable)
        new_progress = MailboxProgress(mailbox.folder, fetched.validity, mail.uid)
        await _save_progress(resources, provider, new_progress)
    if not fetched.mails:
        # Record the attempt even without messages, because an alert depends on it.
        await _save_progress(resources, provider, new_progress)
    return len(fetched.mails)


async def _save_progress(resources: Resources, provider: str, progress: MailboxProgress) -> None:
    async with resources.database.transaction() as tx:
        await save_progress(tx, provider, progress, resources.clock.now())


async def _receive(
    resources: Resources, parser: MailParser, provider: str, mail: FetchedMail
) -> None:
    if mail.content is None:
        return
    if mail.is_cut:
        log.warning("mail too large, kept as unreadable", provider=provider, uid=mail.uid)
    # Only the head is parsed here. A child process parses the rest.
    head, _, _ = mail.content[:_MAX_HEAD_BYTES].partition(b"\r\n\r\n")
    message = BytesHeaderParser().parsebytes(head + b"\r\n\r\n")
    recipient = next((str(message[name]) for name in _RECIPIENT_HEADERS if message[name]), "")
    sender = parseaddr(str(message["Return-Path"] or message["From"] or ""))[1]
    envelope = Envelope(provider, sender, parseaddr(recipient)[1], mail.content, is_cut=mail.is_cut)
    await receive_mail(resources, parser, envelope)
