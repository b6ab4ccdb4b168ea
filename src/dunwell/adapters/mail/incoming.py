"""Classify a received e-mail: a bounce, a reply of a person or a program, or unrelated. The
functions do no I/O, and parsing untrusted content never raises."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from email.message import Message
from email.parser import BytesHeaderParser
from email.utils import parsedate_to_datetime
from typing import cast, get_args

import msgspec

from dunwell.adapters.channels.smtp.return_addresses import (
    ReturnAddress,
    find_first_return_address,
    parse_return_address,
)
from dunwell.adapters.mail.bounce import UNREADABLE, Bounce, parse_bounce
from dunwell.adapters.mail.reply_text import list_file_names, parse_reply_text, parse_subject
from dunwell.cases.replies.reply import NewReply
from dunwell.contact.sending.report import FailureCause, Report, ReportState
from dunwell.platform.crypto import KeyRing, sha256

# How much of a report is stored for clerks. It ends with a copy of our own message, which they do
# not need.
_MAX_STORED_BYTES = 131_072
# How much is stored of a message that contains no valid return address. Anyone can send one.
_MAX_UNRELATED_BYTES = 16_384
# How much of a message is searched for the return address of our own message.
_MAX_SEARCHED_BYTES = 262_144
# The limits of what is parsed. An attachment of 10 MiB has 138,000 lines of 76 characters. The
# library takes some microseconds for each line, and much more for each part and header.
MAX_LINES = 200_000
# The number of lines that begin with two hyphens, as each part of a message does.
MAX_PART_LINES = 1_000
MAX_HEADER_BYTES = 256 * 1024
# How much of the head is searched. Our own mail server writes its header first.
_MAX_HEAD_BYTES = 64 * 1024
# No mail program writes a longer id.
_MAX_ID_LENGTH = 2_000
_YEARS = range(2000, 2100)
_BULK = ("bulk", "junk", "list", "auto_reply", "auto-reply")
_DOMAIN = re.compile(r"@([A-Za-z0-9.-]{1,190})>?\s*$")
_DAEMON = re.compile(r"mailer-daemon|postmaster", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A received message with its SMTP envelope. `sender` is empty for reports."""

    provider: str
    sender: str
    recipient: str
    content: bytes
    # True if our own mail server passed the message on (LMTP). The first Received header, which
    # that server adds, then tells whether it created the message itself.
    is_from_our_server: bool = False
    # True if the content is only the beginning of a message that is too large to fetch.
    is_cut: bool = False


class MailRequest(msgspec.Struct, frozen=True, array_like=True):
    """The request to the child process."""

    content: bytes
    sender: str


class ParsedMail(msgspec.Struct, frozen=True, array_like=True):
    """The child process's answer. `is_parsed` is False if parsing failed. `state` is empty if the
    message is not a bounce."""

    is_parsed: bool = False
    state: str = ""
    cause: str = "OTHER"
    reason: str = ""
    is_automatic: bool = False
    is_from_daemon: bool = False
    message_id: str = ""
    subject: str = ""
    text: str = ""
    file_names: list[str] = []
    happened_at: datetime | None = None
    destination: str | None = None


def find_return_address(keys: KeyRing, envelope: Envelope) -> ReturnAddress | None:
    """Return the return address to which the message was sent or, if it is not valid, the first one
    that the message contains; None if there is none."""
    searched = envelope.content[:_MAX_SEARCHED_BYTES].decode("latin-1")
    return parse_return_address(keys, envelope.recipient) or find_first_return_address(
        keys, searched
    )


def is_readable(content: bytes) -> bool:
    """Return whether the message can be parsed in reasonable time."""
    head, _, _ = content[: MAX_HEADER_BYTES + 4].partition(b"\r\n\r\n")
    if len(head) > MAX_HEADER_BYTES:
        return False
    return content.count(b"\n") <= MAX_LINES and content.count(b"\n--") <= MAX_PART_LINES


def build_unreadable_mail(envelope: Envelope, address: ReturnAddress | None) -> Report | NewReply:
    """Return the report or reply for a message that cannot be parsed. Its content is stored for a
    clerk to look at."""
    provider_message_id = _compute_id(envelope, "")
    if address is not None and envelope.sender:
        return NewReply(
            provider=envelope.provider, provider_message_id=provider_message_id,
            reference=address.reference, subject="",
            text="", file_names=(), is_automatic=False, raw=envelope.content,
        )  # fmt: skip
    return Report(
        provider=envelope.provider,
        provider_message_id=provider_message_id,
        state="DELAYED",
        happened_at=None,
        reference=None if address is None else address.reference,
        reason=UNREADABLE.reason,
        cause=UNREADABLE.cause,
        raw=_cut_content(envelope, address),
        is_authenticated=False,
    )


def parse_mail(request: MailRequest) -> ParsedMail:
    """Parse a message in a confined child process. Never raises."""
    try:
        return _parse(request)
    except Exception:  # noqa: BLE001 - untrusted bytes can make a library raise anything
        return ParsedMail()


