"""One message of the outbox, taken apart for its page.

File work only, to be called from a thread.
"""

from base64 import b64encode
from dataclasses import dataclass
from email.message import EmailMessage, MIMEPart
from pathlib import Path

import msgspec

from dunwell.adapters.channels.outbox.listing import parse_email
from dunwell.adapters.channels.outbox.records import LetterRecord, SmsRecord


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
