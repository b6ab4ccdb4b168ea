"""What users see and change in their own account without a permission: profile, sessions, second
factors and password."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.users.factors.store import (
    SecondFactor,
    count_unused_codes,
    delete_factor,
    load_factors,
)
from dunwell.accounts.users.passwords import PasswordFault, SignInServices
from dunwell.accounts.users.sessions.session_rules import is_just_opened
from dunwell.accounts.users.sessions.sessions import (
    OpenedBy,
    OpenedSession,
    ShownSession,
    end_all_sessions,
    end_session,
    list_sessions,
    open_session,
)
from dunwell.accounts.users.sessions.store import (
    SessionRow,
    find_session_opening,
    forget_browsers,
    list_sign_ins_from_new_networks,
)
from dunwell.accounts.users.sign_in.limits import (
    count_sign_in_attempt,
    list_signed_in_subjects,
    uncount_sign_in_attempt,
)
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts, WrongSignIn
from dunwell.accounts.users.sign_in.store import delete_pending_sign_ins
from dunwell.accounts.users.store import (
    load_password,
    load_user,
    lock_user,
    save_password,
    save_profile,
)
from dunwell.accounts.users.user import NewUser, SignedInUser, User, find_user_faults
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    save_refused_sign_in,
    save_user_audit,
)
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.security_events import log_security_event
from dunwell.platform.text.translation import LazyText


@dataclass(frozen=True, slots=True)
class UserAccount:
    """`codes_left` is the number of unused recovery codes. `new_network_sign_ins` are the latest
    sign-ins from new networks."""

    user: User
    sessions: Sequence[ShownSession]
    new_network_sign_ins: Sequence[SessionRow]
    factors: Sequence[SecondFactor]
    codes_left: int


@dataclass(frozen=True, slots=True)
class PasswordConfirmation:
    """A request to change how the user signs in, confirmed with the password."""

    signed_in: SignedInUser
    password: str
    visitor: Visitor


@dataclass(frozen=True, slots=True)
class SignInTooOld:
    """The user has no password to confirm, and opened the session with a passkey or an invitation
    link too long ago, or through single sign-on."""


async def load_account(work: UserWork, signed_in: SignedInUser) -> UserAccount:
    user = await load_user(work.tx, signed_in.user_id)
    assert user is not None, "users are never deleted"
    return UserAccount(
        user,
        await list_sessions(work.tx, signed_in, work.now),
        new_network_sign_ins=await list_sign_ins_from_new_networks(work.tx, signed_in.user_id),
        factors=await load_factors(work.tx, signed_in.user_id),
        codes_left=await count_unused_codes(work.tx, signed_in.user_id),
    )


async def confirm_own_password(
    services: SignInServices, confirmation: PasswordConfirmation
) -> WrongSignIn | TooManyAttempts | SignInTooOld | None:
    """Check the password. Return None if it is right, or if the user has no password and has just
    opened the session with a passkey or an invitation link."""
    person, now = confirmation.signed_in, services.now()
    async with services.resources.database.transaction() as tx:
        stored = await load_password(tx, person.user_id)
        if stored is None:
            opening = await find_session_opening(tx, person.user_id, person.session_id)
            if opening and is_just_opened(opening.opened_by, opening.opened_at, now):
                return None
            return SignInTooOld()
        subjects = list_signed_in_subjects(services.resources.keys, person.user_id)
        wait = await count_sign_in_attempt(tx, subjects, now)
    if wait is not None:
        log_security_event("PORTAL_LOCKED")
        return TooManyAttempts(wait)
    if not await services.passwords.verify(stored, confirmation.password):
        async with services.work(person.actor) as work:
            await save_refused_sign_in(work, person.user_id, confirmation.visitor.host)
        log_security_event("PORTAL_SIGN_IN_FAILED")
        return WrongSignIn()
    async with services.resources.database.transaction() as tx:
        await uncount_sign_in_attempt(tx, subjects)
    return None


async def change_profile(work: UserWork, signed_in: SignedInUser, name: str, language: str) -> None:
    """Change name and language. Raises ValidationError."""
    user = await load_user(work.tx, signed_in.user_id)
    assert user is not None, "users are never deleted"
    changed = NewUser(user.email, name, "de" if language == "de" else "en", user.roles)
    faults = [*find_user_faults(changed)]
    if language not in ("en", "de"):
        faults.append(Fault("/language", "Choose English or German.", "LANGUAGE"))
    if faults:
        raise ValidationError(faults)
    await save_profile(work.tx, user.user_id, name, language)
    await save_user_audit(work, "user.change_profile", user.user_id)


async def end_own_session(work: UserWork, signed_in: SignedInUser, session_id: UUID) -> None:
    """End one of the user's own sessions. Raises NotFound, also for another user's session."""
    if not await end_session(work.tx, signed_in, session_id, work.now):
        raise NotFound("This session has already ended.")
    # Forget the session's browser, too.
    await forget_browsers(work.tx, signed_in.user_id, session_id)
    after = {"session": str(session_id)}
    await save_user_audit(work, "session.end", signed_in.user_id, after=after)


async def remove_own_factor(work: UserWork, signed_in: SignedInUser, factor_id: UUID) -> None:
    """Delete a second factor. Raises NotFound, and InvalidState if the user could not sign in
    without it."""
    user = await lock_user(work.tx, signed_in.user_id)
    assert user is not None, "users are never deleted"
    factors = [each for each in await load_factors(work.tx, user.user_id) if each.confirmed_at]
    others = [each for each in factors if each.factor_id != factor_id]
    if len(others) == len(factors):
        raise NotFound("There is no such second factor.")
    if not can_sign_in(others, has_password=user.has_password):
        raise InvalidState(
            LazyText(
                "Without it you could no longer sign in. Set up another one first.",
            ),
            state="LAST",
        )
    kind = await delete_factor(work.tx, user.user_id, factor_id)
    await save_user_audit(work, "factor.remove", user.user_id, before={"factor": kind})


def can_sign_in(factors: Sequence[SecondFactor], *, has_password: bool) -> bool:
    """Return whether these factors suffice. A passkey does; an authenticator app needs
    a password.
    """
    kinds = {each.kind for each in factors if each.confirmed_at}
    return "PASSKEY" in kinds or ("TOTP" in kinds and has_password)


async def find_new_password_fault(
    services: SignInServices, person: SignedInUser, new: str
) -> PasswordFault | None:
    return await services.passwords.find_fault(new, name=person.name, email=person.email)


async def change_password(
    services: SignInServices, confirmation: PasswordConfirmation, new: str, randomness: bytes
) -> OpenedSession | WrongSignIn | TooManyAttempts | SignInTooOld | PasswordFault:
    """Set a new password, end all sessions and open a new one. `randomness` has SECRET_BYTES bytes
    for the session."""
    person = confirmation.signed_in
    refusal = await confirm_own_password(services, confirmation)
    if refusal is not None:
        return refusal
    fault = await find_new_password_fault(services, person, new)
    if fault is not None:
        return fault
    password_hash = await services.passwords.hash(new)
    async with services.work(person.actor) as work:
        await lock_user(work.tx, person.user_id)
        await save_password(work.tx, person.user_id, password_hash, work.now)
        await delete_pending_sign_ins(work.tx, person.user_id)
        ended = await end_all_sessions(work.tx, person.user_id, work.now)
        after = {"sessionsEnded": ended}
        await save_user_audit(work, "password.change", person.user_id, after=after)
        return await open_session(
            work,
            person.user_id,
            by=OpenedBy.PASSWORD,
            visitor=confirmation.visitor,
            randomness=randomness,
        )
