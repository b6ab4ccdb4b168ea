"""`/outbox`: the messages written so far, to look at while developing. No scripts.

The pages exist in the development profile alone, for whoever opens them reads every debtor's mail.
A message's HTML is shown as its reader gets it, in a frame that can neither run nor load anything.
"""

import asyncio
import hashlib
import re
from base64 import b64encode
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Response, get
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath, QueryParameter

from dunwell.adapters.channels.outbox.adapter import outbox_folder
from dunwell.adapters.channels.outbox.listing import find_email, load_page, open_email
from dunwell.kit.resources import Resources

_FACE = Path(__file__).parent
_PAGE_LENGTH = 50
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def outbox_routes(resources: Resources) -> Sequence[HTTPRouteHandler]:
    """The handlers to mount; none in the production profile."""
    if not resources.settings.is_development:
        return []
    folder = outbox_folder(resources.settings.data_dir)

    @get("/outbox", include_in_schema=False)
    async def list_messages(
        number: Annotated[int, QueryParameter(name="page", ge=1, le=1_000_000)] = 1,
    ) -> Response[str]:
        first = (number - 1) * _PAGE_LENGTH
        page = await asyncio.to_thread(load_page, folder, first, _PAGE_LENGTH)
        has_more = first + len(page.lines) < page.count
        return _render_page("list.html", page=page, number=number, has_more=has_more)

    @get("/outbox/outbox.css", include_in_schema=False)
    async def send_style() -> Response[str]:
        return Response(_load_style(), media_type="text/css", headers=_headers(_PAGE_POLICY))

    @get("/outbox/{merchant_id:int}/{communication_id:uuid}", include_in_schema=False)
    async def show_message(
        merchant_id: FromPath[int], communication_id: FromPath[UUID]
    ) -> Response[str]:
        path = find_email(folder, merchant_id, communication_id)
        if path is None:
            return _render_missing()
        opened = await asyncio.to_thread(open_email, path)
        address = f"/outbox/{merchant_id}/{communication_id}"
        return _render_page("message.html", opened=opened, address=address)

    @get("/outbox/{merchant_id:int}/{communication_id:uuid}/html", include_in_schema=False)
    async def show_html(
        merchant_id: FromPath[int], communication_id: FromPath[UUID]
    ) -> Response[str]:
        path = find_email(folder, merchant_id, communication_id)
        opened = await asyncio.to_thread(open_email, path) if path else None
        if opened is None or opened.html is None:
            return _render_missing()
        headers = _headers(_frame_policy(opened.html))
        return Response(opened.html, media_type="text/html", headers=headers)

    @get("/outbox/{merchant_id:int}/{communication_id:uuid}/eml", include_in_schema=False)
    async def download_message(
        merchant_id: FromPath[int], communication_id: FromPath[UUID]
    ) -> Response[Any]:
        path = find_email(folder, merchant_id, communication_id)
        if path is None:
            return _render_missing()
        content = await asyncio.to_thread(path.read_bytes)
        disposition = {"Content-Disposition": f'attachment; filename="{communication_id}.eml"'}
        headers = _headers(_PAGE_POLICY) | disposition
        return Response(content, media_type="message/rfc822", headers=headers)

    return [list_messages, send_style, show_message, show_html, download_message]


def _headers(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
    }


def _frame_policy(html: str) -> str:
    """Nothing but the style blocks the message itself brings, each named by its hash."""
    digests = [hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(html)]
    styles = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests) or "'none'"
    return f"default-src 'none'; style-src {styles}; frame-ancestors 'self'; sandbox"


def _render_page(template: str, *, status_code: int = 200, **values: Any) -> Response[str]:
    content = _environment().get_template(template).render(**values)
    return Response(
        content,
        status_code=status_code,
        media_type="text/html",
        headers=_headers(_PAGE_POLICY),
    )


def _render_missing() -> Response[str]:
    return _render_page("missing.html", status_code=404)


@lru_cache(maxsize=1)
def _load_style() -> str:
    return (_FACE / "outbox.css").read_text()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FACE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
