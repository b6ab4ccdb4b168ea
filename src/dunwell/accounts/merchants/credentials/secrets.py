"""The format of client ids, client secrets and access tokens, and the hash that is stored.

The caller supplies the random bytes: 16 for a client id, 32 (256 bits) for a secret or a token. The
prefixes let secret scanners recognise a leaked one.
"""

import base64
from dataclasses import dataclass

from dunwell.platform.crypto import sha256

_ID_BYTES = 16
_SECRET_BYTES = 32
# The random bytes of a new credential: its id and its secret.
CREDENTIAL_RANDOM_BYTES = _ID_BYTES + _SECRET_BYTES
SECRET_RANDOM_BYTES = _SECRET_BYTES


@dataclass(frozen=True, slots=True)
class NewCredential:
    """A client id and its secret, which is shown only once."""

    client_id: str
    client_secret: str


def render_credential(randomness: bytes) -> NewCredential:
    """Encode CREDENTIAL_RANDOM_BYTES random bytes as a client id and a secret."""
    if len(randomness) != CREDENTIAL_RANDOM_BYTES:
        raise ValueError(f"a credential needs {CREDENTIAL_RANDOM_BYTES} random bytes")
    client_id = "dwc_" + _encode(randomness[:_ID_BYTES])
    return NewCredential(client_id, render_client_secret(randomness[_ID_BYTES:]))


def render_client_secret(randomness: bytes) -> str:
    return "dws_" + _encode_secret(randomness)


def render_access_token(randomness: bytes) -> str:
    return "dwt_" + _encode_secret(randomness)


def hash_secret(secret: str) -> bytes:
    """Return the stored hash. SHA-256 suffices because the secret has 256 random bits."""
    return sha256(secret.encode())


def _encode_secret(randomness: bytes) -> str:
    if len(randomness) != _SECRET_BYTES:
        raise ValueError(f"a secret needs {_SECRET_BYTES} random bytes")
    return _encode(randomness)


def _encode(randomness: bytes) -> str:
    return base64.urlsafe_b64encode(randomness).rstrip(b"=").decode()
