"""Fetch new e-mails from the mailboxes of the delivery providers by IMAP."""

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from email.parser import BytesHeaderParser
from email.utils import parseaddr

import structlog
from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientError, LoginError

from dunwell.accounts.installation.current_installation import StandingInstallation
from dunwell.accounts.installation.delivery_providers import Mailbox, SmtpLine
from dunwell.adapters.channels.smtp.connections import read_host
from dunwell.adapters.mail.incoming import Envelope
from dunwell.adapters.mail.receive_mail import MailReader, receive_mail
from dunwell.adapters.mail.store import MailboxPlace, load_place, save_place
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

_PORTS = {"TLS": 993, "STARTTLS": 143, "NONE": 143}
_SECONDS = 30.0
_MOST_AT_ONCE = 20
# Of a larger message only the beginning is fetched; it is kept as unreadable.
MOST_BYTES = 10 * 1024 * 1024
_FETCHED_OF_LARGER = 128 * 1024


class MailboxAway(Exception):  # noqa: N818 - reads as what happened
    """It does not answer, or does not let us in; the words name no secret."""


class MailboxRefused(MailboxAway):
    """It does not let us in."""


@dataclass(frozen=True, slots=True)
class FetchedMail:
    uid: int
    # None: it is gone by now.
    content: bytes | None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """The next messages in their order, with the validity of their numbers."""

    validity: int
    mails: Sequence[FetchedMail]


def fetch_mail(mailbox: Mailbox, password: str, *, validity: int, behind_uid: int) -> Fetched:
    """Those behind a number that was of this validity; of another one, all. Blocks: call it in a
    thread. Raises MailboxAway."""
    try:
        with _connect(mailbox) as client:
            client.login(mailbox.credentials.user, password)
            selected = client.select_folder(mailbox.folder, readonly=True)
            found = int(selected[b"UIDVALIDITY"])
            last = behind_uid if found == validity else 0
            # "n:*" names the last message even where n is behind it.
            uids = sorted(uid for uid in client.search(f"UID {last + 1}:*") if uid > last)
            return Fetched(found, [_fetch(client, uid) for uid in uids[:_MOST_AT_ONCE]])
    except (IMAPClientError, OSError, KeyError, ValueError) as error:
        raise MailboxAway(type(error).__name__) from error


def check_mailbox(mailbox: Mailbox, password: str) -> None:
    """Whether it lets us in, and has the folder. Blocks. Raises MailboxAway, as MailboxRefused for
    a wrong user or password."""
    try:
        with _connect(mailbox) as client:
            client.login(mailbox.credentials.user, password)
            if not client.folder_exists(mailbox.folder):
                raise MailboxAway(f"it has no folder {mailbox.folder}")
    except LoginError as error:
        raise MailboxRefused from error
    except (IMAPClientError, OSError, ValueError) as error:
        raise MailboxAway(type(error).__name__) from error


def _connect(mailbox: Mailbox) -> IMAPClient:
    host, port = read_host(mailbox.server, _PORTS[mailbox.encryption])
    context = ssl.create_default_context()
    client = IMAPClient(
        host, port, ssl=mailbox.encryption == "TLS", ssl_context=context, timeout=_SECONDS
    )
    if mailbox.encryption == "STARTTLS":
        client.starttls(context)
    return client


def _fetch(client: IMAPClient, uid: int) -> FetchedMail:
    size = client.fetch([uid], ["RFC822.SIZE"])
    if uid not in size:
        return FetchedMail(uid, None)
    is_cut = int(size[uid][b"RFC822.SIZE"]) > MOST_BYTES
    part = f"<0.{_FETCHED_OF_LARGER}>" if is_cut else ""
    fetched = client.fetch([uid], [f"BODY.PEEK[]{part}"]).get(uid, {})
    content = fetched.get(b"BODY[]<0>" if is_cut else b"BODY[]")
    return FetchedMail(uid, content if isinstance(content, bytes) else None, is_cut)


MAILBOX_SECONDS = 30.0
# Where a mail server says whom a message was for; a catch-all mailbox is for many.
_RECIPIENT = ("X-Original-To", "Delivered-To", "Envelope-To", "To")

# Of the head, where a mail server notes whom a message was for.
_MOST_HEAD = 64 * 1024

log = structlog.get_logger(__name__)


class Mailboxes:
    """Those of the lines as they stand."""

    def __init__(
        self, resources: Resources, reader: MailReader, installation: StandingInstallation
    ) -> None:
        self._resources = resources
        self._reader = reader
        self._installation = installation

    async def run_once(self) -> int:
        """How many messages were taken; one mailbox that is away holds up no other."""
        looks = [
            self._look(name, line.mailbox)
            for name, line in self._installation.lines.items()
            if isinstance(line, SmtpLine) and line.mailbox is not None
        ]
        return sum(await asyncio.gather(*looks))

    async def _look(self, line: str, mailbox: Mailbox) -> int:
        password = self._installation.secrets.get(
            f"deliveryProviders/{line}/mailbox/credentials/passwordFile", b""
        )
        try:
            found = password.decode().strip("\r\n")
            return await fetch_new_mail(
                self._resources, self._reader, line, mailbox=mailbox, password=found
            )
        except (MailboxAway, UnicodeDecodeError) as error:
            log.warning("mailbox away", line=line, error=str(error))
            return 0


async def fetch_new_mail(
    resources: Resources, reader: MailReader, line: str, mailbox: Mailbox, password: str
) -> int:
    """How many messages were taken. Raises MailboxAway, Unavailable."""
    async with resources.database.connection() as connection:
        place = await load_place(connection, line)
    if place is None or place.folder != mailbox.folder:
        place = MailboxPlace(mailbox.folder, 0, 0)
    fetched: Fetched = await asyncio.to_thread(
        fetch_mail, mailbox, password, validity=place.validity, behind_uid=place.last_uid
    )
    is_same = fetched.validity == place.validity
    passed = MailboxPlace(mailbox.folder, fetched.validity, place.last_uid if is_same else 0)
    for mail in fetched.mails:
        try:
            await _take(resources, reader, line, mail)
        except Unavailable:
            raise
        except Exception:  # what one mail does to its reader holds up no other
            log.exception("mail not taken, kept as unreadable", line=line, uid=mail.uid)
            unread = Envelope(line, "", "", mail.content or b"", is_cut=True)
            await receive_mail(resources, reader, unread)
        passed = MailboxPlace(mailbox.folder, fetched.validity, mail.uid)
        await _pass(resources, line, passed)
    if not fetched.mails:
        # That it was looked into is noted too: alarms go by it.
        await _pass(resources, line, passed)
    return len(fetched.mails)


async def _pass(resources: Resources, line: str, place: MailboxPlace) -> None:
    async with resources.database.transaction() as tx:
        await save_place(tx, line, place, resources.clock.now())


async def _take(resources: Resources, reader: MailReader, line: str, mail: FetchedMail) -> None:
    if mail.content is None:
        return
    if mail.is_cut:
        log.warning("mail too large, kept as unreadable", line=line, uid=mail.uid)
    # Only its first lines are looked into here: a child reads the rest.
    head, _, _ = mail.content[:_MOST_HEAD].partition(b"\r\n\r\n")
    message = BytesHeaderParser().parsebytes(head + b"\r\n\r\n")
    recipient = next((str(message[name]) for name in _RECIPIENT if message[name]), "")
    sender = parseaddr(str(message["Return-Path"] or message["From"] or ""))[1]
    envelope = Envelope(line, sender, parseaddr(recipient)[1], mail.content, is_cut=mail.is_cut)
    await receive_mail(resources, reader, envelope)
