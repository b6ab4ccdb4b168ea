"""The SQL of users and their memberships, and of the users to whom work can be assigned."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, Role
from dunwell.accounts.users.assignee import Assignee, AssigneeFilter
from dunwell.accounts.users.user import NewUser, User, UserRoles, fold_email
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.listed_table import ListScope, Test
from dunwell.platform.database.sql import compose

_SELECT = """
SELECT u.user_id, u.email, u.name, u.language, u.global_role,
    ARRAY(SELECT (m.merchant_id, m.role) FROM memberships m WHERE m.user_id = u.user_id)
        AS memberships,
    u.password_hash IS NOT NULL AS has_password, u.created_at, u.joined_at, u.ended_at, u.revision,
    u.is_break_glass, u.second_factor_locked_at,
    (SELECT i.provider FROM user_identities i WHERE i.user_id = u.user_id) AS provider
FROM users u
"""
# Uses the primary key and memberships_user.
_LOAD = compose("{select}WHERE u.user_id = $1", select=_SELECT)
_LOCK = compose("{select}WHERE u.user_id = $1\nFOR UPDATE OF u", select=_SELECT)
# Uses users_email_key_key.
_FIND = compose("{select}WHERE u.email_key = $1", select=_SELECT)
# There are hundreds of users, not millions.
_LIST = compose("{select}ORDER BY u.ended_at IS NOT NULL, lower(u.name), u.user_id\nLIMIT $1",
                select=_SELECT)  # fmt: skip
_FIND_HASH = """
SELECT user_id, password_hash, ended_at IS NULL AS is_live FROM users WHERE email_key = $1
"""
_LOAD_HASH = "SELECT password_hash FROM users WHERE user_id = $1 AND ended_at IS NULL"
_INSERT = """
INSERT INTO users
    (user_id, email, email_key, name, language, global_role, created_at, is_break_glass)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT (email_key) DO NOTHING
RETURNING user_id
"""
_REMOVE_MEMBERSHIPS = "DELETE FROM memberships WHERE user_id = $1"
_INSERT_MEMBERSHIPS = """
INSERT INTO memberships (merchant_id, user_id, role)
SELECT merchant_id, $1, role FROM unnest($2::integer[], $3::text[]) AS given (merchant_id, role)
"""
_SAVE_ROLES = """
UPDATE users SET global_role = $3, revision = revision + 1
WHERE user_id = $1 AND revision = $2 AND ended_at IS NULL
RETURNING revision
"""
_SAVE_PROFILE = "UPDATE users SET name = $2, language = $3 WHERE user_id = $1 AND ended_at IS NULL"
# The count of wrong codes and the lock are deleted with the old password.
_SAVE_HASH = """
WITH forgotten AS (DELETE FROM second_factor_failures WHERE user_id = $1)
UPDATE users SET password_hash = $2, password_changed_at = $3, joined_at = coalesce(joined_at, $3),
    second_factor_locked_at = NULL
WHERE user_id = $1 AND ended_at IS NULL
"""
_REMOVE_HASH = """
WITH forgotten AS (DELETE FROM second_factor_failures WHERE user_id = $1)
UPDATE users SET password_hash = NULL, second_factor_locked_at = NULL WHERE user_id = $1
"""
_SAVE_REHASHED = "UPDATE users SET password_hash = $3 WHERE user_id = $1 AND password_hash = $2"
_SAVE_JOINED = "UPDATE users SET joined_at = coalesce(joined_at, $2) WHERE user_id = $1"
# Another user, or the same person, can be invited with the e-mail address again.
_END = """
UPDATE users
SET ended_at = $2, password_hash = NULL, revision = revision + 1,
    email_key = concat('ended:', user_id)
