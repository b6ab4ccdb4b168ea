"""The SQL of merchants, credentials, tokens, rate limits, and the responses stored for idempotency
keys. Configurations are parsed once per process and revision, except by `load_merchants_page`.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Configuration
from dunwell.accounts.merchants.credentials.credential import (
    Credential,
    CredentialAccess,
    CredentialKey,
)
from dunwell.accounts.merchants.merchant import Merchant, NewMerchant
from dunwell.accounts.merchants.rights import Scope
from dunwell.platform.database.attempts import remove_attempts
from dunwell.platform.database.database import Connection, Row

_MAX_CACHED = 10_000


@dataclass(frozen=True, slots=True)
class CachedConfiguration:
    """A parsed configuration and its revision. Revision 0, which no merchant has, means that
    nothing is cached."""

    revision: int = 0
    configuration: Configuration | None = None


_NOT_CACHED = CachedConfiguration()
_cached: dict[int, CachedConfiguration] = {}


def get_cached_configuration(merchant_id: int) -> CachedConfiguration:
    return _cached.get(merchant_id, _NOT_CACHED)


def resolve_configuration(
    merchant_id: int, revision: int, document: Any | None, cached: CachedConfiguration
) -> Configuration:
    """Return the parsed document, or the cached configuration if the statement returned none."""
    if document is None:
        assert cached.configuration is not None
        assert cached.revision == revision
        return cached.configuration
    configuration = msgspec.convert(document, Configuration)
    if len(_cached) >= _MAX_CACHED:
        _cached.pop(next(iter(_cached)))
    _cached[merchant_id] = CachedConfiguration(revision, configuration)
    return configuration


_LOAD_MERCHANT = """
SELECT merchant_id, key, name, switched_to_workflows, revision, sandbox_now,
    CASE WHEN revision = $2 THEN NULL ELSE configuration END AS configuration
FROM merchants
WHERE merchant_id = $1
"""

_LOAD_MERCHANTS_PAGE = """
SELECT merchant_id, key, name, switched_to_workflows, revision, sandbox_now, configuration
FROM merchants
WHERE merchant_id > $1
ORDER BY merchant_id
LIMIT $2
"""

_INSERT_CREDENTIAL = """
WITH created AS (
    INSERT INTO credentials
        (merchant_id, credential_id, name, client_id, requests_per_minute, created_at)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (merchant_id, name) DO NOTHING
    RETURNING merchant_id, credential_id
), secret AS (
    INSERT INTO credential_secrets (merchant_id, credential_id, secret_hash, created_at)
    SELECT merchant_id, credential_id, $7, $6
    FROM created
), access AS (
    INSERT INTO credential_grants (merchant_id, owner_id, credential_id, granted_at, scopes)
    SELECT merchant_id, merchant_id, credential_id, $6, $8
    FROM created
)
SELECT credential_id
FROM created
"""

_LOAD_CREDENTIALS = """
SELECT c.credential_id, c.name, c.client_id, c.requests_per_minute, c.revoked_at, r.scopes
FROM credentials c
JOIN credential_grants r
    ON r.merchant_id = c.merchant_id
    AND r.owner_id = c.merchant_id
    AND r.credential_id = c.credential_id
