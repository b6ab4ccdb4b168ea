"""The SQL of users' sessions, and of form values that were sent after a session had ended."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.sessions.session_rules import IDLE_TIMEOUT, LAST_USE_PRECISION
from dunwell.accounts.users.user import fold_email
from dunwell.platform.database.database import Connection

# $2 is the current time. $3 and $4 are times of the last use: before $3, the session has ended;
# before $4, the last use is saved again. Uses primary keys and memberships_user.
_USE_SESSION = """
WITH found AS (
    SELECT session_id, user_id, last_used_at, network, confirmed_at
    FROM portal_sessions
    WHERE session_hash = $1 AND ended_at IS NULL AND expires_at > $2 AND last_used_at > $3
), used AS (
    UPDATE portal_sessions
    SET last_used_at = $2
    WHERE session_hash = $1 AND ended_at IS NULL
        AND EXISTS (SELECT FROM found WHERE last_used_at <= $4)
)
SELECT u.user_id, f.session_id, u.email, u.name, u.language, u.global_role,
    f.network, f.confirmed_at,
    EXISTS (SELECT FROM interrupted_forms k WHERE k.user_id = u.user_id AND k.expires_at > $2)
        AS has_kept_forms,
    ARRAY(SELECT (m.merchant_id, m.role) FROM memberships m WHERE m.user_id = u.user_id)
        AS memberships
FROM found f
JOIN users u ON u.user_id = f.user_id
WHERE u.ended_at IS NULL
"""
_LOAD_USER = "SELECT user_id FROM portal_sessions WHERE session_hash = $1"
_INSERT_SESSION = """
INSERT INTO portal_sessions
    (session_hash, session_id, user_id, opened_at, last_used_at, expires_at, opened_by,
     network_digest, network, browser, device_hash, provider_session, confirmed_at, is_new_network)
VALUES ($1, $2, $3, $4, $4, $5, $6, ($7::bytea[])[1], $8, $9, $10, $11, $12,
    -- True if the user has signed in before, but not from this network. Uses
    -- portal_sessions_user.
    EXISTS (SELECT FROM portal_sessions WHERE user_id = $3)
        AND NOT EXISTS (
            SELECT FROM portal_sessions WHERE user_id = $3 AND network_digest = ANY($7::bytea[])))
RETURNING is_new_network
"""
# Uses portal_sessions_user.
_LIST_ACTIVE = """
SELECT session_id, opened_at, last_used_at, opened_by, network, browser, is_new_network
FROM portal_sessions
WHERE user_id = $1 AND ended_at IS NULL AND expires_at > $2 AND last_used_at > $3
ORDER BY opened_at DESC, session_id DESC
LIMIT 100
"""
# Uses portal_sessions_user.
_LOAD_OPENING = """
SELECT opened_by, opened_at FROM portal_sessions
WHERE user_id = $1 AND session_id = $2 AND ended_at IS NULL
"""
# Uses portal_sessions_user.
_CONFIRM = """
UPDATE portal_sessions SET confirmed_at = $3
WHERE user_id = $1 AND session_id = $2 AND ended_at IS NULL
"""
_END = """
UPDATE portal_sessions
SET ended_at = $3
WHERE user_id = $1 AND session_id = $2 AND ended_at IS NULL
RETURNING session_id
"""
# Uses portal_sessions_user.
_END_ALL = """
UPDATE portal_sessions
SET ended_at = $2
WHERE user_id = $1 AND ended_at IS NULL AND session_id IS DISTINCT FROM $3
"""
# $2 is the only session to change, $3 the only one to leave unchanged; both may be null. Uses
# portal_sessions_user.
_FORGET_BROWSERS = """
UPDATE portal_sessions
SET device_hash = NULL
WHERE user_id = $1 AND device_hash IS NOT NULL AND ($2::uuid IS NULL OR session_id = $2)
    AND session_id IS DISTINCT FROM $3
