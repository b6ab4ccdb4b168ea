"""What the outbox folder holds, for its pages: the messages of all channels, newest first.

File work only, to be called from a thread. Drafts (`.part`) are not messages.
"""

import email
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import default as modern
from pathlib import Path
from uuid import UUID

import msgspec

from dunwell.adapters.channels.outbox.records import LetterRecord, SmsRecord
from dunwell.merchants.configuration import Channel

_HEAD_BYTES = 8192
# The file that makes it a message.
_ENDINGS: dict[Channel, str] = {"EMAIL": ".eml", "SMS": ".json", "LETTER": ".json"}


@dataclass(frozen=True, slots=True)
class Line:
    """One message in the list."""

    channel: Channel
    merchant_id: int
    communication_id: UUID
    recipient: str
    # Of an SMS: its text.
    subject: str
    dated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Page:
    lines: list[Line]
    count: int


def load_page(folder: Path, first: int, limit: int) -> Page:
    """The messages from place `first` (0 the newest) on, by the time they were written."""
    entries = sorted(_scan(folder), reverse=True)
    lines = [_load_line(Path(path), channel) for _, path, channel in entries[first : first + limit]]
    return Page(lines, len(entries))


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


def _load_line(path: Path, channel: Channel) -> Line:
    recipient, subject, dated_at = _READERS[channel](path)
    merchant_id = int(path.parent.parent.name)
    return Line(
        channel=channel,
        merchant_id=merchant_id,
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
