"""The SQL that ends access: of a credential, a token, an old secret, a reach. No rules.

Tokens, secrets and reaches are read on each request, so what is ended here is ended everywhere.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.access import CredentialKey
from dunwell.platform.database.database import Connection

_REVOKE_CREDENTIAL = """
UPDATE credentials
SET revoked_at = $3
WHERE merchant_id = $1 AND client_id = $2 AND revoked_at IS NULL
RETURNING credential_id
"""

# Rides on the primary key.
_REMOVE_ISSUED = """
DELETE FROM access_tokens AS token
USING credentials AS credential
WHERE token.merchant_id = $1
    AND token.token_hash = $2
    AND token.expires_at > $3
    AND credential.merchant_id = token.merchant_id
    AND credential.credential_id = token.credential_id
RETURNING credential.client_id
"""

# The newest secret alone has no end.
_END_ROTATED = """
UPDATE credential_secrets AS secret
SET expires_at = $3
FROM credentials AS credential
WHERE credential.merchant_id = $1
    AND credential.client_id = $2
    AND credential.revoked_at IS NULL
    AND secret.merchant_id = credential.merchant_id
    AND secret.credential_id = credential.credential_id
    AND secret.expires_at > $3
RETURNING secret.credential_id
"""

_REMOVE_REACH = """
DELETE FROM credential_reach
WHERE merchant_id = $1 AND owner_id = $2 AND credential_id = $3
RETURNING credential_id
"""

# The credential's row is locked as rotating locks it.
_LOAD_ROTATION = """
WITH live AS (
    SELECT merchant_id, credential_id
    FROM credentials
    WHERE merchant_id = $1 AND client_id = $2 AND revoked_at IS NULL
    FOR UPDATE
)
SELECT max(secret.created_at) AS made_at,
    max(secret.expires_at) FILTER (WHERE secret.expires_at > $3) AS old_until
FROM live
JOIN credential_secrets secret
    ON secret.merchant_id = live.merchant_id AND secret.credential_id = live.credential_id
GROUP BY live.credential_id
"""


@dataclass(frozen=True, slots=True)
class Rotation:
    """`made_at`: since when it has its newest secret. `old_until`: until when the one before it
    lives; none: it does not."""

    made_at: datetime
    old_until: datetime | None


async def save_revocation(
    tx: Connection, merchant_id: int, client_id: str, now: datetime
) -> UUID | None:
    """Revoke a live credential; None: there is none with this id."""
    credential_id: UUID | None = await tx.fetchval(_REVOKE_CREDENTIAL, merchant_id, client_id, now)
    return credential_id


async def remove_token(
    tx: Connection, merchant_id: int, token_hash: bytes, now: datetime
) -> str | None:
    """Remove a live token of the merchant's; answers its credential's client id. None: none is."""
    client_id: str | None = await tx.fetchval(_REMOVE_ISSUED, merchant_id, token_hash, now)
    return client_id


async def save_old_secret_end(
    tx: Connection, merchant_id: int, client_id: str, now: datetime
) -> bool:
    """End the secret that a rotation left alive; False: there is none."""
    return await tx.fetchval(_END_ROTATED, merchant_id, client_id, now) is not None


async def remove_reach(tx: Connection, merchant_id: int, key: CredentialKey) -> bool:
    """Let a credential reach the merchant no more; False: it does not."""
    removed = await tx.fetchval(_REMOVE_REACH, merchant_id, key.owner_id, key.credential_id)
    return removed is not None


async def load_rotation(
    tx: Connection, merchant_id: int, client_id: str, now: datetime
) -> Rotation | None:
    """Held still until the transaction ends; None: no live credential has this id."""
    row = await tx.fetchrow(_LOAD_ROTATION, merchant_id, client_id, now)
    return None if row is None else Rotation(**row)
