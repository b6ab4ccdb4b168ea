"""A debtor's session, the token of its forms, and the cookies of a browser (CONTRACT 17). A
cookie's value is 256 random bits, and the database stores only its hash. Each opened claim has its
own cookie under a handle, which is also part of the claim's addresses: pages and forms say which
claim they are about. The handle is derived from the id of the first session and reveals nothing. An
extended session and a claim that is opened again keep it, so that addresses in other tabs stay
valid.
"""

import base64
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import TypeAlias, TypeGuard
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.interfaces.web.responses import name_cookie
from dunwell.platform.crypto import KeyRing, sha256

VALUE_BYTES = 32
SESSION_LIFETIME = timedelta(hours=1)
# The maximum duration of a session with all its extensions. After that, the claim has to be opened
# again.
MAX_TOTAL_LIFETIME = timedelta(hours=8)
# How long after its expiry a page can still say that the session timed out, and keep what was
# typed.
ENDED_SESSION_RETENTION = timedelta(days=1)
# How long the previous token stays valid after a session got another one, so that a double click
# or a second tab does not lose the session.
PREVIOUS_TOKEN_LIFETIME = timedelta(seconds=10)
# How long before the end the page offers to extend the session (WCAG 2.2.1 asks for at least 20
# seconds).
EXPIRY_WARNING = timedelta(minutes=5)
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_FORM_PURPOSE = "landing-form"


class Level(StrEnum):
    """How much a session shows (PAGES, personal data), in ascending order."""

    # Opened by a link alone: shows amount, reference, initials and payment.
    LINK = "LINK"
    # After a known fact or a letter's code: shows items, documents, plans and disputes too.
    FACT = "FACT"
    # After a code sent to the address on file: contact data can be changed.
    CODE = "CODE"

    def reaches(self, needed: "Level") -> bool:
        """Return whether this level shows everything that `needed` shows."""
        return _LEVELS.index(self) >= _LEVELS.index(needed)


_LEVELS = tuple(Level)


class Session(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stored session, live or ended."""

    merchant_id: int
    session_hash: bytes
    # The sessionId in events.
    session_id: UUID
    claim_id: int
    communication_id: UUID | None
    channel: Channel | None
    level: Level
    # Real time, like all instants of sessions.
    expires_at: datetime
    ended_at: datetime | None
    opened_at: datetime
    # When the first session of this chain of extensions was opened.
    first_opened_at: datetime
    # Digests of the address whose code was entered, as the suppression list stores them. Empty if
    # no code was entered.
    proven_digests: list[bytes] = []
    # The hash of the previous token (see `PREVIOUS_TOKEN_LIFETIME`), or of the request that opened
    # the session.
    previous_hash: bytes | None = None

    @property
    def can_be_extended(self) -> bool:
        """Return whether an extension would make the session last longer."""
        return self.expires_at < self.first_opened_at + MAX_TOTAL_LIFETIME

    def is_live(self, now: datetime) -> bool:
        return self.ended_at is None and now < self.expires_at


def render_value(randomness: bytes) -> str:
    """Render the cookie's value from VALUE_BYTES random bytes."""
    if len(randomness) != VALUE_BYTES:
        raise ValueError(f"a session needs {VALUE_BYTES} random bytes")
    return _encode(randomness)


def hash_value(value: str) -> bytes | None:
    """Return the hash that a session is found by, or None if this cannot be a session's cookie."""
    return sha256(value.encode()) if _VALUE.fullmatch(value) else None


def derive_form_token(keys: KeyRing, session_hash: bytes) -> str:
    """Derive the token that each form of a session carries and that outsiders cannot forge."""
    return list_form_tokens(keys, session_hash)[0]


# Cached for the next pages of the session: deriving the tokens costs more than finding the session.
@lru_cache(maxsize=4096)
def list_form_tokens(keys: KeyRing, session_hash: bytes) -> tuple[str, ...]:
    """Return the form token under each version of the secret key, the current one first. A form may
    have stayed open in a browser since before the key was rotated."""
    return tuple(map(_encode, keys.digests(_FORM_PURPOSE, session_hash)))


def looks_like_token(given: str) -> bool:
    """Return whether the text has the format of a form token."""
    return _VALUE.fullmatch(given) is not None


def is_form_token(keys: KeyRing, session_hash: bytes, given: str) -> bool:
    tokens = list_form_tokens(keys, session_hash)
    return any(hmac.compare_digest(token.encode(), given.encode()) for token in tokens)


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


# How many claims one browser can keep open (CONTRACT 17); each request carries all their cookies. A
# page asks before a ninth claim closes the oldest.
MAX_OPEN_CLAIMS = 8
# If a request brings more cookies, the rest is ignored.
_MAX_COOKIES_READ = 16
_HANDLE_LENGTH = 10
# Ten characters of base32, so that a handle never equals a path segment.
HANDLE = f"[a-z2-7]{{{_HANDLE_LENGTH}}}"
_HANDLE = re.compile(HANDLE)


SessionsByHandle: TypeAlias = Mapping[str, Session | None]


@dataclass(frozen=True, slots=True)
class CookieSlot:
    """The cookie handle for a claim, and the handles of ended or unknown sessions that it
    evicts.
    """

    handle: str
    evicted_handles: tuple[str, ...] = ()


def derive_handle(session_id: UUID) -> str:
    digest = sha256(b"handle " + session_id.bytes)
    return base64.b32encode(digest).decode()[:_HANDLE_LENGTH].lower()


def parse_cookies(cookies: Mapping[str, str], *, is_secure: bool) -> dict[str, bytes]:
    """Return the hashes of the cookies' possible sessions, by handle."""
    prefix, found = name_cookie("", is_secure=is_secure), dict[str, bytes]()
    for name, value in cookies.items():
        handle, session_hash = name.removeprefix(prefix), hash_value(value)
        is_ours = name.startswith(prefix) and _HANDLE.fullmatch(handle)
        if is_ours and session_hash is not None and len(found) < _MAX_COOKIES_READ:
            found[handle] = session_hash
    return found


def choose_cookie_slot(sessions: SessionsByHandle, opened: Session, now: datetime) -> CookieSlot:
    """Choose the handle of a session that was just opened.

    `sessions` holds None for a cookie whose session is unknown.
    """
    merchant_id, claim_id = opened.merchant_id, opened.claim_id
    handle, ordered = derive_handle(opened.session_id), sort_by_expiry(sessions)
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


def sort_by_expiry(sessions: SessionsByHandle) -> list[str]:
    """Return the handles in the order in which their sessions expire. Unknown sessions come before
    all others."""

    def get_end(handle: str) -> float:
        session = sessions[handle]
        return 0 if session is None else session.expires_at.timestamp()

    return sorted(sessions, key=get_end)


def _is_live(session: Session | None, now: datetime) -> TypeGuard[Session]:
    return session is not None and session.is_live(now)
