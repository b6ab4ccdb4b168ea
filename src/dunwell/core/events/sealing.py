"""An endpoint's secrets: made, sealed for the database, opened for signing.

Each is bound to its merchant and endpoint, so that a row copied elsewhere opens nothing.
"""

import base64
import secrets
from uuid import UUID

from dunwell.platform.crypto import KeyRing

_SIGNING = "webhook secret"
_AUTHORIZATION = "webhook authorization"
_SECRET_BYTES = 32


def make_secret() -> str:
    """A fresh secret as Standard Webhooks writes it."""
    return "whsec_" + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def seal_secret(keys: KeyRing, merchant_id: int, endpoint_id: UUID, secret: str) -> bytes:
    return keys.seal(_SIGNING, secret.encode(), _owner(merchant_id, endpoint_id))


def open_secret(keys: KeyRing, merchant_id: int, endpoint_id: UUID, sealed: bytes) -> str:
    """Raises SealBroken."""
    return keys.open(_SIGNING, sealed, _owner(merchant_id, endpoint_id)).decode()


def seal_authorization(keys: KeyRing, merchant_id: int, endpoint_id: UUID, value: str) -> bytes:
    return keys.seal(_AUTHORIZATION, value.encode(), _owner(merchant_id, endpoint_id))


def open_authorization(keys: KeyRing, merchant_id: int, endpoint_id: UUID, sealed: bytes) -> str:
    """Raises SealBroken."""
    return keys.open(_AUTHORIZATION, sealed, _owner(merchant_id, endpoint_id)).decode()


def reseal_secret(keys: KeyRing, merchant_id: int, endpoint_id: UUID, sealed: bytes) -> bytes:
    """With the version of the secret key that is in use. Raises SealBroken."""
    return keys.reseal(_SIGNING, sealed, _owner(merchant_id, endpoint_id))


def reseal_authorization(
    keys: KeyRing, merchant_id: int, endpoint_id: UUID, sealed: bytes
) -> bytes:
    """The same."""
    return keys.reseal(_AUTHORIZATION, sealed, _owner(merchant_id, endpoint_id))


def _owner(merchant_id: int, endpoint_id: UUID) -> str:
    return f"{merchant_id}/{endpoint_id}"
