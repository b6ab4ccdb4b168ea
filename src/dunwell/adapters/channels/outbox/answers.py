"""The outbox's answers: pages from templates, message parts and files, each with its own policy."""

import asyncio
import hashlib
import re
from base64 import b64encode
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Response

_FACE = Path(__file__).parent
_PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; frame-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
# Shown in a frame of the letter's page; a sandbox would keep browsers from showing it at all.
PDF_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)


def render_page(template: str, *, status_code: int = 200, **values: Any) -> Response[str]:
    content = _environment().get_template(template).render(**values)
    return Response(
        content, status_code=status_code, media_type="text/html", headers=_headers(_PAGE_POLICY)
    )


def render_missing() -> Response[str]:
    return render_page("missing.html", status_code=404)


def send_style() -> Response[str]:
    return Response(_load_style(), media_type="text/css", headers=_headers(_PAGE_POLICY))


def send_html(html: str) -> Response[str]:
    """An e-mail's own page, for its frame."""
    return Response(html, media_type="text/html", headers=_headers(_frame_policy(html)))


async def send_file(
    path: Path, media_type: str, *, policy: str = _PAGE_POLICY, disposition: str = "attachment"
) -> Response[bytes]:
    content = await asyncio.to_thread(path.read_bytes)
    headers = _headers(policy) | {"Content-Disposition": f'{disposition}; filename="{path.name}"'}
    return Response(content, media_type=media_type, headers=headers)


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
