"""A debtor's session: the cookie's value, what the session may see, and the token of its forms.

The cookie's value is 256 random bits. The database stores only a hash of it.
"""

import base64
import hmac
import re
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.platform.crypto import KeyRing, sha256

VALUE_BYTES = 32
SESSION_LIFETIME = timedelta(hours=1)
# After this time of extensions in a row, the claim has to be opened again.
MAX_TOTAL_LIFETIME = timedelta(hours=8)
# So long a page can still say that the session timed out, and keep what was typed.
ENDED_SESSION_RETENTION = timedelta(days=1)
# How long the previous token stays valid after a session got another one, so that a double click
# or a second tab does not lose the session.
PREVIOUS_TOKEN_LIFETIME = timedelta(seconds=10)
# How long before the end the page offers to stay (WCAG 2.2.1 asks for at least 20 seconds).
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
    # The hash of the previous token; see `PREVIOUS_TOKEN_LIFETIME`.
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
