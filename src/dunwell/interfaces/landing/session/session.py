"""A debtor's hour on the page: its cookie's value, what it may see, the token of its forms.

The cookie's value is 256 random bits, of which the database keeps a hash alone.
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
# Of those that go on from one another, after which the claim has to be opened anew.
MAX_TOTAL_LIFETIME = timedelta(hours=8)
# After its end a page can still say that it timed out, and keep what was typed.
ENDED_SESSION_RETENTION = timedelta(days=1)
# How long the previous token stays valid after a session got another one, so that a double click
# or a second tab does not lose the session.
PREVIOUS_TOKEN_LIFETIME = timedelta(seconds=10)
# From when on the page asks whether to go on (WCAG 2.2.1 asks for 20 seconds at least).
EXPIRY_WARNING = timedelta(minutes=5)
_VALUE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)
_FORM_PURPOSE = "landing-form"


class Level(StrEnum):
    """How much a session shows (PAGES, personal data), the least first."""

    # Opened by a link alone: amount, reference, initials, pay.
    LINK = "LINK"
    # After a known fact, which a letter's code counts as: items, documents, plans, disputes too.
    FACT = "FACT"
    # After a code sent to the address on file: contact data can be changed.
    CODE = "CODE"

    def reaches(self, needed: "Level") -> bool:
        """Whether all that `needed` shows is shown."""
        return _LEVELS.index(self) >= _LEVELS.index(needed)


_LEVELS = tuple(Level)


class Session(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A session as it is stored, whether it lasts or not."""

    merchant_id: int
    session_hash: bytes
    # The sessionId in events.
    session_id: UUID
    claim_id: int
    communication_id: UUID | None
    channel: Channel | None
    level: Level
    # Real time, as all instants of sessions are.
    expires_at: datetime
    ended_at: datetime | None
    opened_at: datetime
    # Of the sessions that this one goes on from, the first.
    first_opened_at: datetime
    # Of the address that a code went to which was typed in, as suppressions know it; none: no code.
    proven_digests: list[bytes] = []
    # The hash of the previous token; see `PREVIOUS_TOKEN_LIFETIME`.
    previous_hash: bytes | None = None

    @property
    def can_be_extended(self) -> bool:
        """Whether another hour would be any longer."""
        return self.expires_at < self.first_opened_at + MAX_TOTAL_LIFETIME

    def is_live(self, now: datetime) -> bool:
        return self.ended_at is None and now < self.expires_at


def render_value(randomness: bytes) -> str:
    """The cookie's value from VALUE_BYTES random bytes."""
    if len(randomness) != VALUE_BYTES:
        raise ValueError(f"a session needs {VALUE_BYTES} random bytes")
    return _encode(randomness)


def hash_value(value: str) -> bytes | None:
    """What a session is found by; None: this can be no session's cookie."""
    return sha256(value.encode()) if _VALUE.fullmatch(value) else None


def derive_form_token(keys: KeyRing, session_hash: bytes) -> str:
    """What every form of a session bears, and nobody else can make."""
    return list_form_tokens(keys, session_hash)[0]


# Kept for the session's next pages: making them costs more than finding the session's hash.
@lru_cache(maxsize=4096)
def list_form_tokens(keys: KeyRing, session_hash: bytes) -> tuple[str, ...]:
    """The same under each version of the secret key, the one in use first: a form may stand open
    in a browser since before it was."""
    return tuple(map(_encode, keys.digests(_FORM_PURPOSE, session_hash)))


def looks_like_token(given: str) -> bool:
    """Whether it can be one of some session's."""
    return _VALUE.fullmatch(given) is not None


def is_form_token(keys: KeyRing, session_hash: bytes, given: str) -> bool:
    tokens = list_form_tokens(keys, session_hash)
    return any(hmac.compare_digest(token.encode(), given.encode()) for token in tokens)


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()
