"""How long a session lasts, and how the secrets look that open something.

Instants are real time. A secret is 256 random bits, of which the database keeps a hash alone. Pure.
"""

import base64
import hashlib
import re
from datetime import datetime, timedelta

SECRET_BYTES = 32
# Without a request. Uses are written once a minute, so it may be up to a minute less.
IDLE_TIMEOUT = timedelta(minutes=30)
# However much it is used.
MAX_SESSION_AGE = timedelta(hours=8)
LAST_USE_PRECISION = timedelta(minutes=1)
# For so long a new session stands for a password where there is none.
JUST_OPENED = timedelta(minutes=5)
# After its end its row still tells where somebody has signed in before.
REMEMBERED = timedelta(days=90)
_SECRET = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)


def is_just_opened(opened_by: str, opened_at: datetime, now: datetime) -> bool:
    """Whether who has no password has shown so recently who they are: with a passkey, or with the
    link by which they joined."""
    return opened_by in ("PASSKEY", "INVITATION") and now - opened_at < JUST_OPENED


def render_secret(randomness: bytes) -> str:
    """From SECRET_BYTES random bytes."""
    if len(randomness) != SECRET_BYTES:
        raise ValueError(f"a secret needs {SECRET_BYTES} random bytes")
    return base64.urlsafe_b64encode(randomness).rstrip(b"=").decode()


def derive_browser_secret(randomness: bytes) -> str:
    """The secret that a browser is known by later, from what its session's was made of: whoever has
    it does not have the session."""
    return render_secret(hashlib.sha256(b"dunwell device" + randomness).digest())


def hash_secret(secret: str) -> bytes | None:
    """What it is found by; None: it can be nobody's."""
    if not _SECRET.fullmatch(secret):
        return None
    return hashlib.sha256(secret.encode()).digest()
