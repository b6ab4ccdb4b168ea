"""Authenticator apps: secrets, the URI in the QR code, and codes (RFC 6238).

Each code belongs to a time step of 30 seconds. The caller must accept each step only once
(`store.use_totp_step`).
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
# Clocks differ and typing takes time: one step before and one after are accepted.
_ACCEPTED_STEPS = (0, -1, 1)
_ISSUER = "Dunwell"


def seal_secret(keys: KeyRing, user_id: UUID, secret: bytes) -> bytes:
    """Encrypt the secret for this user."""
    return keys.seal(PURPOSE, secret, str(user_id))


def derive_invitation_secret(keys: KeyRing, user_id: UUID, link: str, opener: str) -> bytes:
    """Derive the app's secret for a link and the browser that opened it. The oldest version of the
    secret key is used, so that a key rotation in between changes nothing."""
    context = b"\0".join([user_id.bytes.hex().encode(), link.encode(), opener.encode()])
    return keys.digest(_INVITATION_PURPOSE, context, min(keys.versions))[:SECRET_BYTES]


def open_secret(keys: KeyRing, user_id: UUID, sealed: bytes) -> str:
    """Return the decrypted secret in base32, as apps expect it. Raises DecryptionFailed."""
    return encode_secret(keys.open(PURPOSE, sealed, str(user_id)))


def encode_secret(secret: bytes) -> str:
    return base64.b32encode(secret).decode()


def render_app_uri(secret: str, email: str) -> str:
    """Return the URI in the QR code: otpauth://totp/..."""
    return pyotp.TOTP(secret).provisioning_uri(name=email, issuer_name=_ISSUER)


def find_step(secret: str, code: str, now: datetime) -> int | None:
    """Return the time step of a typed code, or None if the code is not valid now."""
    digits = "".join(code.split())
    if len(digits) != _DIGITS or not (digits.isascii() and digits.isdecimal()):
        return None
    app, current_step = pyotp.TOTP(secret), int(now.timestamp()) // _STEP_SECONDS
    for offset in _ACCEPTED_STEPS:
        if hmac.compare_digest(app.generate_otp(current_step + offset), digits):
            return current_step + offset
    return None
