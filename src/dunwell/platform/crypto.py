"""Secrets at rest and keyed digests, all from the installation's secret key and its versions.

Each purpose has a key of its own (HKDF), so that a value sealed for one cannot be opened, and a
digest made for one cannot be compared, for another. What is made, is made with the version in use;
what was made with another that is still there is opened and compared as before.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

_NONCE_BYTES = 12
# Every sealed value begins with this mark and the version of the secret key, in two bytes.
SEAL_MARK = b"\xd5dunwell"
_HEAD_BYTES = len(SEAL_MARK) + 2
_BOX_BEGINS = _HEAD_BYTES + _NONCE_BYTES
_FINGERPRINT = "fingerprint"
_FINGERPRINT_BYTES = 16


class SealBroken(Exception):  # noqa: N818 - reads as what happened
    """The value was sealed with another key, or for something else, or was changed."""


class KeyRing:
    """Derives the keys of an installation from the versions of its secret key (each at least 32
    bytes): the first of them is in use."""

    def __init__(self, secret_key: Mapping[int, bytes]) -> None:
        if not secret_key or any(len(key) < 32 for key in secret_key.values()):
            raise ValueError("the secret key needs at least 32 bytes")
        self._secret_key = dict(secret_key)
        self._keys: dict[tuple[int, str], bytes] = {}
        # The one in use first.
        self.versions = tuple(self._secret_key)
        self.version = self.versions[0]

    def seal(self, purpose: str, plain: bytes, bound_to: str) -> bytes:
        """Encrypt and authenticate (AES-256-GCM); opens only with the same `bound_to`."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        box = AESGCM(self._key(purpose, self.version)).encrypt(nonce, plain, bound_to.encode())
        return _write_head(self.version) + nonce + box

    def open(self, purpose: str, sealed: bytes, bound_to: str) -> bytes:
        """Give back what `seal` was given. Raises SealBroken."""
        return self._open_any(purpose, sealed, bound_to)[0]

    def reseal(self, purpose: str, sealed: bytes, bound_to: str) -> bytes:
        """The same value sealed with the version in use, if an older one sealed it. Never the other
        way: while processes begin to use a new version one by one, none undoes what others do.
        Raises SealBroken."""
        plain, version = self._open_any(purpose, sealed, bound_to)
        return sealed if version >= self.version else self.seal(purpose, plain, bound_to)

    def digest(self, purpose: str, value: bytes, version: int | None = None) -> bytes:
        """HMAC-SHA256 of the value under the purpose's key. `version`: not the one in use. Raises
        KeyError when it is not there."""
        return hmac.digest(self._key(purpose, version or self.version), value, "sha256")

    def digests(self, purpose: str, value: bytes) -> tuple[bytes, ...]:
        """The same under every version, the one in use first: for looking up what was stored."""
        return tuple(self.digest(purpose, value, version) for version in self.versions)

    def fingerprint(self, version: int) -> bytes:
        """What the version is known by; tells nothing about it."""
        return self._key(_FINGERPRINT, version)[:_FINGERPRINT_BYTES]

    def _key(self, purpose: str, version: int) -> bytes:
        key = self._keys.get((version, purpose))
        if key is None:
            derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode())
            key = self._keys[version, purpose] = derive.derive(self._secret_key[version])
        return key

    def _open_any(self, purpose: str, sealed: bytes, bound_to: str) -> tuple[bytes, int]:
        """The value, and the version that sealed it."""
        version = read_version(sealed)
        if version not in self._secret_key:
            raise SealBroken(purpose)
        nonce, box = sealed[_HEAD_BYTES:_BOX_BEGINS], sealed[_BOX_BEGINS:]
        try:
            plain = AESGCM(self._key(purpose, version)).decrypt(nonce, box, bound_to.encode())
        except (InvalidTag, ValueError):
            raise SealBroken(purpose) from None
        return plain, version


def read_version(sealed: bytes) -> int:
    """Return the version of the secret key that the sealed value names, 0 if it names none."""
    if not sealed.startswith(SEAL_MARK):
        return 0
    return int.from_bytes(sealed[len(SEAL_MARK) : _HEAD_BYTES])


def _write_head(version: int) -> bytes:
    return SEAL_MARK + version.to_bytes(2)


def sha256(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()
