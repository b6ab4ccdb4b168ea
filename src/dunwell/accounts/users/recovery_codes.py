"""Ten recovery codes for a user who has lost the second factor; each code can be used once.

They are derived from the session in which they were created, so that its page can show them for a
while although nothing stores them. The database holds plain hashes: with 120 random bits a code
cannot be found from its hash by trying.
"""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from dunwell.platform.crypto import KeyRing

HOW_MANY = 10
# In the session that made them.
SHOWN_FOR = timedelta(minutes=30)
_PURPOSE = "portal-recovery-codes"
# 24 characters of five bits each are 120 bits, printed in six groups of four.
_LENGTH = 24
_GROUP = 4
_BITS = 5
# Crockford's base32: no I, L, O, which read as digits, and no U.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_FORGIVEN = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, "\u2010": None, "\u2013": None})


def derive_codes(
    keys: KeyRing, session_secret: str, codes_id: UUID, version: int | None = None
) -> Sequence[str]:
    """version: of the secret key, if it is not the one in use."""
    return [
        _write(keys.digest(_PURPOSE, f"{codes_id} {place} {session_secret}".encode(), version))
        for place in range(HOW_MANY)
    ]


def render_code(code: str) -> str:
    """Return the code in groups, as it is printed: ABCD-EFGH-JKMN-PQRS-TVWX-YZ01."""
    return "-".join(code[place : place + _GROUP] for place in range(0, _LENGTH, _GROUP))


def hash_code(typed: str) -> bytes | None:
    """What the code is known by, whatever its case and groups; None: it can be none."""
    code = "".join(typed.split()).upper().translate(_FORGIVEN)
    if len(code) != _LENGTH or any(letter not in _ALPHABET for letter in code):
        return None
    return hashlib.sha256(b"recovery " + code.encode()).digest()


def _write(digest: bytes) -> str:
    value = int.from_bytes(digest[: _LENGTH * _BITS // 8])
    places = range((_LENGTH - 1) * _BITS, -1, -_BITS)
    return "".join(_ALPHABET[value >> place & 31] for place in places)
