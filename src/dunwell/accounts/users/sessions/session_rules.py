"""How long a session lasts, and the format of the secrets of sessions and links. Instants are real
time. Pure.

A secret has 256 random bits. The database stores only its hash.
"""

import base64
import hashlib
import re
from datetime import datetime, timedelta

SECRET_BYTES = 32
# A session ends after this time without a request. The last use is saved at most once a minute, so
# the time may be up to a minute shorter.
IDLE_TIMEOUT = timedelta(minutes=30)
# A session ends after this time in any case.
MAX_SESSION_AGE = timedelta(hours=8)
LAST_USE_PRECISION = timedelta(minutes=1)
# For this time after it was opened, a session counts as confirmed for a user without a password.
JUST_OPENED = timedelta(minutes=5)
# An ended session is kept for this time, to recognise the networks of earlier sign-ins.
REMEMBERED = timedelta(days=90)
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def is_just_opened(opened_by: str, opened_at: datetime, now: datetime) -> bool:
    """Return whether a user without a password has just confirmed their identity, with a passkey or
    an invitation link."""
    return opened_by in ("PASSKEY", "INVITATION") and now - opened_at < JUST_OPENED


def render_secret(randomness: bytes) -> str:
    """Encode SECRET_BYTES random bytes."""
    if len(randomness) != SECRET_BYTES:
        raise ValueError(f"a secret needs {SECRET_BYTES} random bytes")
    return base64.urlsafe_b64encode(randomness).rstrip(b"=").decode()


def derive_browser_secret(randomness: bytes) -> str:
    """Derive the secret by which the browser is recognised later. The result does not reveal the
    session's secret."""
    return render_secret(hashlib.sha256(b"dunwell device" + randomness).digest())


def hash_secret(secret: str) -> bytes | None:
    """Return the stored hash, or None if the text does not have the format of a secret."""
    if not _SECRET.fullmatch(secret):
        return None
    return hashlib.sha256(secret.encode()).digest()
