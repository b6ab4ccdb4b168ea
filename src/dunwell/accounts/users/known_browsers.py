"""Recognises a browser in which a user has completed a sign-in, by a signed cookie.

The cookie holds a secret that every sign-in draws, and a signature over the user and that secret,
made with a key derived from the installation's secret key. The database keeps the hash of the
secret with the session's row. Both must match: the signature cannot be made by someone who can only
write to the database, and the row makes the cookie worthless as soon as a new password, a reset or
the end of the session elsewhere forgets it.
"""

import base64
import hmac
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.users.session_rules import hash_secret
from dunwell.accounts.users.store_sessions import find_device_owner
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection

# How long after a completed sign-in the browser is accepted although the second factor is locked.
# A month covers a holiday; a computer that was given away is soon a stranger again.
TRUSTED_FOR = timedelta(days=30)
_PURPOSE = "portal-known-browser"


def render_browser_cookie(keys: KeyRing, user_id: UUID, secret: str) -> str:
    """Return the cookie's value for a browser in which the user has just signed in."""
    secret_hash = hash_secret(secret)
    assert secret_hash is not None
    signature = keys.digest(_PURPOSE, _describe(user_id, secret_hash))
    return f"{secret}.{_encode(signature)}"


async def find_known_browser(
    tx: Connection, keys: KeyRing, cookie: str, email: str, *, since: datetime
) -> bytes | None:
    """Return the hash of the browser's secret if the user with this e-mail address signed in with
    it after `since`, else None."""
    secret, _, signature = cookie.partition(".")
    secret_hash = hash_secret(secret)
    if secret_hash is None or not signature.isascii():
        return None
    owner = await find_device_owner(tx, secret_hash, email, since)
    if owner is None:
        return None
    # Signatures made with an older version of the secret key count as long as that version is kept.
    expected = keys.digests(_PURPOSE, _describe(owner, secret_hash))
    is_signed = any(hmac.compare_digest(_encode(each), signature) for each in expected)
    return secret_hash if is_signed else None


def _describe(user_id: UUID, secret_hash: bytes) -> bytes:
    return user_id.bytes + secret_hash


def _encode(signature: bytes) -> str:
    return base64.urlsafe_b64encode(signature).rstrip(b"=").decode()
