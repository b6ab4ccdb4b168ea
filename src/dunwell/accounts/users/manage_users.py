"""What an administrator does with users: invite, reset, change roles, give emergency access,
deactivate, sign out."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.factors.store import delete_all_factors
from dunwell.accounts.users.sessions.session_rules import SECRET_BYTES, hash_secret, render_secret
from dunwell.accounts.users.sessions.sessions import end_all_sessions
from dunwell.accounts.users.sign_in.local_sign_in import (
    is_single_sign_on_required,
    may_sign_in_locally,
)
from dunwell.accounts.users.sign_in.store import (
    delete_invitations,
    delete_pending_sign_ins,
    save_invitation,
)
from dunwell.accounts.users.store import (
    delete_password,
    find_user,
    has_joined_user,
    list_named_merchants,
    lock_admins,
    lock_user,
    save_break_glass,
    save_deactivation,
    save_new_user,
    save_roles,
)
from dunwell.accounts.users.user import (
    NewUser,
    User,
    UserRoles,
    find_role_faults,
    find_user_faults,
)
from dunwell.accounts.users.user_work import UserWork, save_user_audit
from dunwell.platform.errors import EditConflict, Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.translation import LazyText

# How long an invitation or reset link is valid.
INVITATION_LASTS = timedelta(hours=72)
# The number of random bytes in a link's secret.
RANDOM_BYTES = SECRET_BYTES
# The first administrator of a development installation.
FIRST_ADMIN = NewUser("admin@example.org", "Admin", "en", UserRoles(Role.ADMIN))


@dataclass(frozen=True, slots=True)
class Invitation:
    """`secret` is the last part of the link. It is not stored."""

    user_id: UUID
    secret: str
    expires_at: datetime


async def invite_user(work: UserWork, new: NewUser, randomness: bytes) -> Invitation:
    """Create a user and an invitation link. `randomness` has RANDOM_BYTES bytes. Raises
    InsufficientScope, ValidationError."""
    work.require(Right.PEOPLE)
    faults = [*find_user_faults(new)]
    if faults:
        raise ValidationError(faults)
    await check_roles(work, new.roles)
    user_id = work.ids.new(work.now)
    if not await save_new_user(work.tx, user_id, new, work.now):
        message = "A user with this e-mail address exists already."
        raise ValidationError([Fault("/email", message, "EMAIL_TAKEN")])
    await _lock_local_user(work, user_id)
    await save_user_audit(work, "user.invite", user_id, after=describe_roles(new.roles))
    return await _create_invitation(work, user_id, randomness)


async def reset_user(work: UserWork, user_id: UUID, randomness: bytes) -> Invitation:
    """Delete the user's password, second factors and recovery codes, end all sessions, and create a
    link to set up new ones. Raises InsufficientScope, NotFound, InvalidState."""
    work.require(Right.PEOPLE)
    await _lock_local_user(work, user_id)
    await delete_password(work.tx, user_id)
    await delete_all_factors(work.tx, user_id)
    await delete_pending_sign_ins(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    await save_user_audit(work, "user.reset", user_id, after={"sessionsEnded": ended})
    return await _create_invitation(work, user_id, randomness)


async def invite_first_admin(work: UserWork, randomness: bytes) -> Invitation | None:
    """Invite the first administrator, or replace the earlier link. Return None if a user has joined
    already, or single sign-on is required."""
    work.require(Right.PEOPLE)
    if await has_joined_user(work.tx) or await is_single_sign_on_required(work.tx):
        return None
    known = await find_user(work.tx, FIRST_ADMIN.email)
    if known is None:
        return await invite_user(work, FIRST_ADMIN, randomness)
    return await reset_user(work, known.user_id, randomness)


async def lock_active_user(work: UserWork, user_id: UUID) -> User:
    """Lock the user. Raises NotFound, and InvalidState for a deactivated user."""
    user = await lock_user(work.tx, user_id)
    if user is None:
        raise NotFound("There is no such user.")
    if user.ended_at is not None:
        raise InvalidState(
            LazyText("This user was deactivated. Invite the person again."), state="ENDED"
        )
    return user


async def _lock_local_user(work: UserWork, user_id: UUID) -> None:
    """Lock a user who signs in without single sign-on. Raises what `lock_active_user` raises, and
    InvalidState for other users."""
    user = await lock_active_user(work, user_id)
    if user.provider is not None:
        raise InvalidState(
            LazyText(
                "This user signs in through single sign-on. Give them access there, through "
                "their groups.",
            ),
            state="LINKED",
        )
    if not await may_sign_in_locally(work.tx, user):
        raise InvalidState(
            LazyText(
                "Single sign-on is required here, so users get access through their groups. "
                "Only an administrator with emergency access can be invited by link, with "
                "`dunwell user` on the server.",
            ),
            state="REQUIRED",
        )


async def check_roles(work: UserWork, roles: UserRoles) -> None:
    """Check that the roles can be given and that their merchants exist. Raises ValidationError."""
    faults = [*find_role_faults(roles)]
    known = {each.merchant_id for each in await list_named_merchants(work.tx)}
    if not roles.memberships.keys() <= known:
        faults.append(Fault("/merchants", "Choose existing merchants.", "MERCHANT"))
    if faults:
        raise ValidationError(faults)


def describe_roles(roles: UserRoles) -> dict[str, object]:
    """Return the roles as the audit log records them."""
    memberships = {str(merchant): str(role) for merchant, role in roles.memberships.items()}
    return {"global_role": roles.global_role, "memberships": memberships}


async def _create_invitation(work: UserWork, user_id: UUID, randomness: bytes) -> Invitation:
    secret, expires_at = render_secret(randomness), work.now + INVITATION_LASTS
    invitation_hash = hash_secret(secret)
    assert invitation_hash is not None
    await save_invitation(
        work.tx, invitation_hash, user_id=user_id, now=work.now, expires_at=expires_at
    )
    return Invitation(user_id, secret, expires_at)


async def set_break_glass(work: UserWork, user_id: UUID, *, is_on: bool) -> None:
    """Give the user emergency access (break glass), or withdraw it. Raises InsufficientScope,
    NotFound, InvalidState."""
    work.require(Right.PEOPLE)
    user = await lock_active_user(work, user_id)
    if is_on and user.provider is not None:
        raise InvalidState(
            "This user signs in by single sign-on. Choose an admin who does not, or create one.",
            state="LINKED",
        )
    if is_on and user.roles.global_role is not Role.ADMIN:
        raise InvalidState("Only an admin can have emergency access.", state="NO_ADMIN")
    await save_break_glass(work.tx, user_id, is_on=is_on)
    await save_user_audit(
        work, "user.break_glass", user_id,
        before={"isBreakGlass": user.is_break_glass}, after={"isBreakGlass": is_on},
    )  # fmt: skip


async def change_roles(work: UserWork, user_id: UUID, roles: UserRoles, revision: int) -> None:
    """Change the user's roles, effective from the next request. `revision` is the revision of the
    user that was shown in the form.

    Raises InsufficientScope, NotFound, ValidationError, EditConflict if the user was changed in the
    meantime, InvalidState for the last administrator.
    """
    work.require(Right.PEOPLE)
    if roles.global_role is not Role.ADMIN:
        await _check_another_admin_remains(work, user_id)
    user = await lock_active_user(work, user_id)
    if user.provider is not None:
        raise InvalidState(
            LazyText(
                "This user's permissions come from their groups at each sign-in. Change the "
                "groups.",
            ),
            state="LINKED",
        )
    if user.is_break_glass and roles.global_role is not Role.ADMIN:
        raise InvalidState(
            LazyText(
                "This administrator has emergency access. Remove that first on the server: "
                "dunwell user break-glass EMAIL --off",
            ),
            state="BREAK_GLASS",
        )
    await check_roles(work, roles)
    if not await save_roles(work.tx, user_id, roles, revision):
        raise EditConflict(
            LazyText(
                "Someone else changed this user in the meantime. Check the current data, and "
                "repeat your change if it is still needed.",
            )
        )
    await save_user_audit(
        work, "user.change", user_id,
        before=describe_roles(user.roles), after=describe_roles(roles),
    )  # fmt: skip


async def deactivate_user(work: UserWork, user_id: UUID) -> None:
    """Deactivate the user and end all sessions at once. Audit entries remain.

    Raises InsufficientScope, NotFound, InvalidState for the last administrator or a deactivated
    user.
    """
    work.require(Right.PEOPLE)
    await _check_another_admin_remains(work, user_id)
    await lock_active_user(work, user_id)
    await save_deactivation(work.tx, user_id, work.now)
    await delete_all_factors(work.tx, user_id)
    await delete_pending_sign_ins(work.tx, user_id)
    await delete_invitations(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    await save_user_audit(work, "user.end", user_id, after={"sessionsEnded": ended})


async def sign_out_user(work: UserWork, user_id: UUID) -> int:
    """Sign the user out everywhere, and return how many sessions ended. The user can sign in again,
    but no browser is recognised any more.

    Raises InsufficientScope, NotFound, InvalidState for a deactivated user.
    """
    work.require(Right.PEOPLE)
    await lock_active_user(work, user_id)
    await delete_pending_sign_ins(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    await save_user_audit(work, "session.end_all", user_id, after={"sessionsEnded": ended})
    return ended


async def reset_other_user(work: UserWork, user_id: UUID, randomness: bytes) -> Invitation:
    """Reset another user, as `reset_user` does. Only the command line can reset the last
    administrator.

    Raises InsufficientScope, NotFound, InvalidState for the last administrator or a deactivated
    user.
    """
    work.require(Right.PEOPLE)
    await _check_another_admin_remains(work, user_id)
    return await reset_user(work, user_id, randomness)


async def _check_another_admin_remains(work: UserWork, user_id: UUID) -> None:
    """Check that another administrator remains if this user is one. If this user has joined, one of
    the others must have joined, too.

    All administrators are locked, so that of two who deactivate each other, the second waits and is
    refused. Raises InvalidState.
    """
    admins = {each.user_id: each.has_joined for each in await lock_admins(work.tx)}
    if user_id not in admins:
        return
    has_joined = admins.pop(user_id)
    if not any(other_has_joined or not has_joined for other_has_joined in admins.values()):
        raise InvalidState(
            LazyText(
                "This is the last administrator. Make another active user an administrator first.",
            ),
            state="LAST_ADMIN",
        )
