"""Authenticator apps: secrets, the address an app reads from a QR code, and codes (RFC 6238).

A code is known by its step, of 30 seconds; the caller takes each step once (`store_factors`).
"""

import base64
import hmac
from datetime import datetime
from uuid import UUID

import pyotp

from dunwell.platform.crypto import KeyRing

SECRET_BYTES = 20
PURPOSE = "portal-totp"
_INVITATION_PURPOSE = "portal-invitation-app"
_STEP_SECONDS = 30
_DIGITS = 6
# Clocks differ, and typing takes time: one step before, one behind.
_ACCEPTED_STEPS = (0, -1, 1)
_ISSUER = "Dunwell"


def seal_secret(keys: KeyRing, user_id: UUID, secret: bytes) -> bytes:
    """Opens for this user alone."""
    return keys.seal(PURPOSE, secret, str(user_id))


def derive_invitation_secret(keys: KeyRing, user_id: UUID, link: str, opener: str) -> bytes:
    """Of the app that joins by a link, as the browser that has this secret was shown it. By the
    oldest version of the key, so that a newer one between looking and joining changes nothing."""
    what = b"\0".join([user_id.bytes.hex().encode(), link.encode(), opener.encode()])
    return keys.digest(_INVITATION_PURPOSE, what, min(keys.versions))[:SECRET_BYTES]


def open_secret(keys: KeyRing, user_id: UUID, sealed: bytes) -> str:
    """In base32, as apps take it. Raises SealBroken."""
    return encode_secret(keys.open(PURPOSE, sealed, str(user_id)))


def encode_secret(secret: bytes) -> str:
    return base64.b32encode(secret).decode()


def render_app_address(secret: str, email: str) -> str:
    """What the QR code says: otpauth://totp/..."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=_ISSUER)


def find_step(secret: str, code: str, now: datetime) -> int | None:
    """Of the code as it was typed; None: it is not one of this moment."""
    digits = "".join(code.split())
    if len(digits) != _DIGITS or not (digits.isascii() and digits.isdecimal()):
        return None
    app, present = pyotp.TOTP(secret), int(now.timestamp()) // _STEP_SECONDS
    for apart in _ACCEPTED_STEPS:
        if hmac.compare_digest(app.generate_otp(present + apart), digits):
            return present + apart
    return None
