"""What the outbox folder holds, for its pages: newest first, and one message taken apart.

File work only, to be called from a thread. Drafts (`.part`) are not messages.
"""

import email
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage, MIMEPart
from email.policy import default as modern
from pathlib import Path
from uuid import UUID

_HEAD_BYTES = 8192


@dataclass(frozen=True, slots=True)
class Line:
    """One message in the list."""

    merchant_id: int
    communication_id: UUID
    recipient: str
    subject: str
    dated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Page:
    lines: list[Line]
    count: int


@dataclass(frozen=True, slots=True)
class Opened:
    """One message as its reader gets it."""

    subject: str
    headers: list[tuple[str, str]]
    text: str
    html: str | None
    file_names: list[str]


def load_page(folder: Path, first: int, limit: int) -> Page:
    """The messages from place `first` (0 the newest) on, by the time they were written."""
    entries = sorted(_scan(folder), reverse=True)
    lines = [_load_line(Path(path)) for _, path in entries[first : first + limit]]
    return Page(lines, len(entries))


def find_email(folder: Path, merchant_id: int, communication_id: UUID) -> Path | None:
    path = folder / str(merchant_id) / "EMAIL" / f"{communication_id}.eml"
    return path if path.is_file() else None


def open_email(path: Path) -> Opened:
    message = _parse(path.read_bytes())
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    return Opened(
        subject=str(message["Subject"]),
        headers=[(name, str(value)) for name, value in message.items()],
        text=_read_text(plain) if plain else "",
        html=_read_text(html) if html else None,
        file_names=[part.get_filename("") for part in message.iter_attachments()],
    )


def _read_text(part: MIMEPart) -> str:
    """With plain newlines, as a browser counts them when it compares a style block's hash."""
    return str(part.get_content()).replace("\r\n", "\n")


def _scan(folder: Path) -> Iterator[tuple[int, str]]:
    for channel_folder in folder.glob("*/EMAIL"):
        with os.scandir(channel_folder) as entries:
            for entry in entries:
                if entry.name.endswith(".eml"):
                    yield entry.stat().st_mtime_ns, entry.path


def _load_line(path: Path) -> Line:
    with path.open("rb") as file:
        head = _parse(file.read(_HEAD_BYTES))
    date = head["Date"]
    return Line(
        merchant_id=int(path.parent.parent.name),
        communication_id=UUID(path.stem),
        recipient=str(head["To"]),
        subject=str(head["Subject"]),
        dated_at=date.datetime if date else None,
    )


def _parse(content: bytes) -> EmailMessage:
    """Read as UTF-8 first: addresses may have a local part in it (RFC 6532)."""
    text = content.decode("utf-8", "surrogateescape")
    return email.message_from_string(text, policy=modern)
