"""Ten recovery codes for a user who has lost the second factor. Each can be used once."""

import hashlib
from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from dunwell.accounts.users.factors.store import load_code_hashes, replace_recovery_codes
from dunwell.accounts.users.sessions.session_rules import hash_secret
from dunwell.accounts.users.sessions.store import find_shown_codes, save_shown_codes
from dunwell.accounts.users.user_work import UserWork, save_user_audit
from dunwell.platform.crypto import KeyRing

CODE_COUNT = 10
# How long the session that created the codes can show them again.
SHOWN_FOR = timedelta(minutes=30)
_PURPOSE = "portal-recovery-codes"
# 24 characters of five bits are 120 bits, shown in six groups of four.
_LENGTH = 24
_GROUP = 4
_BITS = 5
# Crockford's base32: without I, L and O, which look like digits, and without U.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_NORMALISED = str.maketrans(
    {"O": "0", "I": "1", "L": "1", "-": None, "\u2010": None, "\u2013": None}
)


def derive_recovery_codes(
    keys: KeyRing, session_secret: str, recovery_codes_id: UUID, version: int | None = None
) -> Sequence[str]:
    """Derive the codes from the session's secret. `version` is the version of the secret key, if it
    is not the current one."""
    return [
        _encode_code(
            keys.digest(_PURPOSE, f"{recovery_codes_id} {index} {session_secret}".encode(), version)
        )
        for index in range(CODE_COUNT)
    ]


def render_recovery_code(code: str) -> str:
    """Return the code in groups, as it is shown: ABCD-EFGH-JKMN-PQRS-TVWX-YZ01."""
    return "-".join(code[start : start + _GROUP] for start in range(0, _LENGTH, _GROUP))


def hash_recovery_code(typed: str) -> bytes | None:
    """Return the hash of a typed code in the form that is stored, regardless of case and grouping.
    Return None if the text cannot be a code."""
    code = "".join(typed.split()).upper().translate(_NORMALISED)
    if len(code) != _LENGTH or any(letter not in _ALPHABET for letter in code):
        return None
    return hashlib.sha256(b"recovery " + code.encode()).digest()


def _encode_code(digest: bytes) -> str:
    value = int.from_bytes(digest[: _LENGTH * _BITS // 8])
    shifts = range((_LENGTH - 1) * _BITS, -1, -_BITS)
    return "".join(_ALPHABET[value >> shift & 31] for shift in shifts)


async def create_recovery_codes(work: UserWork, user_id: UUID, session_secret: str) -> None:
    """Create new codes, which replace the previous ones."""
    session_hash, recovery_codes_id = hash_secret(session_secret), work.ids.new(work.now)
    assert session_hash is not None
    codes = derive_recovery_codes(work.keys, session_secret, recovery_codes_id)
    hashes = [code_hash for code in codes if (code_hash := hash_recovery_code(code)) is not None]
    await replace_recovery_codes(work.tx, user_id, hashes)
    await save_shown_codes(work.tx, session_hash, recovery_codes_id, work.now + SHOWN_FOR)
    await save_user_audit(work, "recovery_codes.make", user_id)


async def list_shown_codes(work: UserWork, user_id: UUID, session_secret: str) -> Sequence[str]:
    """Return the codes that the session may still show, in groups. Empty if they were hidden, or if
    this session did not create them within SHOWN_FOR."""
    session_hash = hash_secret(session_secret)
    assert session_hash is not None
    recovery_codes_id = await find_shown_codes(work.tx, session_hash, work.now)
    if recovery_codes_id is None:
        return []
    stored = set(await load_code_hashes(work.tx, user_id))
    for version in work.keys.versions:
        codes = derive_recovery_codes(work.keys, session_secret, recovery_codes_id, version)
        if stored == {hash_recovery_code(code) for code in codes}:
            return [render_recovery_code(code) for code in codes]
    return []


async def hide_shown_codes(work: UserWork, session_secret: str) -> None:
    """Stop showing the codes, because the user has saved them."""
    session_hash = hash_secret(session_secret)
    assert session_hash is not None
    await save_shown_codes(work.tx, session_hash, None, work.now)
