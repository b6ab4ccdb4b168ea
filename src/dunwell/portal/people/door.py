"""What the routes about people share: who is at the door, the cookie of a sign-in under way, and
the codes of authenticator apps as pictures.
"""

import math
import secrets
from dataclasses import dataclass

from markupsafe import Markup
from starlette.responses import Response

from dunwell.messages.letters.code_image import draw_svg
from dunwell.people.open_session import OpenedSession
from dunwell.people.passkeys import find_relying_party
from dunwell.people.reception import Reception
from dunwell.people.session_rules import SECRET_BYTES
from dunwell.people.totp import render_app_address
from dunwell.people.visitor import Visitor
from dunwell.portal.render.addresses import build_address, is_ours
from dunwell.portal.web.answer import answer_redirect
from dunwell.portal.web.session_cookie import read_secret
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Visit

_GROUP = 4


@dataclass(frozen=True, slots=True)
class ShownApp:
    secret: str
    code_image: Markup
    address: str


def receive(site: Site) -> Reception:
    return Reception(site.resources, site.passwords)


def find_visitor(visit: Visit) -> Visitor:
    return Visitor(visit.client_host, visit.headers.get("user-agent", ""))


def draw_randomness() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def has_passkeys(site: Site) -> bool:
    return find_relying_party(site.resources.settings.public_url) is not None


def read_session_secret(site: Site, visit: Visit) -> str:
    """Of somebody who is signed in."""
    return read_secret(visit.cookies, is_secure=site.is_secure) or ""


def show_app(secret: str, email: str) -> ShownApp:
    address = render_app_address(secret, email)
    groups = (secret[place : place + _GROUP] for place in range(0, len(secret), _GROUP))
    # Our own drawing: it holds no text of anybody.
    return ShownApp(" ".join(groups), Markup(draw_svg(address).decode()), address)  # noqa: S704


def count_minutes(seconds: int) -> int:
    return math.ceil(seconds / 60)


def choose_next(given: str) -> str:
    """Where a sign-in leads: to the page of ours that was asked for, else to the first."""
    sign_in = build_address("sign_in")
    return given if is_ours(given) and not given.startswith(sign_in) else build_address("portal")


def let_in(site: Site, opened: OpenedSession, to: str) -> Response:
    """The session's cookie is new with each sign-in, whatever the browser had before; what waited
    for a second factor is over."""
    if opened.is_new_place:
        to = build_address("account", done="new_place")
    answer = answer_redirect(to)
    site.set_session(answer, opened.secret)
    answer.headers.append("Set-Cookie", render_entry_cookie("", is_secure=site.is_secure))
    return answer


def read_entry(site: Site, visit: Visit) -> str:
    return visit.cookies.get(_name_entry(is_secure=site.is_secure), "")


def render_entry_cookie(secret: str, *, is_secure: bool) -> str:
    """The Set-Cookie header; an empty secret removes it."""
    name = _name_entry(is_secure=is_secure)
    parts = [f"{name}={secret}", "Path=/", "HttpOnly", "SameSite=Lax"]
    parts += ["Secure"] if is_secure else []
    parts += [] if secret else ["Max-Age=0"]
    return "; ".join(parts)


def _name_entry(*, is_secure: bool) -> str:
    return "__Host-dunwell-portal-entry" if is_secure else "dunwell-portal-entry"
