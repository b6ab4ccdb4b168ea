"""The SQL of second factors, recovery codes and challenges, and of wrong codes and the lock that
follows."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection

# The statements use authentication_factors_user or primary keys, unless they say otherwise.
_LOAD = """
SELECT factor_id, kind, name, created_at, confirmed_at, last_used_at, credential_id
FROM authentication_factors
WHERE user_id = $1
ORDER BY created_at, factor_id
"""
_FIND_APP = """
SELECT factor_id, secret_sealed, created_at FROM authentication_factors
WHERE user_id = $1 AND kind = 'TOTP' AND (confirmed_at IS NOT NULL) = $2
"""
_REMOVE_APP = """
DELETE FROM authentication_factors WHERE user_id = $1 AND kind = 'TOTP'
    AND (confirmed_at IS NOT NULL) = $2
"""
_INSERT_APP = """
INSERT INTO authentication_factors (factor_id, user_id, kind, name, created_at, secret_sealed)
VALUES ($1, $2, 'TOTP', '', $3, $4)
"""
_CONFIRM_APP = """
UPDATE authentication_factors SET confirmed_at = $3, last_step = $4, last_used_at = $3
WHERE factor_id = $1 AND user_id = $2 AND kind = 'TOTP' AND confirmed_at IS NULL
RETURNING factor_id
"""
# Among two concurrent requests with one code, the second finds the step used.
_USE_STEP = """
UPDATE authentication_factors SET last_step = $3, last_used_at = $4
WHERE factor_id = $1 AND user_id = $2 AND last_step < $3 AND confirmed_at IS NOT NULL
RETURNING factor_id
"""
_INSERT_PASSKEY = """
INSERT INTO authentication_factors (factor_id, user_id, kind, name, created_at, confirmed_at,
    credential_id,
    public_key, sign_count)
VALUES ($1, $2, 'PASSKEY', $3, $4, $4, $5, $6, $7)
ON CONFLICT (credential_id) DO NOTHING
RETURNING factor_id
"""
# Uses authentication_factors_credential_id_key.
_FIND_PASSKEY = """
SELECT f.factor_id, f.user_id, f.public_key, f.sign_count
FROM authentication_factors f
JOIN users u ON u.user_id = f.user_id AND u.ended_at IS NULL
WHERE f.credential_id = $1
"""
# A counter that does not increase may belong to a copied passkey. Passkeys without a counter stay
# at 0.
_SAVE_COUNT = """
UPDATE authentication_factors SET sign_count = $2, last_used_at = $3
WHERE factor_id = $1 AND (sign_count < $2 OR (sign_count = 0 AND $2 = 0))
RETURNING factor_id
"""
_REMOVE = "DELETE FROM authentication_factors WHERE user_id = $1 AND factor_id = $2 RETURNING kind"
_REMOVE_ALL = "DELETE FROM authentication_factors WHERE user_id = $1"
_REMOVE_CODES = "DELETE FROM recovery_codes WHERE user_id = $1"
_INSERT_CODES = """
INSERT INTO recovery_codes (user_id, code_hash) SELECT $1, unnest($2::bytea[])
"""
_USE_CODE = """
UPDATE recovery_codes SET used_at = $3
WHERE user_id = $1 AND code_hash = $2 AND used_at IS NULL
RETURNING user_id
"""
_LOAD_CODES = "SELECT code_hash FROM recovery_codes WHERE user_id = $1"
_COUNT_CODES = "SELECT count(*) FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL"
_INSERT_CHALLENGE = """
INSERT INTO passkey_challenges (challenge, purpose, user_id, expires_at) VALUES ($1, $2, $3, $4)
"""
# Deletes the oldest sign-in challenges. All requests lock them in the same order. Uses
# passkey_challenges_expiry.
_TRIM_CHALLENGES = """
DELETE FROM passkey_challenges
WHERE challenge IN (
    SELECT challenge
    FROM passkey_challenges
    WHERE purpose = 'SIGN_IN'
    ORDER BY expires_at DESC, challenge
    OFFSET $1
    FOR UPDATE)
"""
# Uses passkey_challenges_user.
_TRIM_CHALLENGES_OF_USER = """
DELETE FROM passkey_challenges
WHERE challenge IN (
    SELECT challenge
    FROM passkey_challenges
    WHERE user_id = $1
    ORDER BY expires_at DESC, challenge
    OFFSET $2
    FOR UPDATE)
