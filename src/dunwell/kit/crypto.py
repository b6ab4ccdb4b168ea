"""Secrets at rest and keyed digests, all from the installation's one secret key.

Each purpose has a key of its own (HKDF), so that a value sealed for one cannot be opened, and a
digest made for one cannot be compared, for another.
"""

import hashlib
import hmac
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE_BYTES = 12


class SealBroken(Exception):  # noqa: N818 - reads as what happened
    """The value was sealed with another key, or for something else, or was changed."""


class KeyRing:
    """Derives the keys of an installation from its secret key (at least 32 bytes)."""

    def __init__(self, secret_key: bytes) -> None:
        if len(secret_key) < 32:
            raise ValueError("the secret key needs at least 32 bytes")
        self._secret_key = secret_key
        self._keys: dict[str, bytes] = {}

    def _key(self, purpose: str) -> bytes:
        if purpose not in self._keys:
            derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode())
            self._keys[purpose] = derive.derive(self._secret_key)
        return self._keys[purpose]

    def seal(self, purpose: str, plain: bytes, bound_to: str) -> bytes:
        """Encrypt and authenticate (AES-256-GCM); opens only with the same `bound_to`."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        return nonce + AESGCM(self._key(purpose)).encrypt(nonce, plain, bound_to.encode())

    def open(self, purpose: str, sealed: bytes, bound_to: str) -> bytes:
        """Give back what `seal` was given. Raises SealBroken."""
        nonce, box = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return AESGCM(self._key(purpose)).decrypt(nonce, box, bound_to.encode())
        except (InvalidTag, ValueError) as error:
            raise SealBroken(purpose) from error

    def digest(self, purpose: str, value: bytes) -> bytes:
        """HMAC-SHA256 of the value under the purpose's key."""
        return hmac.digest(self._key(purpose), value, "sha256")


def sha256(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()
