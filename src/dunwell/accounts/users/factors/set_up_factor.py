"""Set up another second factor for a signed-in user: an authenticator app, which replaces the
previous one after its first code, or another passkey.

The user must notice if someone adds a factor in a stolen session. Therefore all other sessions of
the user end, and the user gets an e-mail.
"""

from datetime import timedelta
from uuid import UUID

from dunwell.accounts.users.accept_invitation import register_passkey
from dunwell.accounts.users.factors.passkeys import render_registration
from dunwell.accounts.users.factors.store import (
    AuthenticatorApp,
    find_app,
    load_factors,
    save_challenge,
    save_confirmed_app,
    save_unconfirmed_app,
)
from dunwell.accounts.users.factors.totp import find_step, open_secret, seal_secret
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import end_all_sessions
from dunwell.accounts.users.sign_in.passkey_sign_in import (
    CHALLENGE_LASTS,
    REGISTER,
    get_relying_party,
)
from dunwell.accounts.users.sign_in.store import delete_pending_sign_ins
from dunwell.accounts.users.store import load_user, lock_user
from dunwell.accounts.users.user import SignedInUser
from dunwell.accounts.users.user_mails import UserMail, plan_user_mail
from dunwell.accounts.users.user_work import UserWork, save_user_audit
from dunwell.platform.text.texts import check_printable

MAX_NAME_LENGTH = 60
# The time between the password confirmation and the app's first code.
SETUP_LASTS = timedelta(minutes=10)
MAX_PASSKEYS = 10


async def start_app_setup(work: UserWork, user_id: UUID, randomness: bytes) -> None:
    """Start the setup of an app, and drop an earlier unfinished setup. `randomness` has
    totp.SECRET_BYTES bytes."""
    sealed = seal_secret(work.keys, user_id, randomness)
    await save_unconfirmed_app(
        work.tx, user_id, factor_id=work.ids.new(work.now), secret_sealed=sealed, now=work.now
    )


async def find_new_app_secret(work: UserWork, user_id: UUID) -> str | None:
    """Return the secret for the app in base32. Return None if no setup was started or it has
    expired."""
    app = await _find_app_in_setup(work, user_id)
    return None if app is None else open_secret(work.keys, user_id, app.secret_sealed)


async def finish_app_setup(work: UserWork, person: SignedInUser, code: str) -> bool:
    """Finish the setup with the app's first code. Return False if the code is wrong, or no setup
    was started, or it has expired."""
    user_id = person.user_id
    await lock_user(work.tx, user_id)
    app = await _find_app_in_setup(work, user_id)
    if app is None:
        return False
    step = find_step(open_secret(work.keys, user_id, app.secret_sealed), code, work.now)
    if step is None:
        return False
    await save_confirmed_app(work.tx, user_id, factor_id=app.factor_id, step=step, now=work.now)
    await _record_new_factor(work, person, "TOTP", UserMail.APP_ADDED)
    return True


async def start_passkey_setup(
    services: SignInServices, work: UserWork, person: SignedInUser, challenge: bytes
) -> str:
    """Return the browser's options for creating a passkey. Raises NotFound if passkeys are
    unavailable."""
    party = get_relying_party(services)
    factors = await load_factors(work.tx, person.user_id)
    expires_at = work.now + CHALLENGE_LASTS
    await save_challenge(
        work.tx, challenge, purpose=REGISTER, user_id=person.user_id, expires_at=expires_at
    )
    known = [each.credential_id for each in factors if each.credential_id is not None]
    return render_registration(
        party, person.user_id, person.email, person.name, challenge=challenge, known=known
    )


async def add_passkey(
    services: SignInServices, work: UserWork, person: SignedInUser, body: bytes, name: str
) -> bool:
    """Add a passkey. `body` is the browser's response. Return False if the response is wrong, the
    passkey is already registered, or the user has MAX_PASSKEYS already. Raises NotFound if passkeys
    are unavailable, and ValidationError for a name with control characters."""
    check_printable(name, "name")
    await lock_user(work.tx, person.user_id)
    passkeys = [each for each in await load_factors(work.tx, person.user_id) if each.credential_id]
    if len(passkeys) >= MAX_PASSKEYS:
        return False
    name = name.strip()[:MAX_NAME_LENGTH]
    if not await register_passkey(services, work, person.user_id, body, name=name):
        return False
    await _record_new_factor(work, person, "PASSKEY", UserMail.PASSKEY_ADDED)
    return True


async def _record_new_factor(
    work: UserWork, person: SignedInUser, factor: str, mail: UserMail
) -> None:
    """Record the new factor, end all other sessions and pending sign-ins, forget the browsers of
    those sessions, and plan the e-mail."""
    await delete_pending_sign_ins(work.tx, person.user_id)
    ended = await end_all_sessions(
        work.tx, person.user_id, work.now, except_session=person.session_id
    )
    after = {"factor": factor, "sessionsEnded": ended}
    await save_user_audit(work, "factor.add", person.user_id, after=after)
    user = await load_user(work.tx, person.user_id)
    assert user is not None, "users are never deleted"
    await plan_user_mail(work, user, mail)


async def _find_app_in_setup(work: UserWork, user_id: UUID) -> AuthenticatorApp | None:
    app = await find_app(work.tx, user_id, is_confirmed=False)
    return app if app is not None and work.now < app.created_at + SETUP_LASTS else None