WHERE c.merchant_id = $1
ORDER BY c.created_at, c.credential_id
"""

# The current secret expires at $5. One that was already ending expires now ($4), so that at most
# two are valid.
_ROTATE = """
WITH live AS (
    SELECT merchant_id, credential_id
    FROM credentials
    WHERE merchant_id = $1 AND client_id = $2 AND revoked_at IS NULL
    FOR UPDATE
), ending AS (
    UPDATE credential_secrets AS secret
    SET expires_at = CASE
        WHEN secret.expires_at IS NULL THEN $5
        ELSE LEAST(secret.expires_at, $4)
    END
    FROM live
    WHERE secret.merchant_id = live.merchant_id AND secret.credential_id = live.credential_id
)
INSERT INTO credential_secrets (merchant_id, credential_id, secret_hash, created_at)
SELECT merchant_id, credential_id, $3, $4
FROM live
RETURNING credential_id
"""

_LOAD_GRANT = """
SELECT scopes
FROM credential_grants
WHERE merchant_id = $1 AND owner_id = $2 AND credential_id = $3
FOR UPDATE
"""

_SAVE_GRANT = """
INSERT INTO credential_grants (merchant_id, owner_id, credential_id, granted_at, scopes)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (merchant_id, owner_id, credential_id) DO UPDATE SET scopes = EXCLUDED.scopes
"""

_INSERT_ISSUED = """
INSERT INTO access_tokens (merchant_id, token_hash, credential_id, issued_at, expires_at)
VALUES ($1, $2, $3, $4, $5)
"""

# `reserved` may exceed the limit by less than one block; the excess is not granted
# (`compute_granted`).
_RESERVE_REQUESTS = """
INSERT INTO request_quotas AS quota (merchant_id, credential_id, minute, reserved)
VALUES ($1, $2, $3, $4)
ON CONFLICT (merchant_id, credential_id, minute) DO UPDATE
SET reserved = quota.reserved + $4
WHERE quota.reserved < $5
RETURNING reserved
"""


async def load_merchant(tx: Connection, merchant_id: int) -> Merchant | None:
    """Return the merchant with its current configuration, or None if there is no such merchant."""
    cached = get_cached_configuration(merchant_id)
    row = await tx.fetchrow(_LOAD_MERCHANT, merchant_id, cached.revision)
    return None if row is None else build_merchant(row, cached)


async def load_merchants_page(tx: Connection, after: int, limit: int) -> list[Merchant]:
    """Return merchants with ids above `after`, in the order of their ids, for code that processes
    all merchants."""
    rows = await tx.fetch(_LOAD_MERCHANTS_PAGE, after, limit)
    return [build_merchant(row, CachedConfiguration()) for row in rows]


async def save_credential(
    tx: Connection, merchant_id: int, credential: Credential, secret_hash: bytes, now: datetime
) -> bool:
    """Insert a credential with access to its own merchant. Return False if the name is taken."""
    saved = await tx.fetchval(
        _INSERT_CREDENTIAL, merchant_id, credential.credential_id, credential.name,
        credential.client_id, credential.requests_per_minute, now, secret_hash, credential.scopes,
    )  # fmt: skip
    return saved is not None


async def load_credentials(tx: Connection, merchant_id: int) -> Sequence[Credential]:
    return [
        Credential(**{**row, "scopes": _parse_scopes(row)})
        for row in await tx.fetch(_LOAD_CREDENTIALS, merchant_id)
    ]


async def save_rotation(
    tx: Connection, merchant_id: int, client_id: str, secret_hash: bytes,
    *, now: datetime, old_until: datetime,
) -> UUID | None:  # fmt: skip
    """Insert a new secret; the current one expires at `old_until`. Return None if no active
    credential has this id."""
    credential_id: UUID | None = await tx.fetchval(
        _ROTATE, merchant_id, client_id, secret_hash, now, old_until
    )
    return credential_id


async def load_grant(
    tx: Connection, merchant_id: int, key: CredentialKey
) -> tuple[Scope, ...] | None:
    """Return the credential's scopes at the merchant, locked. Return None if it has no access."""
    row = await tx.fetchrow(_LOAD_GRANT, merchant_id, key.owner_id, key.credential_id)
    return None if row is None else _parse_scopes(row)


async def save_grant(
    tx: Connection, merchant_id: int, key: CredentialKey, scopes: Sequence[Scope], *, now: datetime
) -> None:
    """Give the credential access to the merchant with these scopes."""
    await tx.execute(_SAVE_GRANT, merchant_id, key.owner_id, key.credential_id, now, scopes)


async def save_token(
    tx: Connection, key: CredentialKey, token_hash: bytes,
    *, issued_at: datetime, expires_at: datetime,
) -> None:  # fmt: skip
    await tx.execute(
        _INSERT_ISSUED, key.owner_id, token_hash, key.credential_id, issued_at, expires_at
    )


