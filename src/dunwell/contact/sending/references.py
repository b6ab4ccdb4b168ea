"""The reference of a message outside of Dunwell: the merchant and the id, with a signature.

References are part of return addresses and of callback addresses for providers. An incoming report
therefore names its message, and no outsider can forge a reference. A reference consists of letters
and digits; case does not matter.
"""

import hmac
from base64 import b32decode, b32encode
from uuid import UUID

from dunwell.contact.sending.report import Reference
from dunwell.platform.crypto import KeyRing

_PURPOSE = "message reference"
_SIGNATURE_BYTES = 8
_LENGTH = 4 + 16 + _SIGNATURE_BYTES


def build_reference(keys: KeyRing, merchant_id: int, communication_id: UUID) -> str:
    """Return 45 lower-case letters and digits."""
    signed = merchant_id.to_bytes(4) + communication_id.bytes
    return _encode(signed + keys.digest(_PURPOSE, signed)[:_SIGNATURE_BYTES])


def parse_reference(keys: KeyRing, text: str) -> Reference | None:
    """Return the message, or None if the text is not a reference that Dunwell created."""
    try:
        raw = b32decode(text.upper() + "=" * (-len(text) % 8))
    except ValueError:
        return None
    if len(raw) != _LENGTH or _encode(raw) != text.lower():
        return None
    signed, signature = raw[:-_SIGNATURE_BYTES], raw[-_SIGNATURE_BYTES:]
    known = [digest[:_SIGNATURE_BYTES] for digest in keys.digests(_PURPOSE, signed)]
    if not any(hmac.compare_digest(signature, each) for each in known):
        return None
    return Reference(int.from_bytes(signed[:4]), UUID(bytes=signed[4:]))


def _encode(raw: bytes) -> str:
    return b32encode(raw).decode().rstrip("=").lower()
