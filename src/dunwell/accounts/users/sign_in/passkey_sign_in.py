"""Sign in with a passkey alone. A passkey counts as two factors because the device verifies its
user.

A challenge is valid for one response, right or wrong. Wrong responses are counted per network,
because they name no user. A passkey cannot be guessed.
"""

from datetime import timedelta
from uuid import UUID

from dunwell.accounts.users.factors.passkeys import (
    PasskeyRefused,
    RelyingParty,
    check_authentication,
    find_relying_party,
    parse_passkey_response,
    render_authentication,
)
from dunwell.accounts.users.factors.store import (
    find_passkey,
    save_challenge,
    save_passkey_count,
    use_challenge,
)
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedBy, OpenedSession, open_session
from dunwell.accounts.users.sign_in.limits import (
    MAX_PASSKEY_REQUESTS,
    count_sign_in_attempt,
    list_passkey_request_subjects,
    list_unknown_browser_subjects,
    uncount_sign_in_attempt,
)
from dunwell.accounts.users.sign_in.local_sign_in import may_sign_in_locally
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts, WrongSignIn
from dunwell.accounts.users.store import load_user
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    build_visitor_actor,
    save_refused_sign_in,
)
from dunwell.platform.errors import NotFound
from dunwell.platform.security_events import log_security_event

# How long a challenge can be answered.
CHALLENGE_LASTS = timedelta(minutes=5)
# The stored purposes of a challenge.
SIGN_IN, REGISTER = "SIGN_IN", "ENROL"


def get_relying_party(services: SignInServices) -> RelyingParty:
    """Return the relying party. Raises NotFound if passkeys are not available on this
    site."""
    party = find_relying_party(services.resources.settings.public_url)
    if party is None:
        raise NotFound("Passkeys are not available on this site. Use an authenticator app.")
    return party


async def start_passkey_sign_in(
    services: SignInServices, visitor: Visitor, challenge: bytes
) -> str | TooManyAttempts:
    """Return the browser's options for a passkey. Raises NotFound if passkeys are unavailable."""
    party = get_relying_party(services)
    async with services.work(build_visitor_actor(None, visitor.host)) as work:
        subjects = list_passkey_request_subjects(work.keys, visitor)
        wait = await count_sign_in_attempt(work.tx, subjects, work.now, MAX_PASSKEY_REQUESTS)
        if wait is not None:
            log_security_event("PORTAL_LOCKED")
            return TooManyAttempts(wait)
        await save_challenge(
            work.tx, challenge, purpose=SIGN_IN, user_id=None, expires_at=work.now + CHALLENGE_LASTS
        )
    return render_authentication(party, challenge)


async def sign_in_with_passkey(
    services: SignInServices, body: bytes, visitor: Visitor, randomness: bytes
) -> OpenedSession | WrongSignIn | TooManyAttempts:
    """Sign in with the browser's passkey response `body`. The transaction commits even if the
    sign-in is refused, so that the attempt is counted. Raises NotFound if passkeys are
    unavailable."""
    party = get_relying_party(services)
    async with services.work(build_visitor_actor(None, visitor.host)) as work:
        subjects = list_unknown_browser_subjects(work.keys, visitor, None)
        wait = await count_sign_in_attempt(work.tx, subjects, work.now)
        if wait is not None:
            log_security_event("PORTAL_LOCKED")
            return TooManyAttempts(wait)
        user_id = await find_passkey_user(work, party, body, purpose=SIGN_IN, issued_for=None)
        if user_id is None:
            await save_refused_sign_in(work, None, visitor.host)
            log_security_event("PORTAL_SIGN_IN_FAILED")
            return WrongSignIn()
        await uncount_sign_in_attempt(work.tx, subjects)
        return await open_session(
            work, user_id, by=OpenedBy.PASSKEY, visitor=visitor, randomness=randomness
        )


async def find_passkey_user(
    work: UserWork, party: RelyingParty, body: bytes, *, purpose: str, issued_for: UUID | None
) -> UUID | None:
    """Return the user whose passkey answered the challenge correctly, else None. The challenge is
    used up in any case. `issued_for` is the user for whom it must have been issued, or None for a
    challenge that names no user."""
    try:
        response = parse_passkey_response(body)
    except PasskeyRefused:
        return None
    challenge = await use_challenge(work.tx, response.challenge, work.now)
    passkey = await find_passkey(work.tx, response.credential_id)
    is_challenge_valid = (
        challenge is not None
        and challenge.is_live
        and (challenge.purpose, challenge.user_id) == (purpose, issued_for)
    )
    if passkey is None or not is_challenge_valid:
        return None
    user = await load_user(work.tx, passkey.user_id)
    if user is None or not await may_sign_in_locally(work.tx, user):
        return None
    try:
        count = check_authentication(
            party, response, response.challenge,
            public_key=passkey.public_key, sign_count=passkey.sign_count,
        )  # fmt: skip
    except PasskeyRefused:
        return None
    is_counter_valid = await save_passkey_count(work.tx, passkey.factor_id, count, work.now)
    return passkey.user_id if is_counter_valid else None
