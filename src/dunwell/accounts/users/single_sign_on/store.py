"""The SQL of single sign-on: identities, attempts and logouts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.accounts.users.user import fold_email
from dunwell.platform.database.database import Connection

# Serialises sign-ins and logouts of one issuer: a logout either ends the new session, or is found
# when the session is opened.
_LOCK_ISSUER = "SELECT pg_advisory_xact_lock(hashtextextended($1, 74))"
# Uses the primary key.
_FIND = "SELECT user_id FROM user_identities WHERE issuer = $1 AND subject = $2"
_SAVE = """
INSERT INTO user_identities (issuer, subject, user_id, provider, known_since)
VALUES ($1, $2, $3, $4, $5)
"""
_SAVE_SEEN = """
UPDATE user_identities SET provider = $3, last_seen_at = $4 WHERE issuer = $1 AND subject = $2
"""
# The identity of a deactivated user can be assigned to another user.
_ASSIGN = """
INSERT INTO user_identities (issuer, subject, user_id, provider, known_since)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (issuer, subject) DO UPDATE
SET user_id = excluded.user_id, provider = excluded.provider, known_since = excluded.known_since
WHERE EXISTS (
    SELECT FROM users u WHERE u.user_id = user_identities.user_id AND u.ended_at IS NOT NULL)
RETURNING user_id
"""
# Uses users_email_key_key. Changes nothing if another user has the address.
_SAVE_EMAIL = """
UPDATE users SET email = $2, email_key = $3
WHERE user_id = $1 AND email <> $2 AND ended_at IS NULL
    AND NOT EXISTS (SELECT FROM users o WHERE o.email_key = $3 AND o.user_id <> $1)
"""
# Uses merchants_key_key.
_FIND_MERCHANTS = "SELECT key, merchant_id FROM merchants WHERE key = ANY($1::text[])"
_INSERT_ATTEMPT = """
INSERT INTO single_sign_on_attempts
    (attempt_hash, provider, next_page, expires_at, started_at, confirms_session)
VALUES ($1, $2, $3, $4, $5, $6)
"""
# Uses the primary key. Of two concurrent returns with one attempt, the second finds none.
_USE_ATTEMPT = """
DELETE FROM single_sign_on_attempts
WHERE attempt_hash = $1 AND provider = $2
RETURNING next_page, expires_at > $3 AS is_live, started_at, confirms_session
"""
# Uses single_sign_on_attempts_expiry.
_REMOVE_ATTEMPTS = """
DELETE FROM single_sign_on_attempts
WHERE attempt_hash IN (
    SELECT attempt_hash FROM single_sign_on_attempts WHERE expires_at < $1 LIMIT $2)
