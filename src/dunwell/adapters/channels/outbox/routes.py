"""`/outbox`: the messages written so far, to look at while developing. No scripts.

The pages exist in the development profile alone, for whoever opens them reads every debtor's mail.
Each message is shown as its reader gets it: an e-mail's HTML in a frame that can neither run nor
load anything, an SMS as on a phone, a letter as the PDF that would be printed.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from dunwell.adapters.channels.outbox.answers import (
    PDF_POLICY,
    render_missing,
    render_page,
    send_file,
    send_html,
    send_style,
)
from dunwell.adapters.channels.outbox.folder import outbox_folder
from dunwell.adapters.channels.outbox.listing import find_message, load_page
from dunwell.adapters.channels.outbox.opening import (
    find_enclosure,
    open_email,
    open_letter,
    open_sms,
)
from dunwell.kit.resources import Resources
from dunwell.merchants.configuration import Channel

_PAGE_LENGTH = 50
_MESSAGE = "/outbox/{merchant_id:int}/{communication_id:uuid}"
_OPENING: dict[Channel, tuple[str, Callable[[Path], Any]]] = {
    "EMAIL": ("email.html", open_email),
    "SMS": ("sms.html", open_sms),
    "LETTER": ("letter.html", open_letter),
}


def outbox_routes(resources: Resources) -> Sequence[HTTPRouteHandler]:
    """The handlers to mount; none in the production profile."""
    if not resources.settings.is_development:
        return []
    folder = outbox_folder(resources.settings.data_dir)
    return [*_pages(folder), *_files(folder)]


def _pages(folder: Path) -> list[HTTPRouteHandler]:
    @get("/outbox", include_in_schema=False)
    async def list_messages(
        number: Annotated[int, QueryParameter(name="page", ge=1, le=1_000_000)] = 1,
    ) -> Response[str]:
        first = (number - 1) * _PAGE_LENGTH
        page = await asyncio.to_thread(load_page, folder, first, _PAGE_LENGTH)
        has_more = first + len(page.lines) < page.count
        return render_page("list.html", page=page, number=number, has_more=has_more)

    @get("/outbox/outbox.css", include_in_schema=False)
    async def show_style() -> Response[str]:
        return send_style()

    @get(_MESSAGE, include_in_schema=False)
    async def show_message(
        merchant_id: FromPath[int], communication_id: FromPath[UUID]
    ) -> Response[str]:
        found = find_message(folder, merchant_id, communication_id)
        if found is None:
            return render_missing()
        channel, path = found
        template, read = _OPENING[channel]
        opened = await asyncio.to_thread(read, path)
        address = f"/outbox/{merchant_id}/{communication_id}"
        return render_page(template, opened=opened, address=address)

    @get(f"{_MESSAGE}/html", include_in_schema=False)
    async def show_html(
        merchant_id: FromPath[int], communication_id: FromPath[UUID]
    ) -> Response[str]:
        path = _find(folder, "EMAIL", merchant_id, communication_id)
        opened = await asyncio.to_thread(open_email, path) if path else None
        return send_html(opened.html) if opened and opened.html is not None else render_missing()

    return [list_messages, show_style, show_message, show_html]


def _files(folder: Path) -> list[HTTPRouteHandler]:
    @get(f"{_MESSAGE}/eml", include_in_schema=False)
    async def download_email(
        merchant_id: FromPath[int], communication_id: FromPath[UUID]
    ) -> Response[Any]:
        path = _find(folder, "EMAIL", merchant_id, communication_id)
        return await send_file(path, "message/rfc822") if path else render_missing()

    @get(f"{_MESSAGE}/pdf", include_in_schema=False)
    async def show_letter(
        merchant_id: FromPath[int], communication_id: FromPath[UUID]
    ) -> Response[Any]:
        path = _find(folder, "LETTER", merchant_id, communication_id)
        if path is None:
            return render_missing()
        pdf = path.with_suffix(".pdf")
        return await send_file(pdf, "application/pdf", policy=PDF_POLICY, disposition="inline")

    @get(f"{_MESSAGE}/enclosures/{{number:int}}", include_in_schema=False)
    async def download_enclosure(
        merchant_id: FromPath[int], communication_id: FromPath[UUID], number: FromPath[int]
    ) -> Response[Any]:
        path = _find(folder, "LETTER", merchant_id, communication_id)
        enclosure = find_enclosure(path, number) if path else None
        if enclosure is None:
            return render_missing()
        return await send_file(enclosure, "application/octet-stream")

    return [download_email, show_letter, download_enclosure]


def _find(folder: Path, channel: Channel, merchant_id: int, communication_id: UUID) -> Path | None:
    found = find_message(folder, merchant_id, communication_id)
    return found[1] if found and found[0] == channel else None