"""
# Uses portal_sessions_device.
_FIND_BROWSER_OWNER = """
SELECT u.user_id
FROM portal_sessions s
JOIN users u ON u.user_id = s.user_id
WHERE s.device_hash = $1 AND s.opened_at > $3 AND u.email_key = $2 AND u.ended_at IS NULL
"""
# Uses portal_sessions_user.
_LIST_FROM_NEW_NETWORKS = """
SELECT session_id, opened_at, last_used_at, opened_by, network, browser, is_new_network
FROM portal_sessions
WHERE user_id = $1 AND is_new_network
ORDER BY opened_at DESC, session_id DESC
LIMIT 20
"""
# Uses the primary key.
_END_BY_HASH = (
    "UPDATE portal_sessions SET ended_at = $2 WHERE session_hash = $1 AND ended_at IS NULL"
)
_SAVE_SHOWN_CODES = """
UPDATE portal_sessions SET recovery_codes_id = $2, recovery_codes_until = $3 WHERE session_hash = $1
"""
_FIND_SHOWN_CODES = """
SELECT recovery_codes_id FROM portal_sessions
WHERE session_hash = $1 AND recovery_codes_until > $2
"""
# Uses portal_sessions_expiry.
_DELETE_EXPIRED_SESSIONS = """
DELETE FROM portal_sessions
WHERE session_hash IN (SELECT session_hash FROM portal_sessions WHERE expires_at < $1 LIMIT $2)
"""


class NewSession(msgspec.Struct, frozen=True, gc=False):
    """`network_digests` are digests of the network with every version of the secret key, the
    current one first."""

    session_hash: bytes
    session_id: UUID
    user_id: UUID
    opened_at: datetime
    expires_at: datetime
    opened_by: str
    network_digests: Sequence[bytes]
    network: str | None
    browser: str
    device_hash: bytes
    # The hash of the identity provider's session, for single sign-on.
    provider_session: bytes | None
    # When the user confirmed their identity. None after single sign-on, because the provider may
    # have asked for nothing.
    confirmed_at: datetime | None


class SessionOpening(msgspec.Struct, frozen=True, gc=False):
    opened_by: str
    opened_at: datetime


class SessionRow(msgspec.Struct, frozen=True, gc=False):
    session_id: UUID
    opened_at: datetime
    last_used_at: datetime
    opened_by: str
    network: str | None
    browser: str
    is_new_network: bool


async def load_session_and_record_use(
    tx: Connection, session_hash: bytes, now: datetime
) -> dict[str, Any] | None:
    """Return the fields of `SignedInUser` except its form token, or None if the session is not
    active. Record the use about once a minute."""
    row = await tx.fetchrow(
        _USE_SESSION, session_hash, now, now - IDLE_TIMEOUT, now - LAST_USE_PRECISION
    )
    if row is None:
        return None
    global_role, memberships = row["global_role"], row["memberships"]
    return {
        **row,
        "global_role": None if global_role is None else Role(global_role),
        "memberships": {merchant_id: Role(role) for merchant_id, role in memberships},
    }


async def load_session_user(tx: Connection, session_hash: bytes) -> UUID | None:
    """Return the user of an active or ended session, or None if it is not stored."""
    user_id: UUID | None = await tx.fetchval(_LOAD_USER, session_hash)
    return user_id


async def save_session(tx: Connection, session: NewSession) -> bool:
    """Insert the session. Return whether its network is new for a user who has signed in before.
    The user must be locked."""
    is_new: bool = await tx.fetchval(
        _INSERT_SESSION, session.session_hash, session.session_id, session.user_id,
        session.opened_at,
        session.expires_at, session.opened_by, session.network_digests, session.network,
        session.browser, session.device_hash, session.provider_session,
        session.confirmed_at,
    )  # fmt: skip
    return is_new


async def list_active_sessions(
    tx: Connection, user_id: UUID, now: datetime
) -> Sequence[SessionRow]:
    return [
        SessionRow(**row) for row in await tx.fetch(_LIST_ACTIVE, user_id, now, now - IDLE_TIMEOUT)
    ]


async def list_sign_ins_from_new_networks(tx: Connection, user_id: UUID) -> Sequence[SessionRow]:
    """Return the latest stored sessions from new networks, at most 20, including ended ones."""
    return [SessionRow(**row) for row in await tx.fetch(_LIST_FROM_NEW_NETWORKS, user_id)]


async def find_browser_owner(
    tx: Connection, device_hash: bytes, email: str, since: datetime
) -> UUID | None:
    """Return the user with this e-mail address if they signed in with this browser after `since`,
    else None."""
    owner: UUID | None = await tx.fetchval(
        _FIND_BROWSER_OWNER, device_hash, fold_email(email), since
    )
    return owner


async def forget_browsers(
    tx: Connection,
    user_id: UUID,
    session_id: UUID | None = None,
    *,
    except_session: UUID | None = None,
) -> None:
    """Forget the browsers in which the user signed in: all of them, or with `session_id` only that
    session's browser. The browser of `except_session` is not forgotten."""
    await tx.execute(_FORGET_BROWSERS, user_id, session_id, except_session)


async def find_session_opening(
    tx: Connection, user_id: UUID, session_id: UUID
) -> SessionOpening | None:
    """Return how the session was opened, or None if it has ended."""
    row = await tx.fetchrow(_LOAD_OPENING, user_id, session_id)
    return None if row is None else SessionOpening(**row)


async def save_confirmation(tx: Connection, user_id: UUID, session_id: UUID, now: datetime) -> None:
    await tx.execute(_CONFIRM, user_id, session_id, now)


