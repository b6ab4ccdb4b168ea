"""The SQL that finds a credential or a merchant by token, secret or client id (the only reads
without a merchant id), that rotates and revokes secrets, and that withdraws access."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from dunwell.accounts.merchants.credentials.credential import CredentialAccess, CredentialKey
from dunwell.accounts.merchants.rights import rights_of_scopes
from dunwell.accounts.merchants.store import (
    CachedConfiguration,
    build_merchant,
    get_cached_configuration,
)
from dunwell.platform.database.database import Connection, Row

# Runs for every batch of concurrent requests. Uses access_tokens_token_hash_key, then primary keys.
# The configuration is returned only if its revision differs from $3, the one that this process has
# parsed.
_FIND_ACCESSES = """
SELECT tokens.n, token.merchant_id AS owner_id, credential.credential_id, credential.client_id,
    credential.requests_per_minute, access_grant.scopes, merchant.merchant_id, merchant.key,
    merchant.name, merchant.switched_to_workflows, merchant.revision, merchant.sandbox_now,
    CASE WHEN merchant.revision = tokens.revision THEN NULL ELSE merchant.configuration END
        AS configuration
FROM unnest($1::bytea[], $2::bigint[], $3::bigint[])
    WITH ORDINALITY AS tokens (token_hash, merchant_id, revision, n)
JOIN access_tokens AS token ON token.token_hash = tokens.token_hash AND token.expires_at > $4
JOIN credentials AS credential
    ON credential.merchant_id = token.merchant_id
    AND credential.credential_id = token.credential_id
    AND credential.revoked_at IS NULL
LEFT JOIN credential_grants AS access_grant
    ON access_grant.merchant_id = tokens.merchant_id
    AND access_grant.owner_id = token.merchant_id
    AND access_grant.credential_id = token.credential_id
LEFT JOIN merchants AS merchant ON merchant.merchant_id = access_grant.merchant_id
"""

# Uses credentials_client_id_key.
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

# Uses access_tokens_token_hash_key.
_FIND_ISSUING_MERCHANT = "SELECT merchant_id FROM access_tokens WHERE token_hash = $1"

_FIND_MERCHANT_BY_KEY = "SELECT merchant_id FROM merchants WHERE key = $1"


class PresentedToken(NamedTuple):
    """A token's hash and the merchant it is presented for; 0 if the request names no valid merchant
    id."""

    token_hash: bytes
    merchant_id: int


async def load_accesses(
    tx: Connection, presented: Sequence[PresentedToken], now: datetime
) -> Sequence[CredentialAccess | None]:
    """Return what each token may access at the real time `now`, in order: None if the token is
    unknown, expired or revoked."""
    tokens = list(dict.fromkeys(presented))
    cached = [get_cached_configuration(each.merchant_id) for each in tokens]
    rows = await tx.fetch(
        _FIND_ACCESSES, [each.token_hash for each in tokens], [each.merchant_id for each in tokens],
        [each.revision for each in cached], now,
    )  # fmt: skip
    found = {tokens[row["n"] - 1]: _build_access(row, cached[row["n"] - 1]) for row in rows}
    return [found.get(each) for each in presented]


def _build_access(row: Row, cached: CachedConfiguration) -> CredentialAccess:
    return CredentialAccess(
        merchant=None if row["merchant_id"] is None else build_merchant(row, cached),
        owner_id=row["owner_id"],
        credential_id=row["credential_id"],
        client_id=row["client_id"],
        requests_per_minute=row["requests_per_minute"],
        rights=rights_of_scopes(tuple(row["scopes"] or ())),
    )


async def find_credential_by_secret(
    tx: Connection, client_id: str, secret_hash: bytes, now: datetime
) -> CredentialKey | None:
    """Return the active credential with this client id if one of its valid secrets has this hash,
    else None."""
    row = await tx.fetchrow(_FIND_LIVE_CREDENTIAL, client_id, secret_hash, now)
    return None if row is None else CredentialKey(row["merchant_id"], row["credential_id"])


async def find_credential(tx: Connection, client_id: str) -> CredentialKey | None:
    """Return the credential with this client id, also if it is revoked, or None."""
    row = await tx.fetchrow(_FIND_CREDENTIAL, client_id)
    return None if row is None else CredentialKey(row["merchant_id"], row["credential_id"])


async def find_token_owner(tx: Connection, token_hash: bytes) -> int | None:
    """Return the id of the merchant whose credential the token was issued to, also for an expired
    token."""
    merchant_id: int | None = await tx.fetchval(_FIND_ISSUING_MERCHANT, token_hash)
    return merchant_id


async def find_merchant_id_by_key(tx: Connection, key: str) -> int | None:
    merchant_id: int | None = await tx.fetchval(_FIND_MERCHANT_BY_KEY, key)
    return merchant_id


_REVOKE_CREDENTIAL = """
UPDATE credentials
SET revoked_at = $3
WHERE merchant_id = $1 AND client_id = $2 AND revoked_at IS NULL
RETURNING credential_id
"""

# Uses the primary key.
_DELETE_ISSUED = """
DELETE FROM access_tokens AS token
USING credentials AS credential
WHERE token.merchant_id = $1
    AND token.token_hash = $2
    AND token.expires_at > $3
    AND credential.merchant_id = token.merchant_id
    AND credential.credential_id = token.credential_id