"""
# A challenge can be answered only once, whatever the answer.
_USE_CHALLENGE = """
DELETE FROM passkey_challenges WHERE challenge = $1
RETURNING purpose, user_id, expires_at > $2 AS is_live
"""
# Uses passkey_challenges_expiry.
_REMOVE_CHALLENGES = """
DELETE FROM passkey_challenges
WHERE challenge IN (SELECT challenge FROM passkey_challenges WHERE expires_at < $1 LIMIT $2)
"""


# Limits of open challenges: for all sign-ins together, and for one user.
MAX_CHALLENGES, MAX_CHALLENGES_OF_USER = 2_000, 5


class SecondFactor(msgspec.Struct, frozen=True, gc=False):
    factor_id: UUID
    kind: str
    name: str
    created_at: datetime
    confirmed_at: datetime | None
    last_used_at: datetime | None
    credential_id: bytes | None


class AuthenticatorApp(msgspec.Struct, frozen=True, gc=False):
    factor_id: UUID
    secret_sealed: bytes
    created_at: datetime


class Passkey(msgspec.Struct, frozen=True, gc=False):
    factor_id: UUID
    user_id: UUID
    public_key: bytes
    sign_count: int


class NewPasskey(msgspec.Struct, frozen=True, gc=False):
    user_id: UUID
    name: str
    credential_id: bytes
    public_key: bytes
    sign_count: int


class PasskeyChallenge(msgspec.Struct, frozen=True, gc=False):
    purpose: str
    user_id: UUID | None
    is_live: bool


async def load_factors(tx: Connection, user_id: UUID) -> Sequence[SecondFactor]:
    """Return the factors, oldest first, including an app that is not confirmed yet."""
    return [SecondFactor(**row) for row in await tx.fetch(_LOAD, user_id)]


async def find_app(tx: Connection, user_id: UUID, *, is_confirmed: bool) -> AuthenticatorApp | None:
    """Return the user's app that is confirmed, or the one that is being set up (`is_confirmed`
    False). Return None if there is none."""
    row = await tx.fetchrow(_FIND_APP, user_id, is_confirmed)
    return None if row is None else AuthenticatorApp(**row)


async def save_unconfirmed_app(
    tx: Connection, user_id: UUID, factor_id: UUID, secret_sealed: bytes, now: datetime
) -> None:
    """Insert an unconfirmed app, which replaces an earlier unconfirmed one."""
    await delete_unconfirmed_app(tx, user_id)
    await tx.execute(_INSERT_APP, factor_id, user_id, now, secret_sealed)


async def delete_unconfirmed_app(tx: Connection, user_id: UUID) -> None:
    """Delete the unconfirmed app, if there is one."""
    await tx.execute(_REMOVE_APP, user_id, False)  # noqa: FBT003 - a value of SQL


async def save_confirmed_app(
    tx: Connection, user_id: UUID, factor_id: UUID, step: int, now: datetime
) -> bool:
    """Confirm the app, which replaces the previous one. Return False if it is no longer
    unconfirmed. The user must be locked."""
    await tx.execute(_REMOVE_APP, user_id, True)  # noqa: FBT003 - a value of SQL
    return await tx.fetchval(_CONFIRM_APP, factor_id, user_id, now, step) is not None


async def use_totp_step(
    tx: Connection, user_id: UUID, factor_id: UUID, step: int, now: datetime
) -> bool:
    """Mark the code's time step as used. Return False if this or a later step was used before."""
    return await tx.fetchval(_USE_STEP, factor_id, user_id, step, now) is not None


async def save_new_passkey(
    tx: Connection, factor_id: UUID, passkey: NewPasskey, now: datetime
) -> bool:
    """Insert the passkey. Return False if it is already registered."""
    saved = await tx.fetchval(
        _INSERT_PASSKEY, factor_id, passkey.user_id, passkey.name, now, passkey.credential_id,
        passkey.public_key, passkey.sign_count,
    )  # fmt: skip
    return saved is not None


async def find_passkey(tx: Connection, credential_id: bytes) -> Passkey | None:
    """Return the passkey, or None if there is none with this id or its user was deactivated."""
    row = await tx.fetchrow(_FIND_PASSKEY, credential_id)
    return None if row is None else Passkey(**row)


async def save_passkey_count(
    tx: Connection, factor_id: UUID, sign_count: int, now: datetime
) -> bool:
    """Save the passkey's counter. Return False if it did not increase, unless the passkey has no
    counter."""
    return await tx.fetchval(_SAVE_COUNT, factor_id, sign_count, now) is not None