async def reserve_requests(
    tx: Connection, access: CredentialAccess, minute: datetime, block: int
) -> int | None:
    """Reserve a block of requests in the minute. Return how many are reserved in total, or None if
    none are left."""
    reserved: int | None = await tx.fetchval(
        _RESERVE_REQUESTS, access.owner_id, access.credential_id, minute, block,
        access.requests_per_minute,
    )  # fmt: skip
    return reserved


def _parse_scopes(row: Row) -> tuple[Scope, ...]:
    return tuple(Scope(each) for each in row["scopes"])


def build_merchant(row: Row, cached: CachedConfiguration) -> Merchant:
    """Build a merchant from its row. The row's `configuration` is null if `cached` is current."""
    return Merchant(
        merchant_id=row["merchant_id"],
        key=row["key"],
        name=row["name"],
        switched_to_workflows=row["switched_to_workflows"],
        revision=row["revision"],
        configuration=resolve_configuration(
            row["merchant_id"], row["revision"], row["configuration"], cached
        ),
        sandbox_now=row["sandbox_now"],
    )


_INSERT_MERCHANT = """
INSERT INTO merchants
    (key, name, sandbox, switched_to_workflows, configuration, sandbox_now, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (key) DO NOTHING
RETURNING merchant_id
"""

_UPDATE_MERCHANT = """
UPDATE merchants
SET name = $2, configuration = $3, revision = revision + 1
WHERE merchant_id = $1
"""

_INCREMENT_REVISION = "UPDATE merchants SET revision = revision + 1 WHERE merchant_id = $1"

_LOAD_SWITCHED = "SELECT switched_to_workflows FROM merchants WHERE merchant_id = $1"

_MARK_SWITCHED = """
UPDATE merchants
SET switched_to_workflows = true, revision = revision + 1
WHERE merchant_id = $1
"""

# Serialises all changes of one merchant's setup.
_LOCK_MERCHANT = """
SELECT merchant_id
FROM merchants
WHERE merchant_id = $1
FOR NO KEY UPDATE
"""


async def save_merchant(
    tx: Connection, new: NewMerchant, now: datetime, sandbox_now: datetime | None
) -> int | None:
    """Insert a merchant, with its own clock if it is a sandbox. Return None if the key is
    taken."""
    merchant_id: int | None = await tx.fetchval(
        _INSERT_MERCHANT, new.key, new.name, new.is_sandbox, new.switched_to_workflows,
        msgspec.to_builtins(new.configuration), sandbox_now, now,
    )  # fmt: skip
    return merchant_id


async def save_configuration(
    tx: Connection, merchant_id: int, name: str, configuration: Configuration
) -> None:
    """Save name and configuration as a new revision."""
    document = msgspec.to_builtins(configuration)
    await tx.execute(_UPDATE_MERCHANT, merchant_id, name, document)


async def increment_revision(tx: Connection, merchant_id: int) -> None:
    """Invalidate what processes have cached of the merchant's setup."""
    await tx.execute(_INCREMENT_REVISION, merchant_id)


async def lock_merchant(tx: Connection, merchant_id: int) -> None:
    """Lock the merchant's setup until the transaction ends."""
    await tx.execute(_LOCK_MERCHANT, merchant_id)


async def load_is_switched(tx: Connection, merchant_id: int) -> bool:
    """Return whether the merchant has switched to workflows."""
    is_switched: bool = await tx.fetchval(_LOAD_SWITCHED, merchant_id)
    return is_switched


async def save_switched(tx: Connection, merchant_id: int) -> None:
    """Switch the merchant from scenarios to workflows, as a new revision. It cannot be undone."""
    await tx.execute(_MARK_SWITCHED, merchant_id)


# How long a response is stored under its idempotency key.
RESPONSES_KEPT_FOR = timedelta(days=30)

_TRY_LOCK = "SELECT pg_try_advisory_xact_lock($1)"

# Uses the primary key.
_LOAD = """
SELECT request_hash, status, body
FROM idempotency_keys
WHERE merchant_id = $1 AND key = $2 AND created_at > $3
"""