RETURNING credential.client_id
"""

# Only the newest secret has no expiry.
_EXPIRE_PREVIOUS = """
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

_DELETE_GRANT = """
DELETE FROM credential_grants
WHERE merchant_id = $1 AND owner_id = $2 AND credential_id = $3
RETURNING credential_id
"""

# Locks the credential's row, as a rotation does.
_LOAD_ROTATION = """
WITH live AS (
    SELECT merchant_id, credential_id
    FROM credentials
    WHERE merchant_id = $1 AND client_id = $2 AND revoked_at IS NULL
    FOR UPDATE
)
SELECT max(secret.created_at) AS created_at,
    max(secret.expires_at) FILTER (WHERE secret.expires_at > $3) AS old_until
FROM live
JOIN credential_secrets secret
    ON secret.merchant_id = live.merchant_id AND secret.credential_id = live.credential_id
GROUP BY live.credential_id
"""


@dataclass(frozen=True, slots=True)
class CredentialRotation:
    """`created_at` is when the newest secret was created. `old_until` is when the previous secret
    expires; None if there is none."""

    created_at: datetime
    old_until: datetime | None


async def save_revocation(
    tx: Connection, merchant_id: int, client_id: str, now: datetime
) -> UUID | None:
    """Revoke the active credential with this client id and return its id, or None if there is
    none."""
    credential_id: UUID | None = await tx.fetchval(_REVOKE_CREDENTIAL, merchant_id, client_id, now)
    return credential_id


async def delete_token(
    tx: Connection, merchant_id: int, token_hash: bytes, now: datetime
) -> str | None:
    """Delete a valid token of the merchant and return the client id of its credential, or None if
    there is no such token."""
    client_id: str | None = await tx.fetchval(_DELETE_ISSUED, merchant_id, token_hash, now)
    return client_id


async def save_old_secret_expiry(
    tx: Connection, merchant_id: int, client_id: str, now: datetime
) -> bool:
    """Expire the previous secret now. Return False if there is none."""
    return await tx.fetchval(_EXPIRE_PREVIOUS, merchant_id, client_id, now) is not None


async def delete_grant(tx: Connection, merchant_id: int, key: CredentialKey) -> bool:
    """Withdraw the credential's access to the merchant. Return False if it had none."""
    removed = await tx.fetchval(_DELETE_GRANT, merchant_id, key.owner_id, key.credential_id)
    return removed is not None


async def load_rotation(
    tx: Connection, merchant_id: int, client_id: str, now: datetime
) -> CredentialRotation | None:
    """Lock the credential until the transaction ends and return the state of its secrets. Return
    None if no active credential has this id."""
    row = await tx.fetchrow(_LOAD_ROTATION, merchant_id, client_id, now)
    return None if row is None else CredentialRotation(**row)
