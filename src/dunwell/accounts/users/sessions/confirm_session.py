"""Confirm that the person in a session is its user, before a sensitive action.

An unattended session or a stolen cookie must not be enough to invite users or to show secrets. The
confirmation is stored in the session and lasts ten minutes. Signing in with a password and a code,
with a passkey, or through an invitation counts as a confirmation. Single sign-on does not, because
the provider may have asked for nothing; `single_sign_on` confirms such a session.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.users.factors.passkeys import render_authentication
from dunwell.accounts.users.factors.store import load_factors, save_challenge
from dunwell.accounts.users.own_account import (
    PasswordConfirmation,
    SignInTooOld,
    confirm_own_password,
)
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.store import save_confirmation
from dunwell.accounts.users.sign_in.limits import (
    count_sign_in_attempt,
    list_signed_in_subjects,
    uncount_sign_in_attempt,
)
from dunwell.accounts.users.sign_in.passkey_sign_in import (
    CHALLENGE_LASTS,
    find_passkey_user,
    get_relying_party,
)
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts, WrongSignIn
from dunwell.accounts.users.store import load_user
from dunwell.accounts.users.user import SignedInUser
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    save_refused_sign_in,
    save_user_audit,
)
from dunwell.platform.security_events import log_security_event

CONFIRMED_FOR = timedelta(minutes=10)
CONFIRM = "CONFIRM"


@dataclass(frozen=True, slots=True)
class ConfirmationWays:
    """How a user can confirm their identity. `provider` is the name of their identity provider."""

    has_password: bool
    has_passkey: bool
    provider: str | None


def is_confirmed(person: SignedInUser, now: datetime) -> bool:
    return person.confirmed_at is not None and now < person.confirmed_at + CONFIRMED_FOR


async def find_confirmation_ways(work: UserWork, person: SignedInUser) -> ConfirmationWays:
    user = await load_user(work.tx, person.user_id)
    assert user is not None, "users are never deleted"
    factors = await load_factors(work.tx, person.user_id)
    return ConfirmationWays(
        user.has_password and user.provider is None,
        any(each.credential_id is not None for each in factors),
        user.provider,
    )


async def confirm_by_password(
    services: SignInServices, confirmation: PasswordConfirmation
) -> WrongSignIn | TooManyAttempts | None:
    """Confirm the session with the user's password. Return None if it is confirmed. Wrong passwords
    count like those of a sign-in."""
    person = confirmation.signed_in
    refusal = await confirm_own_password(services, confirmation)
    if refusal is not None:
        return WrongSignIn() if isinstance(refusal, SignInTooOld) else refusal
    async with services.work(person.actor) as work:
        await record_confirmation(work, person, by="PASSWORD")
    return None


async def start_passkey_confirmation(
    services: SignInServices, person: SignedInUser, challenge: bytes
) -> str:
    """Return the browser's options for the passkey. Raises NotFound if passkeys are unavailable."""
    party = get_relying_party(services)
    async with services.work(person.actor) as work:
        expires_at = work.now + CHALLENGE_LASTS
        await save_challenge(
            work.tx, challenge, purpose=CONFIRM, user_id=person.user_id, expires_at=expires_at
        )
    return render_authentication(party, challenge)


async def confirm_by_passkey(
    services: SignInServices, person: SignedInUser, body: bytes, visitor: Visitor
) -> WrongSignIn | TooManyAttempts | None:
    """Confirm the session with a passkey. Return None if it is confirmed. `body` is the browser's
    passkey response.

    The transaction commits even if the confirmation is refused, so that the challenge is used up
    and the attempt is counted.
    """
    party = get_relying_party(services)
    async with services.work(person.actor) as work:
        subjects = list_signed_in_subjects(work.keys, person.user_id)
        wait = await count_sign_in_attempt(work.tx, subjects, work.now)
        if wait is not None:
            log_security_event("PORTAL_LOCKED")
            return TooManyAttempts(wait)
        user_id = await find_passkey_user(
            work, party, body, purpose=CONFIRM, issued_for=person.user_id
        )
        if user_id != person.user_id:
            await save_refused_sign_in(work, person.user_id, visitor.host)
            log_security_event("PORTAL_SIGN_IN_FAILED")
            return WrongSignIn()
        await uncount_sign_in_attempt(work.tx, subjects)
        await record_confirmation(work, person, by="PASSKEY")
    return None


async def record_confirmation(work: UserWork, person: SignedInUser, by: str) -> None:
    """Record that the user has just confirmed their identity."""
    await save_confirmation(work.tx, person.user_id, person.session_id, work.now)
    await save_user_audit(work, "session.confirm", person.user_id, after={"by": by})
