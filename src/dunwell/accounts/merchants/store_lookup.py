"""The only reads without a merchant id: those that find out whose a token, a key or an id is.

Nothing else in the product may read a merchant-owned table without naming the merchant.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from dunwell.accounts.merchants.access import Access, CredentialKey
from dunwell.accounts.merchants.configuration_cache import CachedConfiguration, find_cached
from dunwell.accounts.merchants.rights import rights_of_scopes
from dunwell.accounts.merchants.store import read_merchant
from dunwell.platform.database.database import Connection, Row

# Hot: one for all requests that arrive together. For each token with its merchant it rides on
# access_tokens_token_hash_key, then on primary keys. A configuration travels only when its revision
# ($3) is not the one this process has parsed.
_FIND_ACCESSES = """
SELECT asked.n, token.merchant_id AS owner_id, credential.credential_id, credential.client_id,
    credential.requests_per_minute, reach.scopes, merchant.merchant_id, merchant.key, merchant.name,
    merchant.switched_to_workflows, merchant.revision, merchant.sandbox_now,
    CASE WHEN merchant.revision = asked.revision THEN NULL ELSE merchant.configuration END
        AS configuration
FROM unnest($1::bytea[], $2::bigint[], $3::bigint[])
    WITH ORDINALITY AS asked (token_hash, merchant_id, revision, n)
JOIN access_tokens AS token ON token.token_hash = asked.token_hash AND token.expires_at > $4
JOIN credentials AS credential
    ON credential.merchant_id = token.merchant_id
    AND credential.credential_id = token.credential_id
    AND credential.revoked_at IS NULL
LEFT JOIN credential_reach AS reach
    ON reach.merchant_id = asked.merchant_id
    AND reach.owner_id = token.merchant_id
    AND reach.credential_id = token.credential_id
LEFT JOIN merchants AS merchant ON merchant.merchant_id = reach.merchant_id
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


class Presented(NamedTuple):
    """A token's digest, and the merchant it is to open (0: none can be meant)."""

    token_hash: bytes
    merchant_id: int


async def find_accesses(
    tx: Connection, presented: Sequence[Presented], now: datetime
) -> Sequence[Access | None]:
    """What each token opens at the real time `now`, in order; None: unknown, expired or revoked.

    The merchant asked for is reached, or the access says so.
    """
    asked = list(dict.fromkeys(presented))
    cached = [find_cached(each.merchant_id) for each in asked]
    rows = await tx.fetch(
        _FIND_ACCESSES, [each.token_hash for each in asked], [each.merchant_id for each in asked],
        [each.revision for each in cached], now,
    )  # fmt: skip
    found = {asked[row["n"] - 1]: _read_access(row, cached[row["n"] - 1]) for row in rows}
    return [found.get(each) for each in presented]


def _read_access(row: Row, cached: CachedConfiguration) -> Access:
    return Access(
        merchant=None if row["merchant_id"] is None else read_merchant(row, cached),
        owner_id=row["owner_id"],
        credential_id=row["credential_id"],
        client_id=row["client_id"],
        requests_per_minute=row["requests_per_minute"],
        rights=rights_of_scopes(tuple(row["scopes"] or ())),
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
