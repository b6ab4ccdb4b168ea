"""The cookies of sign-ins and invitations, and other functions that the routes for users share."""

import math
import secrets
from dataclasses import dataclass
from datetime import timedelta

from markupsafe import Markup
from starlette.responses import Response

from dunwell.accounts.users.factors.passkeys import find_relying_party
from dunwell.accounts.users.factors.totp import render_app_uri
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.session_rules import (
    REMEMBERED,
    SECRET_BYTES,
    hash_secret,
    render_secret,
)
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.sessions.store import save_session_end_by_hash
from dunwell.accounts.users.single_sign_on.sign_on import ATTEMPT_LASTS
from dunwell.accounts.users.user_work import Visitor
from dunwell.contact.messages.letters.qr_code import draw_svg
from dunwell.interfaces.portal.render.addresses import build_address, is_portal_address
from dunwell.interfaces.portal.users.views import SignInPage
from dunwell.interfaces.portal.web.access import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.responses import build_redirect

_SECRET_GROUP_LENGTH = 4
# Identifies a sign-in that awaits its second factor.
_PENDING_SIGN_IN_COOKIE = "dunwell-portal-entry"
# Identifies a browser that has signed in before.
_DEVICE_COOKIE = "dunwell-portal-device"
# Identifies a sign-in at a provider.
_ATTEMPT_COOKIE = "dunwell-portal-attempt"
# Identifies a browser that opened a one-time link.
_OPENER_COOKIE = "dunwell-portal-opener"


@dataclass(frozen=True, slots=True)
class AppSetup:
    secret: str
    code_image: Markup
    address: str


def get_sign_in_services(site: PortalSite) -> SignInServices:
    return SignInServices(site.resources, site.passwords)


def build_visitor(site: PortalSite, request: PortalRequest) -> Visitor:
    browser_cookie = request.cookies.get(_name_cookie(_DEVICE_COOKIE, is_secure=site.is_secure), "")
    return Visitor(request.client_host, request.headers.get("user-agent", ""), browser_cookie)


def generate_randomness() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def has_passkeys(site: PortalSite) -> bool:
    return find_relying_party(site.resources.settings.public_url) is not None


def get_session_secret(site: PortalSite, request: PortalRequest) -> str:
    """Return the secret in the session cookie, or "" if there is none."""
    return site.get_session_secret(request) or ""


def build_app_setup(secret: str, email: str) -> AppSetup:
    """Return what the user enters in an authenticator app: the secret in groups, and its URI
    with a QR code."""
    address = render_app_uri(secret, email)
    groups = (
        secret[start : start + _SECRET_GROUP_LENGTH]
        for start in range(0, len(secret), _SECRET_GROUP_LENGTH)
    )
    # The drawing is safe: it contains no text from outside.
    return AppSetup(" ".join(groups), Markup(draw_svg(address).decode()), address)  # noqa: S704


def count_minutes(seconds: int) -> int:
    return math.ceil(seconds / 60)


def choose_next_page(given: str) -> str:
    """Return the URL after the sign-in: the requested page if it is in the portal, else its
    first page."""
    sign_in = build_address("sign_in")
    return (
        given
        if is_portal_address(given) and not given.startswith(sign_in)
        else build_address("portal")
    )


def start_browser_session(site: PortalSite, opened: OpenedSession, next_page: str) -> Response:
    """Set the cookie of the new session, whatever session the browser had before, delete the cookie
    of the pending sign-in, and redirect to the next page, or to the account's page if the user has
    to know of something there."""
    if opened.is_second_factor_locked:
        next_page = build_address("account")
    elif opened.is_new_network:
        next_page = build_address("account", done="new_place")
    response = build_redirect(next_page)
    site.set_session_cookie(response, opened.secret)
    for cookie in (
        render_pending_sign_in_cookie("", is_secure=site.is_secure),
        _render_cookie(
            _DEVICE_COOKIE, opened.browser_cookie, is_secure=site.is_secure, lasts=REMEMBERED
        ),
        _render_cookie(_OPENER_COOKIE, "", is_secure=site.is_secure),
    ):
        response.headers.append("Set-Cookie", cookie)
    return response


def get_pending_sign_in_secret(site: PortalSite, request: PortalRequest) -> str:
    return request.cookies.get(_name_cookie(_PENDING_SIGN_IN_COOKIE, is_secure=site.is_secure), "")


def render_pending_sign_in_cookie(secret: str, *, is_secure: bool) -> str:
    """Return the Set-Cookie header. An empty secret deletes the cookie."""
    return _render_cookie(_PENDING_SIGN_IN_COOKIE, secret, is_secure=is_secure)


def get_attempt_secret(site: PortalSite, request: PortalRequest) -> str:
    return request.cookies.get(_name_cookie(_ATTEMPT_COOKIE, is_secure=site.is_secure), "")


def render_attempt_cookie(secret: str, *, is_secure: bool) -> str:
    """Return the Set-Cookie header. An empty secret deletes the cookie."""
    return _render_cookie(_ATTEMPT_COOKIE, secret, is_secure=is_secure, lasts=ATTEMPT_LASTS)


async def end_previous_session(site: PortalSite, request: PortalRequest) -> None:
    """End the session that this browser had before, so that another user's session does not remain
    open."""
    before = hash_secret(get_session_secret(site, request))
    if before is not None:
        async with site.resources.database.transaction() as tx:
            await save_session_end_by_hash(tx, before, site.now())


def build_sign_in_page(site: PortalSite, next_page: str, name: str = "") -> SignInPage:
    """Return the sign-in page with all available methods."""
    shown = site.providers.list_shown()
    return SignInPage(
        next=next_page,
        has_passkeys=has_passkeys(site),
        providers=shown,
        is_required=site.providers.is_required,
        title=next((each.display_name for each in shown if each.name == name), ""),
    )


def get_opener_secret(site: PortalSite, request: PortalRequest) -> str:
    """Return the secret that the browser got when it opened a link, or a new one."""
    given = request.cookies.get(_name_cookie(_OPENER_COOKIE, is_secure=site.is_secure), "")
    return given if hash_secret(given) is not None else render_secret(generate_randomness())


def set_opener_cookie(site: PortalSite, response: Response, opener: str) -> None:
    cookie = _render_cookie(_OPENER_COOKIE, opener, is_secure=site.is_secure)
    response.headers.append("Set-Cookie", cookie)


def _render_cookie(
    name: str, secret: str, *, is_secure: bool, lasts: timedelta | None = None
) -> str:
    parts = [
        f"{_name_cookie(name, is_secure=is_secure)}={secret}",
        "Path=/",
        "HttpOnly",
        "SameSite=Lax",
    ]
    parts += ["Secure"] if is_secure else []
    if not secret:
        parts.append("Max-Age=0")
    elif lasts is not None:
        parts.append(f"Max-Age={int(lasts.total_seconds())}")
    return "; ".join(parts)


def _name_cookie(name: str, *, is_secure: bool) -> str:
    return f"__Host-{name}" if is_secure else name
