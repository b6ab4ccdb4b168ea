"""`/outbox`: the messages written so far, to look at while developing. No scripts.

The pages exist in the development profile alone, for whoever opens them reads every debtor's mail.
Each message is shown as its reader gets it: an e-mail's HTML in a frame that can neither run nor
load anything, an SMS as on a phone, a letter as the PDF that would be printed.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from dunwell.accounts.merchants.configuration import Channel
from dunwell.adapters.channels.outbox.folder import outbox_folder
from dunwell.adapters.channels.outbox.listing import (
    find_enclosure,
    find_message,
    load_page,
    open_email,
    open_letter,
    open_sms,
)
from dunwell.contact.messages.mail_blocks import render_frame_policy
from dunwell.platform.errors import InvalidRequest
from dunwell.platform.resources import Resources

_PAGE_LENGTH = 50
_MOST_PAGES = 1_000_000
_MESSAGE = "/outbox/{merchant_id:int}/{communication_id:uuid}"
_OPENING: dict[Channel, tuple[str, Callable[[Path], Any]]] = {
    "EMAIL": ("email.html", open_email),
    "SMS": ("sms.html", open_sms),
    "LETTER": ("letter.html", open_letter),
}
_FACE = Path(__file__).parent
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
# Shown in a frame of the letter's page; a sandbox would keep browsers from showing it at all.
PDF_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

_templates = Jinja2Templates(
    env=Environment(
        loader=FileSystemLoader(_FACE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
)


def outbox_routes(resources: Resources) -> list[Route]:
    """The routes to mount; none in the production profile."""
    if not resources.settings.is_development:
        return []
    pages = _Pages(outbox_folder(resources.settings.data_dir))
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
    """Over the messages of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def list_messages(self, request: Request) -> Response:
        """Raises InvalidRequest for what is no page's number."""
        given = request.query_params.get("page", "1")
        number = int(given[:8]) if given.isascii() and given.isdecimal() else 0
        if not 1 <= number <= _MOST_PAGES:
            raise InvalidRequest(f"page is a number from 1 to {_MOST_PAGES}.")
        first = (number - 1) * _PAGE_LENGTH
        page = await asyncio.to_thread(load_page, self._folder, first, _PAGE_LENGTH)
        has_more = first + len(page.lines) < page.count
        return render_page(request, "list.html", page=page, number=number, has_more=has_more)

    async def show_message(self, request: Request) -> Response:
        found = find_message(self._folder, **request.path_params)
        if found is None:
            return render_missing(request)
        channel, path = found
        template, read = _OPENING[channel]
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
        named = request.path_params
        found = find_message(self._folder, named["merchant_id"], named["communication_id"])
        return found[1] if found and found[0] == channel else None


def render_page(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    headers = _headers(_PAGE_POLICY)
    return _templates.TemplateResponse(
        request, template, values, status_code=status, headers=headers
    )


def render_missing(request: Request) -> Response:
    return render_page(request, "missing.html", 404)


def send_style() -> Response:
    style = (_FACE / "outbox.css").read_bytes()
    return Response(style, headers=_headers(_PAGE_POLICY), media_type="text/css")


def send_html(html: str) -> Response:
    """An e-mail's own page, for its frame."""
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
