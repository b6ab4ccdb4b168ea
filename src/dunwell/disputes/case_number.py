"""The number a dispute goes by on the phone and in letters. Pure.

Derived from its id and kept nowhere. It finds nothing by itself: beside a claim it tells one
dispute from another, and forty bits do that.
"""

from hashlib import sha256
from uuid import UUID

# Crockford's base32: no letter that is heard or read as another sign.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LENGTH = 8
_BITS = 5
_GROUP = 4


def render_case_number(dispute_id: UUID) -> str:
    """Two groups of four, as 7K3M-9QXA."""
    value = int.from_bytes(sha256(dispute_id.bytes).digest()[:_BITS])
    places = range((_LENGTH - 1) * _BITS, -1, -_BITS)
    signs = "".join(_ALPHABET[value >> place & 31] for place in places)
    return f"{signs[:_GROUP]}-{signs[_GROUP:]}"