"""
_INSERT_LOGOUT = """
INSERT INTO provider_logouts
    (issuer, token_hash, session_hash, subject_hash, issued_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT DO NOTHING
RETURNING issuer
"""
# Uses the first column of the primary key. Only the logouts of the last hour are stored.
_IS_LOGGED_OUT = """
SELECT EXISTS (
    SELECT FROM provider_logouts
    WHERE issuer = $1
        AND (session_hash = $2
            OR session_hash IS NULL AND subject_hash = $3 AND issued_at >= $4))
"""
# Uses portal_sessions_provider, or user_identities_pkey and portal_sessions_user. A session without
# a known provider session can be any session of its subject.
_END_SESSIONS = """
UPDATE portal_sessions s
SET ended_at = $4
FROM user_identities i
WHERE i.issuer = $1 AND i.user_id = s.user_id AND s.ended_at IS NULL
    AND ($3::text IS NULL OR i.subject = $3)
    AND ($2::bytea IS NULL OR s.provider_session = $2
        OR s.provider_session IS NULL AND i.subject = $3)
RETURNING s.user_id
"""
# Uses provider_logouts_expiry.
_REMOVE_LOGOUTS = """
DELETE FROM provider_logouts
WHERE (issuer, token_hash) IN (
    SELECT issuer, token_hash FROM provider_logouts WHERE expires_at < $1 LIMIT $2)
"""


class NewAttempt(msgspec.Struct, frozen=True, gc=False):
    """The fields are in the order of the statement's columns. `confirms_session` as in
    `SignOnAttempt`."""

    attempt_hash: bytes
    provider: str
    next_page: str
    expires_at: datetime
    started_at: datetime
    confirms_session: UUID | None


class SignOnAttempt(msgspec.Struct, frozen=True, gc=False):
    """`is_live` is False if the attempt has expired. `confirms_session` is the session to confirm;
    None means that the attempt is a sign-in."""

    next_page: str
    is_live: bool
    started_at: datetime | None
    confirms_session: UUID | None


class NewLogout(msgspec.Struct, frozen=True, gc=False):
    issuer: str
    token_hash: bytes
    session_hash: bytes | None
    subject_hash: bytes | None
    issued_at: datetime
    expires_at: datetime


async def lock_issuer(tx: Connection, issuer: str) -> None:
    """Serialise transactions of this issuer until the transaction ends."""
    await tx.execute(_LOCK_ISSUER, issuer)


async def find_user_by_identity(tx: Connection, issuer: str, subject: str) -> UUID | None:
    """Return the user of the identity, also a deactivated one."""
    user_id: UUID | None = await tx.fetchval(_FIND, issuer, subject)
    return user_id


async def save_identity(
    tx: Connection, user_id: UUID, identity: tuple[str, str], provider: str, now: datetime
) -> None:
    """Insert the identity. `identity` is issuer and subject, which must be new."""
    await tx.execute(_SAVE, *identity, user_id, provider, now)


async def assign_identity(
    tx: Connection, user_id: UUID, identity: tuple[str, str], provider: str, now: datetime
) -> bool:
    """Assign the identity to the user. Return False if an active user has it."""
    return await tx.fetchval(_ASSIGN, *identity, user_id, provider, now) is not None


async def save_identity_seen(
    tx: Connection, identity: tuple[str, str], provider: str, now: datetime
) -> None:
    await tx.execute(_SAVE_SEEN, *identity, provider, now)


async def save_email(tx: Connection, user_id: UUID, email: str) -> None:
    """Save the e-mail address unless another user has it."""
    await tx.execute(_SAVE_EMAIL, user_id, email, fold_email(email))


async def load_merchant_ids(tx: Connection, keys: Sequence[str]) -> Mapping[str, int]:
    """Return the ids of the existing merchants, by key."""
    rows = await tx.fetch(_FIND_MERCHANTS, list(keys))
    return {row["key"]: row["merchant_id"] for row in rows}


async def save_attempt(tx: Connection, attempt: NewAttempt) -> None:
    await tx.execute(_INSERT_ATTEMPT, *msgspec.structs.astuple(attempt))


async def use_attempt(
    tx: Connection, attempt_hash: bytes, provider: str, now: datetime
) -> SignOnAttempt | None:
    """Use up the attempt and return it, also if it has expired. Return None if there is none or it
    belongs to another provider."""
    row = await tx.fetchrow(_USE_ATTEMPT, attempt_hash, provider, now)
    return None if row is None else SignOnAttempt(**row)


async def save_logout(tx: Connection, logout: NewLogout) -> bool:
    """Insert the logout. Return False if the token was processed before."""
    values = msgspec.structs.astuple(logout)
    return await tx.fetchval(_INSERT_LOGOUT, *values) is not None


async def is_logged_out(
    tx: Connection, issuer: str, session_hash: bytes | None, subject_hash: bytes, since: datetime
) -> bool:
    """Return whether the provider's session was logged out, or whether all sessions of the subject
    were logged out at `since` or later."""
    is_out: bool = await tx.fetchval(_IS_LOGGED_OUT, issuer, session_hash, subject_hash, since)
    return is_out


async def save_provider_session_ends(
    tx: Connection, issuer: str, session_hash: bytes | None, subject: str | None, now: datetime
) -> Sequence[UUID]:
    """End the sessions that were opened in this session of the provider or, if `session_hash` is
    None, all sessions of the subject. A session of the subject whose provider session is unknown
    ends in both cases. Return the user of each ended session."""
    rows = await tx.fetch(_END_SESSIONS, issuer, session_hash, subject, now)
    return [row["user_id"] for row in rows]


async def delete_expired_sign_on_rows(tx: Connection, now: datetime, limit: int) -> int:
    """Delete expired attempts and logouts."""
    tags = [await tx.execute(each, now, limit) for each in (_REMOVE_ATTEMPTS, _REMOVE_LOGOUTS)]
    return sum(int(tag.rpartition(" ")[2]) for tag in tags)
