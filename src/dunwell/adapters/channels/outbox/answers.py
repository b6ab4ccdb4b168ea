"""The outbox's answers: pages from templates, message parts and files, each with its own policy."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.templating import Jinja2Templates

from dunwell.messages.mail_style import render_frame_policy

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
