"""What a message that came back is: a report of a mail server, an answer of a person or of a
program, or nothing of ours. Pure but for reading bytes that strangers wrote, which never raises.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message
from email.utils import parsedate_to_datetime

from dunwell.adapters.channels.smtp.addresses import ReturnAddress, find_address, read_address
from dunwell.adapters.mail.bounce import UNREADABLE, Bounce, read_bounce
from dunwell.adapters.mail.reply_text import list_file_names, read_reply_text, read_subject
from dunwell.kit.crypto import KeyRing, sha256
from dunwell.replies.reply import NewReply
from dunwell.sending.report import Report

# Of a report, for whoever has to look; our own message stands behind it.
_MOST_RAW = 131_072
# Of one that names nothing of ours, which anybody can write.
_MOST_OF_STRANGE = 16_384
# Where our own message can name itself.
_MOST_SEARCHED = 262_144
_YEARS = range(2000, 2100)
_BULK = ("bulk", "junk", "list", "auto_reply", "auto-reply")
_DOMAIN = re.compile(r"@([A-Za-z0-9.-]{1,190})>?\s*$")
_DAEMON = re.compile(r"mailer-daemon|postmaster", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Envelope:
    """As a mail server hands it over. sender: empty for reports."""

    line: str
    sender: str
    recipient: str
    content: bytes
    # Whether our own mail server brought it, which says in its first line where it had it from.
    is_by_our_server: bool = False


def read_mail(keys: KeyRing, envelope: Envelope) -> Report | NewReply:
    address = read_address(keys, envelope.recipient) or find_address(
        keys, envelope.content[:_MOST_SEARCHED].decode("latin-1")
    )
    try:
        return _read(envelope, address)
    except Exception:  # noqa: BLE001 - whatever strangers' bytes do to readers of theirs
        return _keep_unread(envelope, address)


def _keep_unread(envelope: Envelope, address: ReturnAddress | None) -> Report | NewReply:
    """What no reader gets through: as it came, for a person to look at."""
    provider_id = _find_id(envelope, Message())
    if address is not None and envelope.sender:
        return NewReply(
            line=envelope.line, provider_id=provider_id, reference=address.reference, subject="",
            text="", file_names=(), is_automatic=False, raw=envelope.content,
        )  # fmt: skip
    return Report(
        line=envelope.line,
        provider_id=provider_id,
        state="DELAYED",
        happened_at=None,
        reference=None if address is None else address.reference,
        reason=UNREADABLE.reason,
        cause=UNREADABLE.cause,
        raw=_cut(envelope, address),
        is_proven=False,
    )


def _read(envelope: Envelope, address: ReturnAddress | None) -> Report | NewReply:
    message = message_from_bytes(envelope.content)
    bounce = read_bounce(message)
    is_automatic = _is_automatic(message, envelope.sender)
    is_report = not envelope.sender or bool(_DAEMON.search(str(message["From"] or "")))
    if bounce is None and address is not None and not is_report:
        return _make_reply(envelope, message, address, is_automatic=is_automatic)
    if bounce is None and address is not None and address.purpose == "reply":
        # A program's notice to whom people answer, such as "I am away".
        return _make_reply(envelope, message, address, is_automatic=True)
    # What nobody can read changes nothing, and is shown.
    bounce = bounce or Bounce("DELAYED", UNREADABLE.cause, UNREADABLE.reason)
    return Report(
        line=envelope.line,
        provider_id=_find_id(envelope, message),
        state=bounce.state,
        happened_at=_read_date(message),
        reference=None if address is None else address.reference,
        reason=bounce.reason,
        cause=bounce.cause,
        raw=_cut(envelope, address),
        destination=_find_destination(message),
        is_proven=envelope.is_by_our_server and _was_made_here(message),
    )


def _make_reply(
    envelope: Envelope, message: Message, address: ReturnAddress, *, is_automatic: bool
) -> NewReply:
    return NewReply(
        line=envelope.line,
        provider_id=_find_id(envelope, message),
        reference=address.reference,
        subject=read_subject(message),
        text=read_reply_text(message),
        file_names=list_file_names(message),
        is_automatic=is_automatic,
        raw=envelope.content,
    )


def _is_automatic(message: Message, sender: str) -> bool:
    """Whether no person wrote it (RFC 3834)."""
    submitted = str(message["Auto-Submitted"] or "no").partition(";")[0].strip().lower()
    precedence = str(message["Precedence"] or "").strip().lower()
    marks = ("X-Autoreply", "X-Autorespond", "List-Id", "Feedback-ID")
    return (
        not sender
        or submitted != "no"
        or precedence in _BULK
        or any(message[mark] is not None for mark in marks)
    )


def _was_made_here(message: Message) -> bool:
    """Whether our mail server wrote it itself: it says "by" itself, and on top of what it was
    brought "from" whom."""
    lines = message.get_all("Received") or [""]
    return str(lines[0]).lstrip().lower().startswith("by ")


def _cut(envelope: Envelope, address: ReturnAddress | None) -> bytes:
    return envelope.content[: _MOST_OF_STRANGE if address is None else _MOST_RAW]


def _find_id(envelope: Envelope, message: Message) -> str:
    """The same for a message that comes twice: who hands it on adds lines of their own above it."""
    given = str(message["Message-ID"] or "").strip()
    if given:
        return sha256(f"{envelope.recipient.lower()} {given}".encode(errors="replace")).hex()
    _, _, body = envelope.content.partition(b"\r\n\r\n")
    return sha256(envelope.recipient.lower().encode(errors="replace") + body).hex()


def _read_date(message: Message) -> datetime | None:
    try:
        read = parsedate_to_datetime(str(message["Date"]))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if read.tzinfo is None or read.year not in _YEARS:
        return None
    return read.astimezone(UTC)


def _find_destination(message: Message) -> str | None:
    """The domain that it was to go to."""
    for part in message.walk():
        for name in ("Final-Recipient", "Original-Recipient", "X-Failed-Recipients"):
            found = _DOMAIN.search(str(part[name] or ""))
            if found is not None:
                return found[1].lower()
    return None
