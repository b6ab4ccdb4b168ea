"""The SQL of invitation links and of sign-ins that wait for the second factor."""

from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection

_DELETE_INVITATIONS = "DELETE FROM invitations WHERE user_id = $1"
_INSERT_INVITATION = """
INSERT INTO invitations (invitation_hash, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)
"""
# Uses the primary key.
_FIND_INVITATION = """
SELECT i.user_id
FROM invitations i
JOIN users u ON u.user_id = i.user_id AND u.ended_at IS NULL
WHERE i.invitation_hash = $1 AND i.used_at IS NULL AND i.expires_at > $2
"""
# Among two concurrent requests with one link, the second finds it used.
_USE_INVITATION = """
UPDATE invitations SET used_at = $2
WHERE invitation_hash = $1 AND used_at IS NULL AND expires_at > $2
RETURNING user_id
"""
# FOR SHARE: this statement and a concurrent change of the user's password wait for each other.
_INSERT_PENDING = """
INSERT INTO pending_sign_ins (sign_in_hash, user_id, opened_at, expires_at)
SELECT $1, user_id, $3, $4 FROM users
WHERE user_id = $2 AND password_hash = $5 AND ended_at IS NULL
FOR SHARE
RETURNING user_id
"""
_FIND_PENDING = """
SELECT e.user_id
FROM pending_sign_ins e
JOIN users u ON u.user_id = e.user_id AND u.ended_at IS NULL
WHERE e.sign_in_hash = $1 AND e.expires_at > $2
"""
_USE_PENDING = "DELETE FROM pending_sign_ins WHERE sign_in_hash = $1 RETURNING user_id"
_DELETE_PENDING_OF = "DELETE FROM pending_sign_ins WHERE user_id = $1"
# Uses pending_sign_ins_expiry.
_DELETE_EXPIRED = """
DELETE FROM pending_sign_ins
WHERE sign_in_hash IN (SELECT sign_in_hash FROM pending_sign_ins WHERE expires_at < $1 LIMIT $2)
"""


async def save_invitation(
    tx: Connection, invitation_hash: bytes, user_id: UUID, now: datetime, expires_at: datetime
) -> None:
    """Insert the link. The user's earlier links become invalid."""
    await tx.execute(_DELETE_INVITATIONS, user_id)
    await tx.execute(_INSERT_INVITATION, invitation_hash, user_id, now, expires_at)


async def delete_invitations(tx: Connection, user_id: UUID) -> None:
    await tx.execute(_DELETE_INVITATIONS, user_id)


async def find_invited_user(tx: Connection, invitation_hash: bytes, now: datetime) -> UUID | None:
    """Return the link's user, or None if the link was used, has expired, or does not exist."""
    user_id: UUID | None = await tx.fetchval(_FIND_INVITATION, invitation_hash, now)
    return user_id


async def use_invitation(tx: Connection, invitation_hash: bytes, now: datetime) -> UUID | None:
    """Mark the link as used. Return its user, or None if the link was used before, has expired or
    does not exist. The user may have been deactivated, which is not checked here."""
    user_id: UUID | None = await tx.fetchval(_USE_INVITATION, invitation_hash, now)
    return user_id


async def save_pending_sign_in(
    tx: Connection, sign_in_hash: bytes, user_id: UUID, password_hash: str, now: datetime,
    expires_at: datetime,
) -> bool:  # fmt: skip
    """Insert the pending sign-in. Return False if the user's password was changed or deleted in the
    meantime."""
    saved = await tx.fetchval(
        _INSERT_PENDING, sign_in_hash, user_id, now, expires_at, password_hash
    )
    return saved is not None


async def find_pending_sign_in(tx: Connection, sign_in_hash: bytes, now: datetime) -> UUID | None:
    """Return the user whose password was right. Return None if the pending sign-in has expired or
    does not exist."""
    user_id: UUID | None = await tx.fetchval(_FIND_PENDING, sign_in_hash, now)
    return user_id


async def use_pending_sign_in(tx: Connection, sign_in_hash: bytes) -> bool:
    """Use up the pending sign-in. Return False if it was used before, or was deleted because of a
    new password."""
    return await tx.fetchval(_USE_PENDING, sign_in_hash) is not None


async def delete_pending_sign_ins(tx: Connection, user_id: UUID) -> None:
    await tx.execute(_DELETE_PENDING_OF, user_id)


async def delete_expired_sign_ins(tx: Connection, expired_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_DELETE_EXPIRED, expired_before, limit)
    return int(tag.rpartition(" ")[2])
