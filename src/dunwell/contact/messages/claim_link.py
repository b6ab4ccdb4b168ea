"""A claim's own link to its page, tied to no communication (CONTRACT 5, landingPageUrl).

Derived like those of messages. Its hash is stored when the claim is first read, so that creating
claims costs nothing more.
"""

import base64
from datetime import datetime

from dunwell.contact.messages.links import hash_token
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection

_PURPOSE = "claim-link"
_TOKEN_BYTES = 16
# By primary key; nothing is written where it is known.
_SAVE = """
INSERT INTO debtor_links (merchant_id, token_hash, claim_id, created_at)
SELECT $1, $2, $3, $4
WHERE NOT EXISTS (SELECT FROM debtor_links WHERE merchant_id = $1 AND token_hash = $2)
ON CONFLICT DO NOTHING
"""


async def give_claim_token(
    tx: Connection, keys: KeyRing, merchant_id: int, claim_id: int, now: datetime
) -> str:
    """The token of the claim's link, which works from now on; the claim must exist."""
    token = derive_claim_token(keys, merchant_id, claim_id)
    await tx.execute(_SAVE, merchant_id, hash_token(token), claim_id, now)
    return token


def derive_claim_token(keys: KeyRing, merchant_id: int, claim_id: int) -> str:
    """128 bits, as 22 characters of URL-safe base64."""
    digest = keys.digest(_PURPOSE, b"%d:%d" % (merchant_id, claim_id))
    return base64.urlsafe_b64encode(digest[:_TOKEN_BYTES]).rstrip(b"=").decode()
