"""The pages at `/outbox`, which show the outbox's messages during development. They contain no
scripts.

The functions that read files block and are called in a thread. Unfinished files (`.part`) are not
messages.
"""

import asyncio
import email
import os
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage, MIMEPart
from email.policy import default as modern_policy
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.outbox.folder import LetterRecord, SmsRecord, get_outbox_folder
from dunwell.contact.messages.templates.mail_blocks import render_frame_policy
from dunwell.platform.errors import InvalidRequest
from dunwell.platform.resources import Resources

_HEAD_BYTES = 8192
# The ending of the file that counts as the message.
_ENDINGS: dict[Channel, str] = {"EMAIL": ".eml", "SMS": ".json", "LETTER": ".json"}


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """One message in the list."""

    channel: Channel
    merchant_id: int
    communication_id: UUID
    recipient: str
    # For an SMS, its text.
    subject: str
    dated_at: datetime | None


@dataclass(frozen=True, slots=True)
class OutboxPage:
    entries: list[OutboxEntry]
    # The number of messages on all pages.
    count: int


def load_page(folder: Path, first: int, limit: int) -> OutboxPage:
    """Return the messages from position `first` (0 is the newest), ordered by the time at which
    their files were written."""
    entries = sorted(_scan(folder), reverse=True)
    shown = [
        _load_entry(Path(path), channel) for _, path, channel in entries[first : first + limit]
    ]
    return OutboxPage(shown, len(entries))


def find_message(
    folder: Path, merchant_id: int, communication_id: UUID
) -> tuple[Channel, Path] | None:
    for channel, ending in _ENDINGS.items():
        path = folder / str(merchant_id) / channel / f"{communication_id}{ending}"
        if path.is_file():
            return channel, path
    return None


def parse_email(content: bytes) -> EmailMessage:
    """Parse an e-mail. It is decoded as UTF-8 first, because addresses may have a local part in
    UTF-8 (RFC 6532)."""
    text = content.decode("utf-8", "surrogateescape")
    return email.message_from_string(text, policy=modern_policy)


def _scan(folder: Path) -> Iterator[tuple[int, str, Channel]]:
    for channel, ending in _ENDINGS.items():
        for channel_folder in folder.glob(f"*/{channel}"):
            with os.scandir(channel_folder) as entries:
                for entry in entries:
                    if entry.name.endswith(ending):
                        yield entry.stat().st_mtime_ns, entry.path, channel


def _load_entry(path: Path, channel: Channel) -> OutboxEntry:
    recipient, subject, dated_at = _READERS[channel](path)
    return OutboxEntry(
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
    """An e-mail as its recipient sees it."""

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
        html=_embed_images(_read_text(html), message) if html else None,
        file_names=[part.get_filename("") for part in message.iter_attachments()],
    )


def open_sms(path: Path) -> SmsRecord:
    return msgspec.json.decode(path.read_bytes(), type=SmsRecord)


def open_letter(path: Path) -> LetterRecord:
    return msgspec.json.decode(path.read_bytes(), type=LetterRecord)


def find_enclosure(path: Path, number: int) -> Path | None:
    """Return an enclosure by its number, from 1. `path` is the letter's record."""
    return next(iter(sorted(path.parent.glob(f"{path.stem}.{number}.*"))), None)


def _embed_images(html: str, message: EmailMessage) -> str:
    """Return the HTML with the message's own pictures inserted."""
    for part in message.walk():  # type: EmailMessage
        name = part.get("Content-ID", "").strip("<>")
        if name and part.get_content_maintype() == "image":
            encoded = b64encode(part.get_content()).decode()
            html = html.replace(f"cid:{name}", f"data:{part.get_content_type()};base64,{encoded}")
    return html


def _read_text(part: MIMEPart) -> str:
    """Return the text with LF line ends. A browser converts to these before it computes the hash of
    a style block for the policy."""
    return str(part.get_content()).replace("\r\n", "\n")


_PAGE_LENGTH = 50
_MAX_PAGE_NUMBER = 1_000_000
_MESSAGE = "/outbox/{merchant_id:int}/{communication_id:uuid}"
_DETAIL_VIEWS: dict[Channel, tuple[str, Callable[[Path], Any]]] = {
    "EMAIL": ("email.html", open_email),
    "SMS": ("sms.html", open_sms),
    "LETTER": ("letter.html", open_letter),
}
_FOLDER = Path(__file__).parent
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
# Shown in a frame of the letter's page. With a sandbox, browsers would not show a PDF at all.
PDF_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

