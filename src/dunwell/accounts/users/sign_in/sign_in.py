"""Sign in with a password, and then a code of the authenticator app or a recovery code."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias
from uuid import UUID

from dunwell.accounts.users.factors.recovery_codes import hash_recovery_code
from dunwell.accounts.users.factors.store import find_app, use_recovery_code, use_totp_step
from dunwell.accounts.users.factors.totp import find_step, open_secret
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.session_rules import hash_secret, render_secret
from dunwell.accounts.users.sessions.sessions import (
    TRUSTED_FOR,
    OpenedBy,
    OpenedSession,
    find_known_browser,
    open_session,
)
from dunwell.accounts.users.sign_in.limits import (
    count_sign_in_attempt,
    list_attempt_subjects,
    may_compare_code,
    record_wrong_code,
    uncount_sign_in_attempt,
)
from dunwell.accounts.users.sign_in.local_sign_in import may_sign_in_locally
from dunwell.accounts.users.sign_in.store import (
    find_pending_sign_in,
    save_pending_sign_in,
    use_pending_sign_in,
)
from dunwell.accounts.users.store import find_password, load_user, lock_user, save_rehashed_password
from dunwell.accounts.users.user import User
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    build_visitor_actor,
    save_refused_sign_in,
    save_user_audit,
)
from dunwell.platform.security_events import log_security_event

# How long the second factor can be entered after the password.
PENDING_SIGN_IN_LASTS = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class WrongSignIn:
    """E-mail address, password or code is wrong. Which one is not revealed."""


@dataclass(frozen=True, slots=True)
class TooManyAttempts:
    """Too many attempts were counted. `retry_after` is how many seconds to wait."""

    retry_after: int


@dataclass(frozen=True, slots=True)
class SignInExpired:
    """The sign-in no longer waits for a code: it has expired or was used, or the user must use
    single sign-on."""


@dataclass(frozen=True, slots=True)
class SecondFactorLocked:
    """The password was right, but codes are accepted only in known browsers."""


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in with a right password that waits for the second factor. `secret` is the value of
    its cookie."""

    secret: str


CodeOutcome: TypeAlias = (
    OpenedSession | WrongSignIn | TooManyAttempts | SignInExpired | SecondFactorLocked
)


@dataclass(frozen=True, slots=True)
class SubmittedCode:
    """A submitted second factor. `randomness` has SECRET_BYTES bytes for the session."""

    pending_sign_in_secret: str
    code: str
    visitor: Visitor
    randomness: bytes


async def check_password(
    services: SignInServices, email: str, password: str, visitor: Visitor, randomness: bytes
) -> PendingSignIn | WrongSignIn | TooManyAttempts | SecondFactorLocked:
    """Check the password and, if it is right, start a sign-in that waits for the second factor.
    Neither the result nor its time reveals whether the user exists. `randomness` has SECRET_BYTES
    bytes."""
    keys, now = services.resources.keys, services.now()
    async with services.resources.database.transaction() as tx:
        subjects = await list_attempt_subjects(tx, keys, visitor=visitor, email=email, now=now)
        wait = await count_sign_in_attempt(tx, subjects, now)
        known = await find_password(tx, email)
    if wait is not None:
        log_security_event("PORTAL_LOCKED")
        return TooManyAttempts(wait)
    stored = known.password_hash if known and known.is_live else None
    is_right = await services.passwords.verify(stored, password)
    actor = build_visitor_actor(known.user_id if known else None, visitor.host)
    if is_right and known is not None and stored is not None:
        verified_hash = await _rehash_if_outdated(services, known.user_id, stored, password)
        async with services.work(actor) as work:
            outcome = await _start_pending_sign_in(
                work, known.user_id, verified_hash, visitor=visitor, randomness=randomness
            )
            if isinstance(outcome, PendingSignIn):
                await uncount_sign_in_attempt(work.tx, subjects)
            if outcome is not None:
                return outcome
    async with services.work(actor) as work:
        await save_refused_sign_in(work, known.user_id if known else None, visitor.host)
    log_security_event("PORTAL_SIGN_IN_FAILED")
    return WrongSignIn()


async def check_totp_code(services: SignInServices, submitted: SubmittedCode) -> CodeOutcome:
    """Check a code of the authenticator app, and open a session if it is right."""

    async def use_code(work: UserWork, user_id: UUID) -> bool:
        app = await find_app(work.tx, user_id, is_confirmed=True)
        if app is None:
            return False
        secret = open_secret(work.keys, user_id, app.secret_sealed)
        step = find_step(secret, submitted.code, work.now)
        return step is not None and await use_totp_step(
            work.tx, user_id, factor_id=app.factor_id, step=step, now=work.now
        )

    return await _finish_sign_in(services, submitted, OpenedBy.TOTP, use_code)


async def check_recovery_code(services: SignInServices, submitted: SubmittedCode) -> CodeOutcome:
    """Use up a recovery code, and open a session if it is right."""

    async def use_code(work: UserWork, user_id: UUID) -> bool:
        code_hash = hash_recovery_code(submitted.code)
        if code_hash is None or not await use_recovery_code(work.tx, user_id, code_hash, work.now):
            return False
        await save_user_audit(work, "recovery_code.use", user_id)
        return True

    return await _finish_sign_in(services, submitted, OpenedBy.RECOVERY, use_code)


