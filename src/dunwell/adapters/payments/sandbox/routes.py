"""`/sandbox-provider/checkout/<id>`: the page on which the result of a simulated payment is chosen.
It has no scripts.

Viewing the page changes nothing. A decision is a POST with the page's token. Its response redirects
to the return address, as a provider's page does. The page says that it moves no money.
"""

import hmac
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from dunwell.adapters.payments.sandbox.checkout import (
    TRANSITIONS,
    CheckoutDecision,
    NotificationDelivery,
    SandboxCheckout,
    SandboxMovement,
    plan_notifications,
    render_checkout_reference,
)
from dunwell.adapters.payments.sandbox.provider import CHECKOUT_PATH, find_checkout
from dunwell.adapters.payments.sandbox.store import save_decision, save_return
from dunwell.cases.payments.provider import MovementKind
from dunwell.contact.messages.templates.formatting import render_money
from dunwell.platform.crypto import KeyRing
from dunwell.platform.errors import InvalidRequest, PayloadTooLarge
from dunwell.platform.http.requests import read_body
from dunwell.platform.resources import Resources

_FOLDER = Path(__file__).parent
_MAX_FORM_BYTES = 4096
_MAX_FORM_FIELDS = 10
_PURPOSE = "sandbox provider's form"

_templates = Jinja2Templates(
    env=Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
)


def sandbox_provider_routes(resources: Resources) -> list[Route]:
    """Return the routes to mount. Checkouts exist only for sandbox merchants and in the development
    profile."""

    async def show_checkout(request: Request) -> Response:
        checkout = await find_checkout(resources, request.path_params["reference"])
        if checkout is None:
            return _render_missing(request)
        if request.method != "POST":
            return _render(request, resources, checkout)
        form = await _read_form(request)
        if not _came_from_page(request, form, _build_token(resources.keys, checkout)):
            return _render(request, resources, checkout, is_refused=True)
        return await _decide(request, resources, checkout, form)

    style = Response(
        (_FOLDER / "checkout.css").read_bytes(),
        headers=_headers("default-src 'none'"),
        media_type="text/css",
    )
    return [
        Route(f"{CHECKOUT_PATH}/{{reference}}", show_checkout, methods=["GET", "POST"]),
        Route("/sandbox-provider/checkout.css", style, methods=["GET"]),
    ]


async def _decide(
    request: Request, resources: Resources, checkout: SandboxCheckout, form: Mapping[str, str]
) -> Response:
    """Save the decision if it is still possible, and redirect to the return address."""
    now = resources.clock.now()
    try:
        decision, notification_delivery = (
            CheckoutDecision(form.get("decision", "")),
            NotificationDelivery(form.get("notices", "")),
        )
    except ValueError:
        return _render(request, resources, checkout, is_refused=True)
    if decision in checkout.list_decisions(now):
        state = TRANSITIONS[checkout.state, decision]
        async with resources.database.transaction() as tx:
            if decision is CheckoutDecision.CHARGE_BACK:
                await save_return(tx, checkout, _build_chargeback(resources, checkout))
            await save_decision(
                tx, checkout, state, plan_notifications(notification_delivery, now), now=now
            )
    headers = {**_headers("default-src 'none'"), "Location": checkout.return_url}
    return Response(None, 303, headers)


def _build_chargeback(resources: Resources, checkout: SandboxCheckout) -> SandboxMovement:
    now = resources.clock.now()
    return SandboxMovement(
        resources.ids.new(now), MovementKind.CHARGED_BACK, checkout.amount_cents, now
    )


def _render(
    request: Request, resources: Resources, checkout: SandboxCheckout, *, is_refused: bool = False
) -> Response:
    now = resources.clock.now()
    values = {
        "checkout": checkout,
        "amount": render_money(checkout.amount_cents, checkout.currency, "en"),
        "decisions": checkout.list_decisions(now),
        "is_expired": checkout.is_expired(now),
        "is_refused": is_refused,
        "action": f"{CHECKOUT_PATH}/{_get_reference(checkout)}",
        "token": _build_token(resources.keys, checkout),
    }
    headers = _headers(_build_page_policy(checkout.return_url))
    status = 400 if is_refused else 200
    return _templates.TemplateResponse(
        request, "checkout.html", values, status_code=status, headers=headers
    )


def _render_missing(request: Request) -> Response:
    headers = _headers(_build_page_policy(None))
    return _templates.TemplateResponse(request, "missing.html", status_code=404, headers=headers)


async def _read_form(request: Request) -> dict[str, str]:
    """Return the form's fields, or none if the body is not a small URL-encoded form."""
    try:
        body = await read_body(request, _MAX_FORM_BYTES)
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MAX_FORM_FIELDS
        )
    except (InvalidRequest, PayloadTooLarge, ValueError):
        return {}
    return dict(pairs)


def _came_from_page(request: Request, form: Mapping[str, str], token: str) -> bool:
    """Return whether the form came from the page itself: it has the page's token, and no other site
    sent it."""
    site = request.headers.get("sec-fetch-site", "same-origin")
    form_token = form.get("token", "").encode()
    return site == "same-origin" and hmac.compare_digest(form_token, token.encode())


def _build_token(keys: KeyRing, checkout: SandboxCheckout) -> str:
    return keys.digest(_PURPOSE, _get_reference(checkout).encode()).hex()


def _get_reference(checkout: SandboxCheckout) -> str:
    return render_checkout_reference(checkout.merchant_id, checkout.checkout_id)


def _headers(policy: str) -> dict[str, str]:
    return {"Content-Security-Policy": policy, "X-Robots-Tag": "noindex"}


def _build_page_policy(return_url: str | None) -> str:
    """Return the page's Content-Security-Policy. Browsers also apply it to the redirect of a form,
    so it must permit the return address."""
    targets = "'self'"
    if return_url is not None:
        back = urlsplit(return_url)
        targets += f" {back.scheme}://{back.netloc}"
    return (
        "default-src 'none'; style-src 'self'; base-uri 'none'; "
        f"form-action {targets}; frame-ancestors 'none'"
    )