WHERE user_id = $1 AND ended_at IS NULL
RETURNING user_id
"""
# Locked in one order, so that two administrators who deactivate each other wait for one another.
_LOCK_ADMINS = """
SELECT user_id, joined_at IS NOT NULL AS has_joined FROM users
WHERE global_role = 'ADMIN' AND ended_at IS NULL
ORDER BY user_id
FOR UPDATE
"""
_SAVE_BREAK_GLASS = "UPDATE users SET is_break_glass = $2 WHERE user_id = $1"
_COUNT_BREAK_GLASS = """
SELECT count(*) FROM users
WHERE is_break_glass AND joined_at IS NOT NULL AND ended_at IS NULL AND global_role = 'ADMIN'
"""
_HAS_JOINED = "SELECT EXISTS (SELECT FROM users WHERE joined_at IS NOT NULL)"
_LIST_MERCHANTS = (
    "SELECT merchant_id, key, name FROM merchants ORDER BY lower(name), merchant_id LIMIT $1"
)
_MAX_LISTED = 1000


class KnownPassword(msgspec.Struct, frozen=True, gc=False):
    """`is_live` says whether the user is active."""

    user_id: UUID
    password_hash: str | None
    is_live: bool


class Admin(msgspec.Struct, frozen=True, gc=False):
    user_id: UUID
    has_joined: bool


class NamedMerchant(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    name: str


async def load_user(tx: Connection, user_id: UUID) -> User | None:
    return _build_user(await tx.fetchrow(_LOAD, user_id))


async def lock_user(tx: Connection, user_id: UUID) -> User | None:
    """Return the user, locked until the transaction ends, or None if there is no such user."""
    return _build_user(await tx.fetchrow(_LOCK, user_id))


async def find_user(tx: Connection, email: str) -> User | None:
    """Return the user with this e-mail address, or None. A deactivated user no longer has one."""
    return _build_user(await tx.fetchrow(_FIND, fold_email(email)))


async def list_users(tx: Connection) -> Sequence[User]:
    """Return at most a thousand users by name, active ones first."""
    return [user for row in await tx.fetch(_LIST, _MAX_LISTED) if (user := _build_user(row))]


async def find_password(tx: Connection, email: str) -> KnownPassword | None:
    """Return the password hash of the user with this e-mail address, or None if there is no such
    user."""
    row = await tx.fetchrow(_FIND_HASH, fold_email(email))
    return None if row is None else KnownPassword(**row)


async def load_password(tx: Connection, user_id: UUID) -> str | None:
    """Return the hash of an active user's password, or None if the user has no password."""
    password_hash: str | None = await tx.fetchval(_LOAD_HASH, user_id)
    return password_hash


async def save_new_user(tx: Connection, user_id: UUID, new: NewUser, now: datetime) -> bool:
    """Insert the user. Return False if the e-mail address is taken."""
    saved = await tx.fetchval(
        _INSERT, user_id, new.email.strip(), fold_email(new.email), new.name, new.language,
        new.roles.global_role, now, new.is_break_glass,
    )  # fmt: skip
    if saved is not None:
        await _save_memberships(tx, user_id, new.roles.memberships)
    return saved is not None


async def save_roles(tx: Connection, user_id: UUID, roles: UserRoles, revision: int) -> bool:
    """Save the roles. Return False if the user was changed since this revision, or deactivated."""
    if await tx.fetchval(_SAVE_ROLES, user_id, revision, roles.global_role) is None:
        return False
    await tx.execute(_REMOVE_MEMBERSHIPS, user_id)
    await _save_memberships(tx, user_id, roles.memberships)
    return True


async def save_profile(tx: Connection, user_id: UUID, name: str, language: str) -> None:
    await tx.execute(_SAVE_PROFILE, user_id, name, language)


async def save_password(tx: Connection, user_id: UUID, password_hash: str, now: datetime) -> None:
    """Save the new password. The user has then joined, and a lock of the second factor ends."""
    await tx.execute(_SAVE_HASH, user_id, password_hash, now)


async def delete_password(tx: Connection, user_id: UUID) -> None:
    await tx.execute(_REMOVE_HASH, user_id)


async def save_rehashed_password(tx: Connection, user_id: UUID, before: str, after: str) -> None:
    """Save a new hash of the same password, unless the password was changed in the meantime."""
    await tx.execute(_SAVE_REHASHED, user_id, before, after)


async def save_joined(tx: Connection, user_id: UUID, now: datetime) -> None:
    await tx.execute(_SAVE_JOINED, user_id, now)


async def save_deactivation(tx: Connection, user_id: UUID, now: datetime) -> bool:
    return await tx.fetchval(_END, user_id, now) is not None


async def save_break_glass(tx: Connection, user_id: UUID, *, is_on: bool) -> None:
    await tx.execute(_SAVE_BREAK_GLASS, user_id, is_on)


async def count_break_glass(tx: Connection) -> int:
    """Return the number of administrators who have joined and may sign in without
    single sign-on.
    """
    count: int = await tx.fetchval(_COUNT_BREAK_GLASS)
    return count


