"""Encryption of stored secrets, and keyed digests, both with the installation's secret key.

Each purpose has its own key, derived by HKDF. A value that was encrypted for one purpose cannot be
decrypted for another, and digests of different purposes cannot be compared. New values use the
active version of the secret key. Values of older versions can be decrypted and compared as long as
that version is configured.
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
# Every encrypted value begins with this mark and the version of the secret key, in two bytes.
SEAL_MARK = b"\xd5dunwell"
_HEADER_BYTES = len(SEAL_MARK) + 2
_CIPHERTEXT_START = _HEADER_BYTES + _NONCE_BYTES
_FINGERPRINT = "fingerprint"
_FINGERPRINT_BYTES = 16


class DecryptionFailed(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The value was encrypted with another key or for another purpose, or was changed."""


class KeyRing:
    """The keys of an installation, derived from the versions of its secret key, the active one
    first. Each version has at least 32 bytes."""

    def __init__(self, secret_key: Mapping[int, bytes]) -> None:
        if not secret_key or any(len(key) < 32 for key in secret_key.values()):
            raise ValueError("the secret key needs at least 32 bytes")
        self._secret_key = dict(secret_key)
        self._keys: dict[tuple[int, str], bytes] = {}
        # The active version is first.
        self.versions = tuple(self._secret_key)
        self.version = self.versions[0]

    def seal(self, purpose: str, plain: bytes, bound_to: str) -> bytes:
        """Encrypt and authenticate a value (AES-256-GCM). It can be decrypted only with the same
        `bound_to`."""
        nonce = secrets.token_bytes(_NONCE_BYTES)
        ciphertext = AESGCM(self._derive_key(purpose, self.version)).encrypt(
            nonce, plain, bound_to.encode()
        )
        return _render_header(self.version) + nonce + ciphertext

    def open(self, purpose: str, sealed: bytes, bound_to: str) -> bytes:
        """Return the value that was passed to `seal`. Raises DecryptionFailed."""
        return self._open_with_version(purpose, sealed, bound_to)[0]

    def reseal(self, purpose: str, sealed: bytes, bound_to: str) -> bytes:
        """Return the value encrypted with the active version if an older version encrypted it,
        otherwise unchanged. A newer version is never replaced by an older one, so that processes
        which adopt a new version one after the other do not undo each other's work. Raises
        DecryptionFailed."""
        plain, version = self._open_with_version(purpose, sealed, bound_to)
        return sealed if version >= self.version else self.seal(purpose, plain, bound_to)

    def digest(self, purpose: str, value: bytes, version: int | None = None) -> bytes:
        """Return the HMAC-SHA256 of the value with the purpose's key, by default in the active
        version. Raises KeyError if `version` is not configured."""
        return hmac.digest(self._derive_key(purpose, version or self.version), value, "sha256")

    def digests(self, purpose: str, value: bytes) -> tuple[bytes, ...]:
        """Return the digests of all versions, the active one first, to look up what was stored."""
        return tuple(self.digest(purpose, value, version) for version in self.versions)

    def fingerprint(self, version: int) -> bytes:
        """Return 16 bytes that identify the version without revealing its key. Raises KeyError if
        the version is not configured."""
        return self._derive_key(_FINGERPRINT, version)[:_FINGERPRINT_BYTES]

    def _derive_key(self, purpose: str, version: int) -> bytes:
        key = self._keys.get((version, purpose))
        if key is None:
            derive = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode())
            key = self._keys[version, purpose] = derive.derive(self._secret_key[version])
        return key

    def _open_with_version(self, purpose: str, sealed: bytes, bound_to: str) -> tuple[bytes, int]:
        """Return the value, and the version that encrypted it."""
        version = parse_key_version(sealed)
        if version not in self._secret_key:
            raise DecryptionFailed(purpose)
        nonce, ciphertext = sealed[_HEADER_BYTES:_CIPHERTEXT_START], sealed[_CIPHERTEXT_START:]
        try:
            plain = AESGCM(self._derive_key(purpose, version)).decrypt(
                nonce, ciphertext, bound_to.encode()
            )
        except (InvalidTag, ValueError):
            raise DecryptionFailed(purpose) from None
        return plain, version


def parse_key_version(sealed: bytes) -> int:
    """Return the version of the secret key that the encrypted value names, 0 if it names none."""
    if not sealed.startswith(SEAL_MARK):
        return 0
    return int.from_bytes(sealed[len(SEAL_MARK) : _HEADER_BYTES])


def _render_header(version: int) -> bytes:
    return SEAL_MARK + version.to_bytes(2)


def sha256(value: bytes) -> bytes:
    return hashlib.sha256(value).digest()
