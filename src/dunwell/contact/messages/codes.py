"""The twelve characters printed on a letter for those who type instead of scanning, and the eight
in e-mails and texts for those who ask whether they are real.

Derived like a link's token (`links`): none is kept. The database holds a keyed digest to find the
code by, as so few bits could be guessed from a plain hash; stored content holds the mask. The eight
open nothing: with an amount they confirm a message. Their forty bits may be those of two messages,
so a digest may stand in the database twice.
"""

from uuid import UUID

from dunwell.contact.messages.facts import CHECK_MASK
from dunwell.platform.crypto import KeyRing

# Stands for the code wherever content is stored or shown; as long as what it stands for.
CODE_MASK = "__masked_code_"
LENGTH = 12
_CHECK_LENGTH = 8
_GROUP = 4
# Crockford's base32: no I, L, O, which read as digits, and no U.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BITS = 5
_FORGIVEN = str.maketrans({"O": "0", "I": "1", "L": "1", "-": None, "\u2010": None, "\u2013": None})
_DERIVING, _FINDING = "debtor-code", "debtor-code-digest"
_DERIVING_CHECK, _FINDING_CHECK = "check-code", "check-code-digest"


def derive_code(keys: KeyRing, communication_id: UUID, key_version: int | None = None) -> str:
    """The 60-bit code of this communication: twelve characters, no separators. `key_version`: of
    one that was derived before."""
    return write_letters(keys.digest(_DERIVING, communication_id.bytes, key_version), LENGTH)


def write_letters(digest: bytes, length: int) -> str:
    """So many characters, at most twelve, of a digest's first bits."""
    value = int.from_bytes(digest[:8]) >> (64 - length * _BITS)
    places = range((length - 1) * _BITS, -1, -_BITS)
    return "".join(_ALPHABET[value >> place & 31] for place in places)


def render_code(code: str) -> str:
    """In groups, as it is printed: ABCD-EFGH-JKMN."""
    return "-".join(code[place : place + _GROUP] for place in range(0, len(code), _GROUP))


def read_code(text: str) -> str | None:
    """The code somebody typed, whatever its case and groups; none if it cannot be one."""
    return read_letters(text, LENGTH)


def read_letters(text: str, length: int) -> str | None:
    """So many of the characters, whatever was typed for them."""
    code = "".join(text.split()).upper().translate(_FORGIVEN)
    is_code = len(code) == length and all(letter in _ALPHABET for letter in code)
    return code if is_code else None


def digest_code(keys: KeyRing, code: str) -> bytes:
    """What the database knows a new code by."""
    return keys.digest(_FINDING, code.encode())


def list_code_digests(keys: KeyRing, code: str) -> tuple[bytes, ...]:
    """What it may know the code by, which a letter bore before another version of the secret key
    came into use."""
    return keys.digests(_FINDING, code.encode())


def derive_check(keys: KeyRing, message_id: UUID, key_version: int | None = None) -> str:
    """The 40-bit code of this message, without separators. `key_version`: of one that was derived
    before."""
    return write_letters(keys.digest(_DERIVING_CHECK, message_id.bytes, key_version), _CHECK_LENGTH)


def read_check(text: str) -> str | None:
    """The code somebody typed, whatever its case and groups; none if it cannot be one."""
    return read_letters(text, _CHECK_LENGTH)


def digest_check(keys: KeyRing, code: str) -> bytes:
    """What the database knows a new code by."""
    return keys.digest(_FINDING_CHECK, code.encode())


def list_check_digests(keys: KeyRing, code: str) -> tuple[bytes, ...]:
    """What it may know the code by, under all versions of the secret key."""
    return keys.digests(_FINDING_CHECK, code.encode())


def unmask_check(keys: KeyRing, message_id: UUID, text: str, key_version: int | None = None) -> str:
    """Stored content as it leaves the house."""
    if CHECK_MASK not in text:
        return text
    return text.replace(CHECK_MASK, render_code(derive_check(keys, message_id, key_version)))
