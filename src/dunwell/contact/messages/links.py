"""Links to a claim's page and the codes printed on letters and in e-mails: derived, rendered, read
and masked (CONTRACT 10).
"""

import base64
import re
from datetime import datetime
from uuid import UUID

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