async def save_session_end(tx: Connection, user_id: UUID, session_id: UUID, now: datetime) -> bool:
    return await tx.fetchval(_END, user_id, session_id, now) is not None


async def save_end_of_all_sessions(
    tx: Connection, user_id: UUID, now: datetime, except_session: UUID | None
) -> int:
    tag: str = await tx.execute(_END_ALL, user_id, now, except_session)
    return int(tag.rpartition(" ")[2])


async def save_session_end_by_hash(tx: Connection, session_hash: bytes, now: datetime) -> None:
    await tx.execute(_END_BY_HASH, session_hash, now)


async def save_shown_codes(
    tx: Connection, session_hash: bytes, recovery_codes_id: UUID | None, until: datetime
) -> None:
    """Save which recovery codes the session shows. Pass None if it shows none."""
    await tx.execute(_SAVE_SHOWN_CODES, session_hash, recovery_codes_id, until)


async def find_shown_codes(tx: Connection, session_hash: bytes, now: datetime) -> UUID | None:
    """Return the id of the recovery codes that the session shows at the moment, or None."""
    recovery_codes_id: UUID | None = await tx.fetchval(_FIND_SHOWN_CODES, session_hash, now)
    return recovery_codes_id


async def delete_expired_sessions(tx: Connection, expired_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_DELETE_EXPIRED_SESSIONS, expired_before, limit)
    return int(tag.rpartition(" ")[2])


# A kept form has the values of a form that was submitted after its session had ended
# (`interrupted_forms`). This is how long these values are kept. A form that was left open in the
# evening can be restored the next morning.
FORMS_KEPT_FOR = timedelta(hours=24)
# After the values were restored once, the page can be reloaded for this time.
RESTORABLE_FOR = timedelta(minutes=10)
# The largest number of saved forms of one user, for example from several tabs. The oldest ones are
# deleted.
MAX_FORMS = 5
# The largest form without files that the portal accepts.
MAX_FORM_BYTES = 256 * 1024
_MAX_ADDRESS_LENGTH = 2_000

KeptFields = Mapping[str, Sequence[str]]

# Uses the primary key.
_SAVE_FORM = """
INSERT INTO interrupted_forms (user_id, address, fields, saved_at, expires_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (user_id, address)
DO UPDATE SET fields = excluded.fields, saved_at = excluded.saved_at,
    expires_at = excluded.expires_at
"""
_DELETE_OLDEST_FORMS = """
DELETE FROM interrupted_forms
WHERE user_id = $1 AND address IN (
    SELECT address FROM interrupted_forms WHERE user_id = $1
    ORDER BY saved_at DESC, address OFFSET $2)
"""
_RESTORE_FORM = """
UPDATE interrupted_forms SET expires_at = least(expires_at, $4)
WHERE user_id = $1 AND address = $2 AND expires_at > $3
RETURNING fields
"""
_DELETE_FORM = "DELETE FROM interrupted_forms WHERE user_id = $1 AND address = $2"
# Uses interrupted_forms_expiry.
_DELETE_EXPIRED_FORMS = """
DELETE FROM interrupted_forms
WHERE (user_id, address) IN (
    SELECT user_id, address FROM interrupted_forms WHERE expires_at < $1 LIMIT $2)
"""


async def save_kept_form(
    tx: Connection, user_id: UUID, address: str, *, fields: KeptFields, now: datetime
) -> bool:
    """Save the values of a form. Return False if the values or the address are too long."""
    if len(msgspec.json.encode(fields)) > MAX_FORM_BYTES or len(address) > _MAX_ADDRESS_LENGTH:
        return False
    await tx.execute(_SAVE_FORM, user_id, address, fields, now, now + FORMS_KEPT_FOR)
    await tx.execute(_DELETE_OLDEST_FORMS, user_id, MAX_FORMS)
    return True


async def load_kept_form(
    tx: Connection, user_id: UUID, address: str, now: datetime
) -> KeptFields | None:
    """Return the values that the user sent to this URL, or None if none are saved. From now on
    they can be restored for `RESTORABLE_FOR`."""
    fields: KeptFields | None = await tx.fetchval(
        _RESTORE_FORM, user_id, address, now, now + RESTORABLE_FOR
    )
    return fields


async def delete_kept_form(tx: Connection, user_id: UUID, address: str) -> None:
    """Delete the saved values after the form was sent."""
    await tx.execute(_DELETE_FORM, user_id, address)


async def delete_expired_forms(tx: Connection, now: datetime, limit: int) -> int:
    """Delete expired values and return their number."""
    return int((await tx.execute(_DELETE_EXPIRED_FORMS, now, limit)).rpartition(" ")[2])