async def delete_factor(tx: Connection, user_id: UUID, factor_id: UUID) -> str | None:
    """Delete the factor and return its kind, or None if the user has no such factor."""
    kind: str | None = await tx.fetchval(_REMOVE, user_id, factor_id)
    return kind


async def delete_all_factors(tx: Connection, user_id: UUID) -> None:
    """Delete all factors and the recovery codes."""
    await tx.execute(_REMOVE_ALL, user_id)
    await tx.execute(_REMOVE_CODES, user_id)


async def replace_recovery_codes(tx: Connection, user_id: UUID, hashes: Sequence[bytes]) -> None:
    await tx.execute(_REMOVE_CODES, user_id)
    await tx.execute(_INSERT_CODES, user_id, hashes)


async def use_recovery_code(tx: Connection, user_id: UUID, code_hash: bytes, now: datetime) -> bool:
    """Mark the recovery code as used. Return False if it is not the user's, or was used before."""
    return await tx.fetchval(_USE_CODE, user_id, code_hash, now) is not None


async def count_unused_codes(tx: Connection, user_id: UUID) -> int:
    """Return the number of unused codes."""
    count: int = await tx.fetchval(_COUNT_CODES, user_id)
    return count


async def load_code_hashes(tx: Connection, user_id: UUID) -> Sequence[bytes]:
    """Return the hashes of all codes, including used ones."""
    return [row["code_hash"] for row in await tx.fetch(_LOAD_CODES, user_id)]


async def save_challenge(
    tx: Connection, challenge: bytes, purpose: str, user_id: UUID | None, expires_at: datetime
) -> None:
    """Insert the challenge, and delete the oldest ones above the limit."""
    await tx.execute(_INSERT_CHALLENGE, challenge, purpose, user_id, expires_at)
    if user_id is None:
        await tx.execute(_TRIM_CHALLENGES, MAX_CHALLENGES)
    else:
        await tx.execute(_TRIM_CHALLENGES_OF_USER, user_id, MAX_CHALLENGES_OF_USER)


async def use_challenge(tx: Connection, challenge: bytes, now: datetime) -> PasskeyChallenge | None:
    """Delete the challenge and return it, also if it has expired. Return None if it was used before
    or does not exist."""
    row = await tx.fetchrow(_USE_CHALLENGE, challenge, now)
    return None if row is None else PasskeyChallenge(**row)


async def delete_expired_challenges(tx: Connection, expired_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_REMOVE_CHALLENGES, expired_before, limit)
    return int(tag.rpartition(" ")[2])


_INSERT = """
INSERT INTO second_factor_failures (failure_id, user_id, failed_at, device_hash)
VALUES ($1, $2, $3, $4)
"""
# This statement and the next one use second_factor_failures_user.
_COUNT_WRONG_CODES = (
    "SELECT count(*) FROM second_factor_failures WHERE user_id = $1 AND failed_at > $2"
)
_COUNT_WRONG_CODES_OF_BROWSER = """
SELECT count(*) FROM second_factor_failures
WHERE user_id = $1 AND failed_at > $2 AND device_hash = $3
"""
_LOCK = """
UPDATE users SET second_factor_locked_at = $2
WHERE user_id = $1 AND second_factor_locked_at IS NULL
RETURNING user_id
"""
# Uses second_factor_failures_age.
_REMOVE_WRONG_CODES = """
DELETE FROM second_factor_failures
WHERE failure_id IN (SELECT failure_id FROM second_factor_failures WHERE failed_at < $1 LIMIT $2)
"""


async def save_wrong_code(
    tx: Connection, failure_id: UUID, user_id: UUID, now: datetime, device_hash: bytes | None
) -> None:
    await tx.execute(_INSERT, failure_id, user_id, now, device_hash)


async def count_wrong_codes(
    tx: Connection, user_id: UUID, since: datetime, device_hash: bytes | None = None
) -> int:
    """Return the number of wrong codes since `since`; with `device_hash`, only those from this
    browser."""
    if device_hash is None:
        count: int = await tx.fetchval(_COUNT_WRONG_CODES, user_id, since)
    else:
        count = await tx.fetchval(_COUNT_WRONG_CODES_OF_BROWSER, user_id, since, device_hash)
    return count


async def save_second_factor_lock(tx: Connection, user_id: UUID, now: datetime) -> bool:
    """Lock the user's second factor. Return False if it was locked already."""
    return await tx.fetchval(_LOCK, user_id, now) is not None


async def delete_wrong_codes(tx: Connection, failed_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_REMOVE_WRONG_CODES, failed_before, limit)
    return int(tag.rpartition(" ")[2])
