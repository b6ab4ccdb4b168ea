"""The cookies of opened claims: one for each claim, under its own handle (CONTRACT 17).

The handle is also part of the claim's addresses, so that pages and forms say which claim they are
about. It is derived from the id of the first session and reveals nothing. Extended sessions and a
claim that is opened again keep the handle, so that addresses in other tabs stay valid.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, TypeGuard
from uuid import UUID

from dunwell.interfaces.landing.session.session import Session, hash_value
from dunwell.platform.crypto import sha256

# How many claims one browser can keep open (CONTRACT 17); each request carries all their cookies. A
# page asks before a ninth claim closes the oldest.
MAX_OPEN_CLAIMS = 8
# If a request brings more cookies, the rest is ignored.
_MOST_READ = 16
_LENGTH = 10
# Ten characters of base32, so that a handle never equals a path segment.
HANDLE = f"[a-z2-7]{{{_LENGTH}}}"
_HANDLE = re.compile(HANDLE)


SessionsByHandle: TypeAlias = Mapping[str, Session | None]


@dataclass(frozen=True, slots=True)
class CookieSlot:
    """The cookie handle for a claim, and the handles of ended sessions that it evicts."""

    handle: str
    evicted_handles: tuple[str, ...] = ()


def derive_handle(session_id: UUID) -> str:
    digest = sha256(b"handle " + session_id.bytes)
    return base64.b32encode(digest).decode()[:_LENGTH].lower()


def name_cookie(handle: str, *, is_secure: bool) -> str:
    return _name_prefix(is_secure=is_secure) + handle


def parse_cookies(cookies: Mapping[str, str], *, is_secure: bool) -> dict[str, bytes]:
    """Return the hashes of the cookies' possible sessions, by handle."""
    prefix, found = _name_prefix(is_secure=is_secure), dict[str, bytes]()
    for name, value in cookies.items():
        handle, session_hash = name.removeprefix(prefix), hash_value(value)
        is_ours = name.startswith(prefix) and _HANDLE.fullmatch(handle)
        if is_ours and session_hash is not None and len(found) < _MOST_READ:
            found[handle] = session_hash
    return found


def render_cookie(handle: str, value: str, *, is_secure: bool) -> str:
    """Render the Set-Cookie header. An empty value removes the cookie.

    The cookie lasts as long as the browser, so that a session that timed out differs from no
    session.
    """
    name = name_cookie(handle, is_secure=is_secure)
    parts = [f"{name}={value}", "Path=/", "HttpOnly", "SameSite=Lax"]
    if is_secure:
        parts.append("Secure")
    if not value:
        parts.append("Max-Age=0")
    return "; ".join(parts)


def choose_cookie_slot(sessions: SessionsByHandle, opened: Session, now: datetime) -> CookieSlot:
    """Choose the handle of a session that was just opened.

    held: the sessions of the browser's cookies, or None for a cookie that is not known any more.
    """
    merchant_id, claim_id = opened.merchant_id, opened.claim_id
    handle, ordered = derive_handle(opened.session_id), sort_by_age(sessions)
    for each in ordered:
        session = sessions[each]
        if session and (session.merchant_id, session.claim_id) == (merchant_id, claim_id):
            handle = each
    others = [each for each in ordered if each != handle]
    excess = max(0, len(others) + 1 - MAX_OPEN_CLAIMS)
    ended = [each for each in others if not _is_live(sessions[each], now)]
    return CookieSlot(handle, tuple(ended[:excess]))


def list_handles_to_close(sessions: SessionsByHandle, handle: str, now: datetime) -> list[str]:
    """Return the handles of the open claims that must close so that this one can stay open, the
    oldest first. Empty if there is room for the claim or if it is not open."""
    live = [
        (session.opened_at, each) for each, session in sessions.items() if _is_live(session, now)
    ]
    opened = [each for _, each in sorted(live)]
    if handle not in opened[MAX_OPEN_CLAIMS:]:
        return []
    return opened[: len(opened) - MAX_OPEN_CLAIMS]


def sort_by_age(sessions: SessionsByHandle) -> list[str]:
    """Return the handles by the age of their sessions, the oldest first. Unknown sessions come
    before all others."""

    def tell(handle: str) -> float:
        session = sessions[handle]
        return 0 if session is None else session.expires_at.timestamp()

    return sorted(sessions, key=tell)


def _is_live(session: Session | None, now: datetime) -> TypeGuard[Session]:
    return session is not None and session.is_live(now)


def _name_prefix(*, is_secure: bool) -> str:
    """With `__Host-`, browsers send the cookie only to this host, over TLS."""
    return "__Host-dunwell-" if is_secure else "dunwell-"