_templates = Jinja2Templates(
    env=Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
)


def outbox_routes(resources: Resources) -> list[Route]:
    """Return the routes to mount. There are none in the production profile."""
    if not resources.settings.is_development:
        return []
    pages = _Pages(get_outbox_folder(resources.settings.data_dir))
    return [
        Route("/outbox", pages.list_messages),
        Route("/outbox/outbox.css", send_style(), methods=["GET"]),
        Route(_MESSAGE, pages.show_message),
        Route(f"{_MESSAGE}/html", pages.show_html),
        Route(f"{_MESSAGE}/eml", pages.download_email),
        Route(f"{_MESSAGE}/pdf", pages.show_letter),
        Route(f"{_MESSAGE}/enclosures/{{number:int}}", pages.download_enclosure),
    ]


class _Pages:
    """The pages over the messages in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def list_messages(self, request: Request) -> Response:
        """Show one page of the list. Raises InvalidRequest if the page number is invalid."""
        page_text = request.query_params.get("page", "1")
        number = int(page_text[:8]) if page_text.isascii() and page_text.isdecimal() else 0
        if not 1 <= number <= _MAX_PAGE_NUMBER:
            raise InvalidRequest(f"page is a number from 1 to {_MAX_PAGE_NUMBER}.")
        first = (number - 1) * _PAGE_LENGTH
        page = await asyncio.to_thread(load_page, self._folder, first, _PAGE_LENGTH)
        has_more = first + len(page.entries) < page.count
        return render_page(request, "list.html", page=page, number=number, has_more=has_more)

    async def show_message(self, request: Request) -> Response:
        message = find_message(self._folder, **request.path_params)
        if message is None:
            return render_missing(request)
        channel, path = message
        template, read = _DETAIL_VIEWS[channel]
        opened = await asyncio.to_thread(read, path)
        address = request.scope["path"]
        return render_page(request, template, opened=opened, address=address)

    async def show_html(self, request: Request) -> Response:
        path = self._find("EMAIL", request)
        html = (await asyncio.to_thread(open_email, path)).html if path else None
        return render_missing(request) if html is None else send_html(html)

    async def download_email(self, request: Request) -> Response:
        path = self._find("EMAIL", request)
        return send_file(path, "message/rfc822") if path else render_missing(request)

    async def show_letter(self, request: Request) -> Response:
        path = self._find("LETTER", request)
        if path is None:
            return render_missing(request)
        pdf = path.with_suffix(".pdf")
        return send_file(pdf, "application/pdf", policy=PDF_POLICY, disposition="inline")

    async def download_enclosure(self, request: Request) -> Response:
        path = self._find("LETTER", request)
        enclosure = find_enclosure(path, request.path_params["number"]) if path else None
        if enclosure is None:
            return render_missing(request)
        return send_file(enclosure, "application/octet-stream")

    def _find(self, channel: Channel, request: Request) -> Path | None:
        parameters = request.path_params
        message = find_message(
            self._folder, parameters["merchant_id"], parameters["communication_id"]
        )
        return message[1] if message and message[0] == channel else None


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    headers = _headers(_PAGE_POLICY)
    return _templates.TemplateResponse(
        request, template, values, status_code=status, headers=headers
    )


def render_missing(request: Request) -> Response:
    return render_page(request, "missing.html", 404)


def send_style() -> Response:
    style = (_FOLDER / "outbox.css").read_bytes()
    return Response(style, headers=_headers(_PAGE_POLICY), media_type="text/css")


def send_html(html: str) -> Response:
    """Send the HTML of an e-mail for its frame."""
    return HTMLResponse(html, headers=_headers(render_frame_policy(html)))


def send_file(
    path: Path, media_type: str, *, policy: str = _PAGE_POLICY, disposition: str = "attachment"
) -> Response:
    return FileResponse(
        path, media_type=media_type, headers=_headers(policy),
        filename=path.name, content_disposition_type=disposition,
    )  # fmt: skip


def _headers(policy: str) -> dict[str, str]:
    return {"Content-Security-Policy": policy}
