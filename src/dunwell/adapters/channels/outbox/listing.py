"""What the outbox folder holds, for its pages: the messages of all channels, newest first, and each
taken apart.

File work only, to be called from a thread. Drafts (`.part`) are not messages.
"""

import email
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage, MIMEPart
from email.policy import default as modern
from pathlib import Path
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.outbox.folder import LetterRecord, SmsRecord

_HEAD_BYTES = 8192
# The file that makes it a message.
_ENDINGS: dict[Channel, str] = {"EMAIL": ".eml", "SMS": ".json", "LETTER": ".json"}


@dataclass(frozen=True, slots=True)
class OutboxLine:
    """One message in the list."""

    channel: Channel
    merchant_id: int
    communication_id: UUID
    recipient: str
    # Of an SMS: its text.
    subject: str
    dated_at: datetime | None


@dataclass(frozen=True, slots=True)
class OutboxPage:
    lines: list[OutboxLine]
    count: int


def load_page(folder: Path, first: int, limit: int) -> OutboxPage:
    """The messages from place `first` (0 the newest) on, by the time they were written."""
    entries = sorted(_scan(folder), reverse=True)
    lines = [_load_line(Path(path), channel) for _, path, channel in entries[first : first + limit]]
    return OutboxPage(lines, len(entries))


def find_message(
    folder: Path, merchant_id: int, communication_id: UUID
) -> tuple[Channel, Path] | None:
    for channel, ending in _ENDINGS.items():
        path = folder / str(merchant_id) / channel / f"{communication_id}{ending}"
        if path.is_file():
            return channel, path
    return None


def parse_email(content: bytes) -> EmailMessage:
    """Read as UTF-8 first: addresses may have a local part in it (RFC 6532)."""
    text = content.decode("utf-8", "surrogateescape")
    return email.message_from_string(text, policy=modern)


def _scan(folder: Path) -> Iterator[tuple[int, str, Channel]]:
    for channel, ending in _ENDINGS.items():
        for channel_folder in folder.glob(f"*/{channel}"):
            with os.scandir(channel_folder) as entries:
                for entry in entries:
                    if entry.name.endswith(ending):
                        yield entry.stat().st_mtime_ns, entry.path, channel


def _load_line(path: Path, channel: Channel) -> OutboxLine:
    recipient, subject, dated_at = _READERS[channel](path)
    return OutboxLine(
        channel=channel,
        merchant_id=int(path.parent.parent.name),
        communication_id=UUID(path.stem),
        recipient=recipient,
        subject=subject,
        dated_at=dated_at,
    )


def _read_email(path: Path) -> tuple[str, str, datetime | None]:
    with path.open("rb") as file:
        head = parse_email(file.read(_HEAD_BYTES))
    date = head["Date"]
    return str(head["To"]), str(head["Subject"]), date.datetime if date else None


def _read_sms(path: Path) -> tuple[str, str, datetime | None]:
    record = msgspec.json.decode(path.read_bytes(), type=SmsRecord)
    return record.recipient, record.text, record.dated_at


def _read_letter(path: Path) -> tuple[str, str, datetime | None]:
    record = msgspec.json.decode(path.read_bytes(), type=LetterRecord)
    return ", ".join(record.recipient.splitlines()), record.subject, record.dated_at


_READERS: dict[Channel, Callable[[Path], tuple[str, str, datetime | None]]] = {
    "EMAIL": _read_email,
    "SMS": _read_sms,
    "LETTER": _read_letter,
}


@dataclass(frozen=True, slots=True)
class OpenedEmail:
    """As its reader gets it."""

    subject: str
    headers: list[tuple[str, str]]
    text: str
    html: str | None
    file_names: list[str]


def open_email(path: Path) -> OpenedEmail:
    message = parse_email(path.read_bytes())
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    return OpenedEmail(
        subject=str(message["Subject"]),
        headers=[(name, str(value)) for name, value in message.items()],
        text=_read_text(plain) if plain else "",
        html=_show_images(_read_text(html), message) if html else None,
        file_names=[part.get_filename("") for part in message.iter_attachments()],
    )


def open_sms(path: Path) -> SmsRecord:
    return msgspec.json.decode(path.read_bytes(), type=SmsRecord)


def open_letter(path: Path) -> LetterRecord:
    return msgspec.json.decode(path.read_bytes(), type=LetterRecord)


def find_enclosure(path: Path, number: int) -> Path | None:
    """path: the letter's record. Enclosures are numbered from 1."""
    return next(iter(sorted(path.parent.glob(f"{path.stem}.{number}.*"))), None)


def _show_images(html: str, message: EmailMessage) -> str:
    """With the pictures that the message brings along in their places."""
    for part in message.walk():  # type: EmailMessage
        name = part.get("Content-ID", "").strip("<>")
        if name and part.get_content_maintype() == "image":
            encoded = b64encode(part.get_content()).decode()
            html = html.replace(f"cid:{name}", f"data:{part.get_content_type()};base64,{encoded}")
    return html


def _read_text(part: MIMEPart) -> str:
    """With plain newlines, as a browser counts them when it compares a style block's hash."""
    return str(part.get_content()).replace("\r\n", "\n")
