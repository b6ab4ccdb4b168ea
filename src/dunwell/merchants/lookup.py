"""The only reads without a merchant id: those that find out whose a token, a key or an id is.

Nothing else in the product may read a merchant-owned table without naming the merchant.
"""

from datetime import datetime

from dunwell.kit.db import Connection
from dunwell.merchants.access import Access, CredentialKey
from dunwell.merchants.configuration_cache import find_kept
from dunwell.merchants.store import read_merchant

# Hot: one per request. Rides on access_tokens_token_hash_key, then on primary keys. The
# configuration travels only when its revision ($4) is not the one this process has parsed.
_FIND_ACCESS = """
SELECT token.merchant_id AS owner_id, credential.credential_id, credential.client_id,
    credential.requests_per_minute, merchant.merchant_id, merchant.key, merchant.name,
    merchant.switched_to_workflows, merchant.revision, merchant.sandbox_now,
    CASE WHEN merchant.revision = $4 THEN NULL ELSE merchant.configuration END AS configuration
FROM access_tokens AS token
JOIN credentials AS credential
    ON credential.merchant_id = token.merchant_id
    AND credential.credential_id = token.credential_id
    AND credential.revoked_at IS NULL
LEFT JOIN credential_reach AS reach
    ON reach.merchant_id = $2
    AND reach.owner_id = token.merchant_id
    AND reach.credential_id = token.credential_id
LEFT JOIN merchants AS merchant ON merchant.merchant_id = reach.merchant_id
WHERE token.token_hash = $1 AND token.expires_at > $3
"""

# Rides on credentials_client_id_key.
_FIND_LIVE_CREDENTIAL = """
SELECT credential.merchant_id, credential.credential_id
FROM credentials AS credential
JOIN credential_secrets AS secret USING (merchant_id, credential_id)
WHERE credential.client_id = $1
    AND credential.revoked_at IS NULL
    AND secret.secret_hash = $2
    AND (secret.expires_at IS NULL OR secret.expires_at > $3)
"""

_FIND_CREDENTIAL = "SELECT merchant_id, credential_id FROM credentials WHERE client_id = $1"

# Rides on access_tokens_token_hash_key.
_FIND_ISSUER = "SELECT merchant_id FROM access_tokens WHERE token_hash = $1"

_FIND_MERCHANT_BY_KEY = "SELECT merchant_id FROM merchants WHERE key = $1"


async def find_access(
    tx: Connection, token_hash: bytes, merchant_id: int, now: datetime
) -> Access | None:
    """What the token opens at the real time `now`; None: unknown, expired or revoked.

    `merchant_id` is the one asked for (0: none can be meant); it is reached or the access says so.
    """
    kept = find_kept(merchant_id)
    row = await tx.fetchrow(_FIND_ACCESS, token_hash, merchant_id, now, kept.revision)
    if row is None:
        return None
    return Access(
        merchant=None if row["merchant_id"] is None else read_merchant(row, kept),
        owner_id=row["owner_id"],
        credential_id=row["credential_id"],
        client_id=row["client_id"],
        requests_per_minute=row["requests_per_minute"],
    )


async def find_credential_by_secret(
    tx: Connection, client_id: str, secret_hash: bytes, now: datetime
) -> CredentialKey | None:
    """The live credential with this id and secret."""
    row = await tx.fetchrow(_FIND_LIVE_CREDENTIAL, client_id, secret_hash, now)
    return None if row is None else CredentialKey(row["merchant_id"], row["credential_id"])


async def find_credential(tx: Connection, client_id: str) -> CredentialKey | None:
    """The credential with this id, revoked ones included."""
    row = await tx.fetchrow(_FIND_CREDENTIAL, client_id)
    return None if row is None else CredentialKey(row["merchant_id"], row["credential_id"])


async def find_token_owner(tx: Connection, token_hash: bytes) -> int | None:
    """The merchant whose credential the token was issued to, expired ones included."""
    merchant_id: int | None = await tx.fetchval(_FIND_ISSUER, token_hash)
    return merchant_id


async def find_merchant_id_by_key(tx: Connection, key: str) -> int | None:
    merchant_id: int | None = await tx.fetchval(_FIND_MERCHANT_BY_KEY, key)
    return merchant_id
