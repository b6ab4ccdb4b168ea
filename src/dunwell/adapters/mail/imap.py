"""A mailbox by IMAP, looked into from a thread. Nothing is deleted or marked in it: how far it was
read is known by the messages' numbers."""

import ssl
from collections.abc import Sequence
from dataclasses import dataclass

from imapclient import IMAPClient
from imapclient.exceptions import IMAPClientError, LoginError

from dunwell.accounts.installation.delivery_providers import Mailbox
from dunwell.adapters.channels.smtp.connections import read_host

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