async def _finish_sign_in(
    services: SignInServices, submitted: SubmittedCode, by: OpenedBy,
    use_code: Callable[[UserWork, UUID], Awaitable[bool]],
) -> CodeOutcome:  # fmt: skip
    """Check the second factor and open a session. The transaction commits even if the sign-in
    is refused, so that the attempt is counted."""
    sign_in_hash = hash_secret(submitted.pending_sign_in_secret)
    if sign_in_hash is None:
        return SignInExpired()
    async with services.work(build_visitor_actor(None, submitted.visitor.host)) as work:
        user_id = await find_pending_sign_in(work.tx, sign_in_hash, work.now)
        user = None if user_id is None else await load_user(work.tx, user_id)
        if user is None or not await may_sign_in_locally(work.tx, user):
            return SignInExpired()
        work = replace(work, actor=build_visitor_actor(user.user_id, submitted.visitor.host))  # noqa: PLW2901
        subjects = await list_attempt_subjects(
            work.tx, work.keys, visitor=submitted.visitor, email=user.email, now=work.now
        )
        wait = await count_sign_in_attempt(work.tx, subjects, work.now)
        if wait is not None:
            log_security_event("PORTAL_LOCKED")
            return TooManyAttempts(wait)
        refusal = await _check_code(
            work,
            user.user_id,
            sign_in_hash=sign_in_hash,
            visitor=submitted.visitor,
            use_code=use_code,
        )
        if refusal is None or isinstance(refusal, SignInExpired):
            await uncount_sign_in_attempt(work.tx, subjects)
        if refusal is not None:
            return refusal
        return await open_session(
            work, user.user_id, by=by, visitor=submitted.visitor, randomness=submitted.randomness
        )


async def _check_code(
    work: UserWork, user_id: UUID, sign_in_hash: bytes, visitor: Visitor,
    use_code: Callable[[UserWork, UUID], Awaitable[bool]],
) -> WrongSignIn | SecondFactorLocked | SignInExpired | None:  # fmt: skip
    """Return None if the code was right and the pending sign-in was used up, else the refusal.

    Requests for one user are serialised from here on. An earlier one may have used the pending
    sign-in (a double click), or recorded the tenth wrong code.
    """
    user = await lock_user(work.tx, user_id)
    if user is None or await find_pending_sign_in(work.tx, sign_in_hash, work.now) is None:
        return SignInExpired()
    browser = await _find_trusted_browser(work, user, visitor)
    if not await may_compare_code(work, user, browser):
        return await _refuse_locked_user(work, user, visitor)
    if await use_code(work, user_id):
        return None if await use_pending_sign_in(work.tx, sign_in_hash) else SignInExpired()
    await save_refused_sign_in(work, user_id, visitor.host)
    log_security_event("PORTAL_SIGN_IN_FAILED")
    await record_wrong_code(work, user, browser)
    return WrongSignIn()


async def _find_trusted_browser(work: UserWork, user: User, visitor: Visitor) -> bytes | None:
    since = work.now - TRUSTED_FOR
    return await find_known_browser(
        work.tx, work.keys, visitor.browser_cookie, user.email, since=since
    )


async def _refuse_locked_user(work: UserWork, user: User, visitor: Visitor) -> SecondFactorLocked:
    """Record the refusal. The attempt stays counted, which limits how many audit entries an
    attacker can add."""
    after = {"reason": "SECOND_FACTOR_LOCKED"}
    await save_refused_sign_in(work, user.user_id, visitor.host, after=after)
    log_security_event("PORTAL_SIGN_IN_FAILED")
    return SecondFactorLocked()


async def _start_pending_sign_in(
    work: UserWork, user_id: UUID, verified_hash: str, *, visitor: Visitor, randomness: bytes
) -> PendingSignIn | SecondFactorLocked | None:
    """Save the pending sign-in. `verified_hash` is the password hash against which the password was
    verified. Return None if the user has another password by now, or must use single sign-on."""
    user = await load_user(work.tx, user_id)
    if user is None or not await may_sign_in_locally(work.tx, user):
        return None
    browser = await _find_trusted_browser(work, user, visitor)
    if not await may_compare_code(work, user, browser):
        return await _refuse_locked_user(work, user, visitor)
    secret = render_secret(randomness)
    sign_in_hash = hash_secret(secret)
    assert sign_in_hash is not None
    expires_at = work.now + PENDING_SIGN_IN_LASTS
    is_saved = await save_pending_sign_in(
        work.tx,
        sign_in_hash,
        user_id=user_id,
        password_hash=verified_hash,
        now=work.now,
        expires_at=expires_at,
    )
    return PendingSignIn(secret) if is_saved else None


async def _rehash_if_outdated(
    services: SignInServices, user_id: UUID, before: str, password: str
) -> str:
    """Return the user's password hash. If its parameters are outdated, compute and save it again:
    the plain password is known only during a sign-in."""
    if not services.passwords.is_outdated(before):
        return before
    after = await services.passwords.hash(password)
    async with services.resources.database.transaction() as tx:
        await save_rehashed_password(tx, user_id, before, after)
    return after
