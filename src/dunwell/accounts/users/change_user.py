"""What an admin changes of others: what they are and where, and whether they are still here.

Somebody must be left who can do so: the last admin is neither ended nor made anything else.
"""

from uuid import UUID

from dunwell.accounts.merchants.rights import Right, Role
from dunwell.accounts.users.audit import save_people_audit
from dunwell.accounts.users.factors.store import remove_all_factors
from dunwell.accounts.users.invite_user import (
    Invitation,
    check_merchants,
    describe_place,
    require_user,
    reset_user,
)
from dunwell.accounts.users.sessions.sessions import end_all_sessions
from dunwell.accounts.users.sign_in.store import remove_entries_of, remove_invitations
from dunwell.accounts.users.store import lock_admins, save_place, save_user_end
from dunwell.accounts.users.user import UserRoles
from dunwell.accounts.users.user_work import UserWork
from dunwell.platform.errors import EditConflict, InvalidState
from dunwell.platform.text.lazy_text import LazyText


async def change_place(work: UserWork, user_id: UUID, place: UserRoles, revision: int) -> None:
    """It counts from their next request on. revision: of the user as it was looked at.

    Raises InsufficientScope, NotFound, ValidationError, InvalidState: it was changed meanwhile, or
    is the last admin.
    """
    work.need(Right.PEOPLE)
    if place.everywhere is not Role.ADMIN:
        await _check_others(work, user_id)
    user = await require_user(work, user_id)
    if user.provider is not None:
        raise InvalidState(
            LazyText(
                "What this user may do comes from their groups at each sign-in. Change the groups.",
            ),
            state="LINKED",
        )
    if user.is_break_glass and place.everywhere is not Role.ADMIN:
        raise InvalidState(
            LazyText(
                "This is a break-glass admin. Take that back first, at the server: "
                "dunwell user break-glass EMAIL --off",
            ),
            state="BREAK_GLASS",
        )
    await check_merchants(work, place)
    if not await save_place(work.tx, user_id, place, revision):
        raise EditConflict(
            LazyText(
                "Somebody else changed this user meanwhile. Look at what is there now, and change "
                "it again if you still want to.",
            )
        )
    await save_people_audit(
        work, "user.change", user_id,
        before=describe_place(user.place), after=describe_place(place),
    )  # fmt: skip


async def end_user(work: UserWork, user_id: UUID) -> None:
    """At once, with all sessions. What the user did stays in the audit log.

    Raises InsufficientScope, NotFound, InvalidState: is the last admin, or was ended.
    """
    work.need(Right.PEOPLE)
    await _check_others(work, user_id)
    await require_user(work, user_id)
    await save_user_end(work.tx, user_id, work.now)
    await remove_all_factors(work.tx, user_id)
    await remove_entries_of(work.tx, user_id)
    await remove_invitations(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    await save_people_audit(work, "user.end", user_id, after={"sessionsEnded": ended})


async def end_sessions(work: UserWork, user_id: UUID) -> int:
    """Sign the user out everywhere, and return how many sessions ended. The user can sign in again;
    their browsers are no longer known.

    Raises InsufficientScope, NotFound, InvalidState: the user was deactivated.
    """
    work.need(Right.PEOPLE)
    await require_user(work, user_id)
    await remove_entries_of(work.tx, user_id)
    ended = await end_all_sessions(work.tx, user_id, work.now)
    await save_people_audit(work, "session.end_all", user_id, after={"sessionsEnded": ended})
    return ended


async def reset_other(work: UserWork, user_id: UUID, randomness: bytes) -> Invitation:
    """As `reset_user`, by one admin for another; at the server the last one can be reset too.

    Raises InsufficientScope, NotFound, InvalidState: is the last admin, or was ended.
    """
    work.need(Right.PEOPLE)
    await _check_others(work, user_id)
    return await reset_user(work, user_id, randomness)


async def _check_others(work: UserWork, user_id: UUID) -> None:
    """That there is an admin beside the user, who has joined if the user has: all of them are
    locked, so that two who end one another take turns. Raises InvalidState."""
    admins = {each.user_id: each.has_joined for each in await lock_admins(work.tx)}
    if user_id not in admins:
        return
    has_joined = admins.pop(user_id)
    if not any(each or not has_joined for each in admins.values()):
        raise InvalidState(
            LazyText(
                "This is the last admin. Make somebody else one first, who has joined.",
            ),
            state="LAST_ADMIN",
        )
