"""The number a dispute goes by on the phone and in letters.

Derived from its id and kept nowhere. It finds nothing by itself: beside a claim it tells one
dispute from another, and forty bits do that. Pure.
"""

from base64 import b32encode
from hashlib import sha256
from uuid import UUID

_BYTES = 5
# Crockford's base32: no letter that is heard or read as another sign.
_SIGNS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def render_case_number(dispute_id: UUID) -> str:
    """Two groups of four, as 7K3M-9QXA."""
    signs = b32encode(sha256(dispute_id.bytes).digest()[:_BYTES]).decode().translate(_SIGNS)
    return f"{signs[:4]}-{signs[4:]}"
