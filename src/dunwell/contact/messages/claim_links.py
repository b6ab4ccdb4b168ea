"""Links and typed codes that open a claim's page: derived, printed, parsed and masked."""

import base64
import re
from datetime import datetime
from uuid import UUID

from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.database.database import Connection

# Stands for the token wherever content is stored or shown. Characters an address takes as they
# are, so that it passes through Markdown, HTML and addresses unchanged; as long as what it stands
# for, so that the parts of an SMS can be counted with it.
TOKEN_MASK = "__masked__link_token__"  # noqa: S105 - the opposite of a secret
_TOKEN_BYTES = 16
# Of a token as it is written.
TOKEN_LENGTH = 22
_PURPOSE = "debtor-link"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def derive_token(keys: KeyRing, communication_id: UUID, key_version: int | None = None) -> str:
    """The 128-bit token of this communication's link: 22 characters of URL-safe base64.
    `key_version`: of one that was derived before."""
    digest = keys.digest(_PURPOSE, communication_id.bytes, key_version)
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()


def is_token(text: str) -> bool:
    """Whether it could be one, by its characters: they need no care in an address."""
    return _TOKEN.fullmatch(text) is not None


def hash_token(token: str) -> bytes:
    """What the database knows a token by. Any text will do: a wrong one is just not found."""
    return sha256(token.encode())


def unmask(text: str, token: str) -> str:
    """Stored content as it leaves the house."""
    return text.replace(TOKEN_MASK, token)


_CLAIM_PURPOSE = "claim-link"

# By primary key; nothing is written where it is known.
_SAVE = """
INSERT INTO debtor_links (merchant_id, token_hash, claim_id, created_at)
SELECT $1, $2, $3, $4
WHERE NOT EXISTS (SELECT FROM debtor_links WHERE merchant_id = $1 AND token_hash = $2)
ON CONFLICT DO NOTHING
"""


async def activate_claim_token(
    tx: Connection, keys: KeyRing, merchant_id: int, claim_id: int, now: datetime
) -> str:
    """The token of the claim's link, which works from now on; the claim must exist."""
    token = derive_claim_token(keys, merchant_id, claim_id)
    await tx.execute(_SAVE, merchant_id, hash_token(token), claim_id, now)
    return token


def derive_claim_token(keys: KeyRing, merchant_id: int, claim_id: int) -> str:
    """128 bits, as 22 characters of URL-safe base64."""
    digest = keys.digest(_CLAIM_PURPOSE, b"%d:%d" % (merchant_id, claim_id))
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()


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
