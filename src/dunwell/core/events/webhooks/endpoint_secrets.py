"""An endpoint's secrets: create, encrypt and decrypt them."""

import base64
import secrets
from uuid import UUID

from dunwell.platform.crypto import KeyRing

SIGNING = "webhook secret"
AUTHORIZATION = "webhook authorization"
_SECRET_BYTES = 32


def create_secret() -> str:
    """Return a new secret in the format of Standard Webhooks."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def seal_secret(keys: KeyRing, merchant_id: int, endpoint_id: UUID, secret: str) -> bytes:
    return keys.seal(SIGNING, secret.encode(), render_binding(merchant_id, endpoint_id))


def open_secret(keys: KeyRing, merchant_id: int, endpoint_id: UUID, sealed: bytes) -> str:
    """Decrypt the secret. Raises DecryptionFailed."""
    return keys.open(SIGNING, sealed, render_binding(merchant_id, endpoint_id)).decode()


def seal_authorization(keys: KeyRing, merchant_id: int, endpoint_id: UUID, value: str) -> bytes:
    return keys.seal(AUTHORIZATION, value.encode(), render_binding(merchant_id, endpoint_id))


def open_authorization(keys: KeyRing, merchant_id: int, endpoint_id: UUID, sealed: bytes) -> str:
    """Decrypt the header value. Raises DecryptionFailed."""
    return keys.open(AUTHORIZATION, sealed, render_binding(merchant_id, endpoint_id)).decode()


def render_binding(merchant_id: int, endpoint_id: UUID) -> str:
    """Return the text that the endpoint's encrypted values are bound to (`KeyRing.seal`)."""
    return f"{merchant_id}/{endpoint_id}"
