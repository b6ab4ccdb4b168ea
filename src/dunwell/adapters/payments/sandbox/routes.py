"""`/sandbox-provider/checkout/<id>`: the page on which a rehearsed payment is decided. No scripts.

Looking changes nothing; a decision is a POST that carries the page's own token, and leads back to
where the debtor came from, as a provider's page does. The page says that it moves no money.
"""

import hmac
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Request, Response, get, post
from litestar.exceptions import HTTPException
from litestar.handlers import HTTPRouteHandler
from litestar.params import FromPath

from dunwell.adapters.payments.sandbox.checkout import (
    TRANSITIONS,
    Decision,
    Notices,
    SandboxCheckout,
    plan_notices,
    render_reference,
)
from dunwell.adapters.payments.sandbox.provider import CHECKOUT_PATH, find_checkout
from dunwell.adapters.payments.sandbox.store import save_decision
from dunwell.kit.crypto import KeyRing
from dunwell.kit.resources import Resources
from dunwell.messages.formatting import render_money

_FACE = Path(__file__).parent
_FORM_BYTES = 4096
_PURPOSE = "sandbox provider's form"

_AnyRequest = Request[Any, Any, Any]


def sandbox_provider_routes(resources: Resources) -> Sequence[HTTPRouteHandler]:
    """The handlers to mount. Only checkouts of sandbox merchants, or of the development profile,
    ever exist."""

    @get(f"{CHECKOUT_PATH}/{{reference:str}}", include_in_schema=False)
    async def show_checkout(reference: FromPath[str]) -> Response[Any]:
        checkout = await find_checkout(resources, reference)
        return _render_missing() if checkout is None else _render(resources, checkout)

    @post(
        f"{CHECKOUT_PATH}/{{reference:str}}",
        include_in_schema=False,
        status_code=303,
        request_max_body_size=_FORM_BYTES,
    )
    async def decide_checkout(request: _AnyRequest, reference: FromPath[str]) -> Response[Any]:
        checkout = await find_checkout(resources, reference)
        if checkout is None:
            return _render_missing()
        form = await _read_form(request)
        if not _is_ours(request, form, _make_token(resources.keys, reference)):
            return _render(resources, checkout, is_refused=True)
        return await _decide(resources, checkout, form)

    @get("/sandbox-provider/checkout.css", include_in_schema=False)
    async def send_style() -> Response[str]:
        headers = _headers("default-src 'none'")
        return Response(_load_style(), media_type="text/css", headers=headers)

    return [show_checkout, decide_checkout, send_style]


async def _decide(
    resources: Resources, checkout: SandboxCheckout, form: dict[str, str]
) -> Response[Any]:
    """Go back where the debtor came from, whether this or an earlier click decided."""
    now = resources.clock.now()
    try:
        decision, notices = Decision(form.get("decision", "")), Notices(form.get("notices", ""))
    except ValueError:
        return _render(resources, checkout, is_refused=True)
    if decision in checkout.find_decisions(now):
        state = TRANSITIONS[checkout.state, decision]
        async with resources.database.connection() as connection:
            await save_decision(connection, checkout, state, plan_notices(notices, now), now)
    headers = _headers("default-src 'none'") | {"Location": checkout.return_url}
    return Response(None, status_code=303, headers=headers)


def _render(
    resources: Resources, checkout: SandboxCheckout, *, is_refused: bool = False
) -> Response[Any]:
    now = resources.clock.now()
    reference = render_reference(checkout.merchant_id, checkout.checkout_id)
    content = (
        _environment()
        .get_template("checkout.html")
        .render(
            checkout=checkout,
            amount=render_money(checkout.amount_cents, checkout.currency, "en"),
            decisions=checkout.find_decisions(now),
            is_expired=checkout.is_expired(now),
            is_refused=is_refused,
            action=f"{CHECKOUT_PATH}/{reference}",
            token=_make_token(resources.keys, reference),
        )
    )
    return Response(
        content,
        status_code=400 if is_refused else 200,
        media_type="text/html",
        headers=_headers(_page_policy(checkout.return_url)),
    )


def _render_missing() -> Response[Any]:
    content = _environment().get_template("missing.html").render()
    headers = _headers(_page_policy(None))
    return Response(content, status_code=404, media_type="text/html", headers=headers)


async def _read_form(request: _AnyRequest) -> dict[str, str]:
    """The form's fields; none of a body that is no small form."""
    try:
        body = (await request.body()).decode("ascii")
    except (HTTPException, UnicodeDecodeError):
        return {}
    try:
        return {name: values[-1] for name, values in parse_qs(body, max_num_fields=10).items()}
    except ValueError:
        return {}


def _is_ours(request: _AnyRequest, form: dict[str, str], token: str) -> bool:
    """Sent from the page itself: it bears the page's token, and no other site is behind it."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    given = form.get("token", "").encode()
    return site == "same-origin" and hmac.compare_digest(given, token.encode())


def _make_token(keys: KeyRing, reference: str) -> str:
    return keys.digest(_PURPOSE, reference.encode()).hex()


def _headers(policy: str) -> dict[str, str]:
    return {
        "Content-Security-Policy": policy,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "X-Robots-Tag": "noindex",
    }


def _page_policy(return_url: str | None) -> str:
    """Browsers hold a form's redirect to the policy too: the way back is part of it."""
    targets = "'self'"
    if return_url is not None:
        back = urlsplit(return_url)
        targets += f" {back.scheme}://{back.netloc}"
    return (
        "default-src 'none'; style-src 'self'; base-uri 'none'; "
        f"form-action {targets}; frame-ancestors 'none'"
    )


@lru_cache(maxsize=1)
def _load_style() -> str:
    return (_FACE / "checkout.css").read_text()


@lru_cache(maxsize=1)
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(_FACE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