# An expired response is replaced, because it stays in the table until the next sweep.
_SAVE = """
INSERT INTO idempotency_keys (merchant_id, key, request_hash, status, body, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (merchant_id, key) DO UPDATE
SET request_hash = $3, status = $4, body = $5, created_at = $6
"""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    request_hash: bytes
    status: int
    body: bytes


async def try_lock_idempotency_key(tx: Connection, merchant_id: int, key: str) -> bool:
    """Lock the key until the transaction ends. Return False if another request holds it."""
    digest = hashlib.sha256(b"idempotency-key\0%d\0%s" % (merchant_id, key.encode())).digest()
    is_locked: bool = await tx.fetchval(_TRY_LOCK, int.from_bytes(digest[:8], signed=True))
    return is_locked


async def find_stored_response(
    tx: Connection, merchant_id: int, key: str, now: datetime
) -> StoredResponse | None:
    """Return the stored response. Call this after locking the key, so that the snapshot of this
    statement includes what the previous holder of the lock committed."""
    row = await tx.fetchrow(_LOAD, merchant_id, key, now - RESPONSES_KEPT_FOR)
    return None if row is None else StoredResponse(**row)


async def save_response(
    tx: Connection, merchant_id: int, key: str, response: StoredResponse, now: datetime
) -> None:
    await tx.execute(
        _SAVE, merchant_id, key, response.request_hash, response.status, response.body, now
    )


# Uses the primary key. There are few merchants, so names are compared without an index.
_SEARCH = """
SELECT merchant_id, key, name, sandbox_now IS NOT NULL AS is_sandbox
FROM merchants
WHERE merchant_id > $1
    AND ($2::integer[] IS NULL OR merchant_id = ANY($2))
    AND ($3 = '' OR strpos(lower(name), $3) > 0 OR strpos(lower(key), $3) > 0
         OR merchant_id::text = $3)
ORDER BY merchant_id
LIMIT $4
"""


@dataclass(frozen=True, slots=True)
class FoundMerchant:
    merchant_id: int
    key: str
    name: str
    is_sandbox: bool


async def search_merchants(
    tx: Connection, query: str, *, among: Sequence[int] | None, after: int, limit: int
) -> list[FoundMerchant]:
    """Return merchants with ids above `after`, in the order of their ids. `among` limits them to
    these ids; None means all merchants."""
    rows = await tx.fetch(_SEARCH, after, among, query.lower(), limit)
    return [FoundMerchant(**row) for row in rows]


_ROWS_AT_ONCE = 5000

# Uses access_tokens_expiry.
_DELETE_TOKENS = """
DELETE FROM access_tokens
WHERE (merchant_id, token_hash) IN (
    SELECT merchant_id, token_hash FROM access_tokens WHERE expires_at < $1 LIMIT $2
)
"""

_DELETE_SECRETS = "DELETE FROM credential_secrets WHERE expires_at < $1"

_DELETE_QUOTAS = "DELETE FROM request_quotas WHERE minute < $1"

# Uses idempotency_keys_age.
_DELETE_STORED_RESPONSES = """
DELETE FROM idempotency_keys
WHERE (merchant_id, key) IN (
    SELECT merchant_id, key FROM idempotency_keys WHERE created_at < $1 LIMIT $2
)
"""


async def sweep_merchant_rows(tx: Connection, now: datetime) -> int:
    """Delete what had expired at the real time `now` and return the number of rows. If the number
    is _ROWS_AT_ONCE or more, rows may be left for another call."""
    command_tags = [
        await tx.execute(_DELETE_TOKENS, now, _ROWS_AT_ONCE),
        await tx.execute(_DELETE_SECRETS, now),
        await tx.execute(_DELETE_QUOTAS, now - timedelta(minutes=2)),
        await tx.execute(_DELETE_STORED_RESPONSES, now - RESPONSES_KEPT_FOR, _ROWS_AT_ONCE),
    ]
    removed = sum(int(tag.rpartition(" ")[2]) for tag in command_tags)
    return removed + await remove_attempts(tx, now)