def classify_mail(
    envelope: Envelope, address: ReturnAddress | None, parsed: ParsedMail
) -> Report | NewReply:
    """Decide whether a message is a report or a reply. Its content may have taken over the child
    process, but even then the result can contain nothing that the sender could not have written
    anyway."""
    is_report = not envelope.sender or parsed.is_from_daemon
    is_bounce = parsed.state in get_args(ReportState)
    if not is_bounce and address is not None and not is_report:
        return _build_reply(envelope, parsed, address, is_automatic=parsed.is_automatic)
    if not is_bounce and address is not None and address.purpose == "reply":
        # An automatic reply to the reply address, such as an out-of-office notice.
        return _build_reply(envelope, parsed, address, is_automatic=True)
    # An unreadable report changes no state, but is shown to clerks.
    bounce = (
        Bounce(cast(ReportState, parsed.state), cast(FailureCause, parsed.cause), parsed.reason)
        if is_bounce and parsed.cause in get_args(FailureCause)
        else Bounce("DELAYED", UNREADABLE.cause, UNREADABLE.reason)
    )
    return Report(
        provider=envelope.provider,
        provider_message_id=_compute_id(envelope, parsed.message_id),
        state=bounce.state,
        happened_at=parsed.happened_at,
        reference=None if address is None else address.reference,
        reason=bounce.reason,
        cause=bounce.cause,
        raw=_cut_content(envelope, address),
        destination=parsed.destination,
        is_authenticated=envelope.is_from_our_server
        and _was_created_by_our_server(envelope.content),
    )


def _parse(request: MailRequest) -> ParsedMail:
    message = message_from_bytes(request.content)
    bounce = parse_bounce(message, message_from_bytes(request.content[:_MAX_STORED_BYTES]))
    is_bounce = bounce is not None
    return ParsedMail(
        is_parsed=True,
        state=bounce.state if bounce else "",
        cause=bounce.cause if bounce else "OTHER",
        reason=bounce.reason if bounce else "",
        is_automatic=_is_automatic(message, request.sender),
        is_from_daemon=bool(_DAEMON.search(str(message["From"] or ""))),
        message_id=str(message["Message-ID"] or "").strip()[:_MAX_ID_LENGTH],
        subject="" if is_bounce else parse_subject(message),
        text="" if is_bounce else parse_reply_text(message),
        file_names=[] if is_bounce else list_file_names(message),
        happened_at=_parse_date(message),
        destination=_find_destination(message),
    )


def _build_reply(
    envelope: Envelope, parsed: ParsedMail, address: ReturnAddress, *, is_automatic: bool
) -> NewReply:
    return NewReply(
        provider=envelope.provider,
        provider_message_id=_compute_id(envelope, parsed.message_id),
        reference=address.reference,
        subject=parsed.subject,
        text=parsed.text,
        file_names=parsed.file_names,
        is_automatic=is_automatic,
        raw=envelope.content,
    )


def _is_automatic(message: Message, sender: str) -> bool:
    """Return whether a program wrote the message (RFC 3834)."""
    submitted = str(message["Auto-Submitted"] or "no").partition(";")[0].strip().lower()
    precedence = str(message["Precedence"] or "").strip().lower()
    marks = ("X-Autoreply", "X-Autorespond", "List-Id", "Feedback-ID")
    return (
        not sender
        or submitted != "no"
        or precedence in _BULK
        or any(message[mark] is not None for mark in marks)
    )


def _was_created_by_our_server(content: bytes) -> bool:
    """Return whether our own mail server created the message: its first Received header then begins
    with "by" and not with "from". This is checked here and not in the child process, which the
    message may have taken over."""
    head, _, _ = content[:_MAX_HEAD_BYTES].partition(b"\r\n\r\n")
    lines = BytesHeaderParser().parsebytes(head + b"\r\n\r\n").get_all("Received") or [""]
    return str(lines[0]).lstrip().lower().startswith("by ")


def _cut_content(envelope: Envelope, address: ReturnAddress | None) -> bytes:
    return envelope.content[: _MAX_UNRELATED_BYTES if address is None else _MAX_STORED_BYTES]


def _compute_id(envelope: Envelope, message_id: str) -> str:
    """Return an id that is the same if the message arrives twice. Servers on the way add headers,
    so without a message id only the recipient and the body count."""
    recipient = envelope.recipient.lower()
    if message_id:
        return sha256(f"{recipient} {message_id}".encode(errors="replace")).hex()
    _, _, body = envelope.content.partition(b"\r\n\r\n")
    return sha256(recipient.encode(errors="replace") + body).hex()


def _parse_date(message: Message) -> datetime | None:
    try:
        parsed = parsedate_to_datetime(str(message["Date"]))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    if parsed.tzinfo is None or parsed.year not in _YEARS:
        return None
    return parsed.astimezone(UTC)


def _find_destination(message: Message) -> str | None:
    """Return the domain of the recipient for whom our message failed, or None."""
    for part in message.walk():
        for name in ("Final-Recipient", "Original-Recipient", "X-Failed-Recipients"):
            match = _DOMAIN.search(str(part[name] or ""))
            if match is not None:
                return match[1].lower()
    return None
