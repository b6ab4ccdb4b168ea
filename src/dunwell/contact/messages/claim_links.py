"""Links and typed codes that open a claim's page: derived, printed, parsed and masked."""

import base64
import re
from datetime import datetime
from uuid import UUID

from dunwell.contact.messages.templates.facts import CHECK_MASK
from dunwell.platform.crypto import KeyRing, sha256
from dunwell.platform.database.database import Connection

# Replaces the token wherever content is stored or shown. It passes unchanged through Markdown, HTML
# and URLs, and has the length of a token, so that the parts of an SMS can be counted with it.
TOKEN_MASK = "__masked__link_token__"  # noqa: S105 - a mask, not a secret
_TOKEN_BYTES = 16
# The length of a token in characters.
TOKEN_LENGTH = 22
_LINK_PURPOSE = "debtor-link"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+")


def derive_token(keys: KeyRing, communication_id: UUID, key_version: int | None = None) -> str:
    """Return the 128-bit token of a communication's link as 22 characters of URL-safe base64.

    `key_version` is the version of the secret key that derived an earlier token; None for the
    current one.
    """
    digest = keys.digest(_LINK_PURPOSE, communication_id.bytes, key_version)
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()


def looks_like_token(text: str) -> bool:
    """Return whether the text has only characters of a token, which need no escaping in a URL."""
    return _TOKEN.fullmatch(text) is not None


def hash_token(token: str) -> bytes:
    """Return the hash by which the database finds a token. A text that is not a token is simply not
    found."""
    return sha256(token.encode())


def unmask_token(text: str, token: str) -> str:
    """Return stored content with the token in place of its mask."""
    return text.replace(TOKEN_MASK, token)


_CLAIM_LINK_PURPOSE = "claim-link"

# Uses the primary key and writes nothing if the link exists.
_SAVE = """
INSERT INTO debtor_links (merchant_id, token_hash, claim_id, created_at)
SELECT $1, $2, $3, $4
WHERE NOT EXISTS (SELECT FROM debtor_links WHERE merchant_id = $1 AND token_hash = $2)
ON CONFLICT DO NOTHING
"""


async def activate_claim_token(
    tx: Connection, keys: KeyRing, merchant_id: int, claim_id: int, now: datetime
) -> str:
    """Store the token of the claim's own link, which works from now on, and return it. The claim
    must exist."""
    token = derive_claim_token(keys, merchant_id, claim_id)
    await tx.execute(_SAVE, merchant_id, hash_token(token), claim_id, now)
    return token


def derive_claim_token(keys: KeyRing, merchant_id: int, claim_id: int) -> str:
    """Return the 128-bit token of the claim's own link as 22 characters of URL-safe base64."""
    digest = keys.digest(_CLAIM_LINK_PURPOSE, b"%d:%d" % (merchant_id, claim_id))
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()


# Replaces the code wherever content is stored or shown; it has the length of a code.
CODE_MASK = "__masked_code_"
CODE_LENGTH = 12
_CHECK_LENGTH = 8
_GROUP_LENGTH = 4
# Crockford's base32: without I, L and O, which look like digits, and without U.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_BITS_PER_CHARACTER = 5
_CORRECTIONS = str.maketrans(
    {"O": "0", "I": "1", "L": "1", "-": None, "\u2010": None, "\u2013": None}
)
_CODE_PURPOSE, _CODE_DIGEST_PURPOSE = "debtor-code", "debtor-code-digest"
_CHECK_PURPOSE, _CHECK_DIGEST_PURPOSE = "check-code", "check-code-digest"


def derive_code(keys: KeyRing, communication_id: UUID, key_version: int | None = None) -> str:
    """Return the 60-bit code of a communication: twelve characters without separators.

    `key_version` is the version of the secret key that derived an earlier code; None for the
    current one.
    """
    return encode_digest(
        keys.digest(_CODE_PURPOSE, communication_id.bytes, key_version), CODE_LENGTH
    )


def encode_digest(digest: bytes, length: int) -> str:
    """Encode the first bits of a digest as `length` characters, at most twelve."""
    value = int.from_bytes(digest[:8]) >> (64 - length * _BITS_PER_CHARACTER)
    shifts = range((length - 1) * _BITS_PER_CHARACTER, -1, -_BITS_PER_CHARACTER)
    return "".join(_ALPHABET[value >> shift & 31] for shift in shifts)


def render_code(code: str) -> str:
    """Return the code in groups, as it is printed: ABCD-EFGH-JKMN."""
    return "-".join(
        code[start : start + _GROUP_LENGTH] for start in range(0, len(code), _GROUP_LENGTH)
    )


def parse_code(text: str) -> str | None:
    """Return the typed code in its canonical form, or None if the text cannot be a code. Case and
    grouping do not matter."""
    return parse_code_characters(text, CODE_LENGTH)


def parse_code_characters(text: str, length: int) -> str | None:
    """Return a code of `length` characters in its canonical form, or None if the text cannot be
    one. Characters that are easily confused are corrected."""
    code = "".join(text.split()).upper().translate(_CORRECTIONS)
    is_code = len(code) == length and all(letter in _ALPHABET for letter in code)
    return code if is_code else None


def digest_code(keys: KeyRing, code: str) -> bytes:
    """Return the digest under which a new code is stored."""
    return keys.digest(_CODE_DIGEST_PURPOSE, code.encode())


def list_code_digests(keys: KeyRing, code: str) -> tuple[bytes, ...]:
    """Return the digests under which the code may be stored: one for each version of the secret
    key, because a letter may be older than the current one."""
    return keys.digests(_CODE_DIGEST_PURPOSE, code.encode())


def derive_check_code(keys: KeyRing, message_id: UUID, key_version: int | None = None) -> str:
    """Return the 40-bit check code of a message, without separators.

    `key_version` is the version of the secret key that derived an earlier code; None for the
    current one.
    """
    return encode_digest(keys.digest(_CHECK_PURPOSE, message_id.bytes, key_version), _CHECK_LENGTH)


def parse_check_code(text: str) -> str | None:
    """Return the typed check code in its canonical form, or None if the text cannot be one."""
    return parse_code_characters(text, _CHECK_LENGTH)


def digest_check_code(keys: KeyRing, code: str) -> bytes:
    """Return the digest under which a new check code is stored."""
    return keys.digest(_CHECK_DIGEST_PURPOSE, code.encode())


def list_check_digests(keys: KeyRing, code: str) -> tuple[bytes, ...]:
    """Return the digests under which the check code may be stored, for all versions of the secret
    key."""
    return keys.digests(_CHECK_DIGEST_PURPOSE, code.encode())


def unmask_check_code(
    keys: KeyRing, message_id: UUID, text: str, key_version: int | None = None
) -> str:
    """Return stored content with the check code in place of its mask."""
    if CHECK_MASK not in text:
        return text
    return text.replace(CHECK_MASK, render_code(derive_check_code(keys, message_id, key_version)))
