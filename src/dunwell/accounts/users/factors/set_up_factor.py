"""Sets up another second factor for somebody who is signed in: an authenticator app, which takes
the place of the one before once its first code has come, or one more passkey.

A factor that someone else added from a stolen session must not go unnoticed: all other sessions of
the user end, and the user is told by e-mail.
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
from dunwell.accounts.users.sign_in.store import delete_pending_sign_ins_of
from dunwell.accounts.users.store import load_user, lock_user
from dunwell.accounts.users.user import SignedInUser
from dunwell.accounts.users.user_mails import UserMail, plan_user_mail
from dunwell.accounts.users.user_work import UserWork, save_user_audit
from dunwell.platform.text.texts import check_printable

MAX_NAME_LENGTH = 60
# From the password said once more to the app's first code.
SETUP_LASTS = timedelta(minutes=10)
MAX_PASSKEYS = 10


async def start_app_setup(work: UserWork, user_id: UUID, randomness: bytes) -> None:
    """randomness: totp.SECRET_BYTES. Another one that waits for its first code is dropped."""
    sealed = seal_secret(work.keys, user_id, randomness)
    await save_unconfirmed_app(
        work.tx, user_id, factor_id=work.ids.new(work.now), secret_sealed=sealed, now=work.now
    )


async def find_new_app_secret(work: UserWork, user_id: UUID) -> str | None:
    """The secret that the app is to be given, in base32; None: none was started, or
    too long ago."""
    app = await _find_app_in_setup(work, user_id)
    return None if app is None else open_secret(work.keys, user_id, app.secret_sealed)


async def finish_app_setup(work: UserWork, person: SignedInUser, code: str) -> bool:
    """False: it is not the code that the app shows now; or none was started, or too long ago."""
    user_id = person.user_id
    await lock_user(work.tx, user_id)
    app = await _find_app_in_setup(work, user_id)
    if app is None:
        return False
    step = find_step(open_secret(work.keys, user_id, app.secret_sealed), code, work.now)
    if step is None:
        return False
    await save_confirmed_app(work.tx, user_id, factor_id=app.factor_id, step=step, now=work.now)
    await _sign_out_elsewhere(work, person, "TOTP", UserMail.APP_ADDED)
    return True


async def start_passkey_setup(
    services: SignInServices, work: UserWork, person: SignedInUser, challenge: bytes
) -> str:
    """What a browser is to make. Raises NotFound where there are no passkeys."""
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
    """False: it is no right answer to what was asked, or there are as many as there may be. Raises
    ValidationError for a name with control characters."""
    check_printable(name, "name")
    await lock_user(work.tx, person.user_id)
    passkeys = [each for each in await load_factors(work.tx, person.user_id) if each.credential_id]
    if len(passkeys) >= MAX_PASSKEYS:
        return False
    name = name.strip()[:MAX_NAME_LENGTH]
    if not await register_passkey(services, work, person.user_id, body, name=name):
        return False
    await _sign_out_elsewhere(work, person, "PASSKEY", UserMail.PASSKEY_ADDED)
    return True


async def _sign_out_elsewhere(
    work: UserWork, person: SignedInUser, factor: str, mail: UserMail
) -> None:
    """Also sign-ins that wait for their second factor end, and known browsers are forgotten."""
    await delete_pending_sign_ins_of(work.tx, person.user_id)
    ended = await end_all_sessions(work.tx, person.user_id, work.now, but=person.session_id)
    after = {"factor": factor, "sessionsEnded": ended}
    await save_user_audit(work, "factor.add", person.user_id, after=after)
    user = await load_user(work.tx, person.user_id)
    assert user is not None, "users are never deleted"
    await plan_user_mail(work, user, mail)


async def _find_app_in_setup(work: UserWork, user_id: UUID) -> AuthenticatorApp | None:
    app = await find_app(work.tx, user_id, is_confirmed=False)
    return app if app is not None and work.now < app.created_at + SETUP_LASTS else None