async def lock_admins(tx: Connection) -> Sequence[Admin]:
    """Return the active administrators, locked until the transaction ends."""
    return [Admin(**row) for row in await tx.fetch(_LOCK_ADMINS)]


async def has_joined_user(tx: Connection) -> bool:
    has_joined: bool = await tx.fetchval(_HAS_JOINED)
    return has_joined


async def list_named_merchants(tx: Connection) -> Sequence[NamedMerchant]:
    """Return at most a thousand merchants by name."""
    return [NamedMerchant(**row) for row in await tx.fetch(_LIST_MERCHANTS, _MAX_LISTED)]


async def _save_memberships(tx: Connection, user_id: UUID, memberships: Mapping[int, Role]) -> None:
    roles = [str(role) for role in memberships.values()]
    await tx.execute(_INSERT_MEMBERSHIPS, user_id, list(memberships), roles)


def _build_user(row: Row | None) -> User | None:
    if row is None:
        return None
    values: dict[str, Any] = {**row}
    global_role = values.pop("global_role")
    memberships = {merchant_id: Role(role) for merchant_id, role in values.pop("memberships")}
    roles = UserRoles(None if global_role is None else Role(global_role), memberships)
    return User(**values, roles=roles)


# The names of the roles that may respond to disputes and requests.
ANSWERING_ROLES = sorted(
    str(role) for role, rights in ROLE_RIGHTS.items() if Right.ANSWER in rights
)
# SQL fragments, which use the primary key of memberships. Their slots are the merchant's id and the
# roles.
_MEMBER = """
EXISTS (SELECT FROM memberships m
        WHERE m.merchant_id = {merchant} AND m.user_id = u.user_id AND m.role = ANY({roles}))
"""
MAY_ANSWER = compose(
    "u.ended_at IS NULL AND (u.global_role = ANY({roles}) OR {member})",
    member=_MEMBER, roles="{roles}",
)  # fmt: skip
# Matches a row `l` that is not assigned, or whose assignee may not answer. Uses primary keys.
_IS_UNASSIGNED = compose(
    "NOT EXISTS (SELECT FROM users u WHERE u.user_id = l.assignee_id AND {able})",
    able=compose(MAY_ANSWER, merchant="l.merchant_id", roles="{}::text[]"),
)
_MAY_BE_ASSIGNED = compose(MAY_ANSWER, merchant="$1", roles="$2::text[]")
# There are hundreds of users, not millions.
_LIST_COLLEAGUES = compose(
    """
SELECT u.user_id, u.name, true AS may_be_assigned
FROM users u
WHERE {able} AND u.joined_at IS NOT NULL AND ($3 OR {member})
ORDER BY lower(u.name), u.user_id
LIMIT 500
""",
    able=_MAY_BE_ASSIGNED,
    member=compose(_MEMBER, merchant="$1", roles="$2::text[]"),
)
# Uses the primary key.
_FIND_ASSIGNEES = compose(
    """
SELECT u.user_id, u.name, {able} AS may_be_assigned FROM users u WHERE u.user_id = ANY($3::uuid[])
""",
    able=_MAY_BE_ASSIGNED,
)


def list_assignee_tests(assignee: AssigneeFilter, _: ListScope) -> Iterator[Test]:
    """Yield the SQL tests of a list whose rows have an `assignee_id`."""
    if assignee.is_unassigned:
        yield _IS_UNASSIGNED, (ANSWERING_ROLES, ANSWERING_ROLES)
    elif assignee.user_id is not None:
        yield "l.assignee_id = {}", (assignee.user_id,)


async def list_colleagues(
    tx: Connection, merchant_id: int, *, includes_global_roles: bool
) -> Sequence[Assignee]:
    """Return the users who have joined and may respond to disputes and requests at the merchant, by
    name. Users who have only a role over all merchants are included if `includes_global_roles`."""
    rows = await tx.fetch(_LIST_COLLEAGUES, merchant_id, ANSWERING_ROLES, includes_global_roles)
    return [Assignee(**row) for row in rows]


async def load_assignees_by_id(
    tx: Connection, merchant_id: int, user_ids: Collection[UUID]
) -> dict[UUID, Assignee]:
    """Return the assignees by id, including deactivated users."""
    rows = await tx.fetch(_FIND_ASSIGNEES, merchant_id, ANSWERING_ROLES, list(user_ids))
    return {row["user_id"]: Assignee(**row) for row in rows}
