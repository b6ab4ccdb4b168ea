"""Single sign-on: redirect a user to an identity provider, and handle the return: open or confirm a
session.
"""

import base64
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.confirm_session import record_confirmation
from dunwell.accounts.users.sessions.session_rules import hash_secret, render_secret
from dunwell.accounts.users.sessions.sessions import OpenedSession, find_session
from dunwell.accounts.users.sign_in.limits import (
    MOST_LOST,
    MOST_STARTED,
    count_sign_in_attempt,
    list_lost_subjects,
    list_started_subjects,
    uncount_sign_in_attempt,
)
from dunwell.accounts.users.sign_in.sign_in import TooOften
from dunwell.accounts.users.single_sign_on.identities import Unwelcome, admit_user, is_strong_enough
from dunwell.accounts.users.single_sign_on.provider import (
    AttemptSecrets,
    Away,
    Code,
    Doubt,
    IdentityClaims,
    IdentityProvider,
    NotTaken,
)
from dunwell.accounts.users.single_sign_on.store import (
    NewAttempt,
    SignOnAttempt,
    find_identified,
    save_attempt,
    use_attempt,
)
from dunwell.accounts.users.user import SignedIn
from dunwell.accounts.users.user_work import UserWork, Visitor, save_refused_sign_in, visiting
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from dunwell.platform.security_events import log_security_event

# From leaving to coming back.
ATTEMPT_LASTS = timedelta(minutes=10)
_STATE, _NONCE, _VERIFIER = "sign-in-state", "sign-in-nonce", "sign-in-verifier"


@dataclass(frozen=True, slots=True)
class StartedSignOn:
    """`address`: at the provider. `secret`: the value of the attempt's cookie."""

    address: str
    secret: str


def build_return_address(resources: Resources, provider: str) -> str:
    """Where the provider sends people back: by the public address alone, whatever the request said
    of itself. One for each provider."""
    return f"{resources.settings.public_url}/portal/sign-in/with/{provider}/back"


async def start_attempt(
    reception: SignInServices, provider: IdentityProvider, next_page: str, *,
    visitor: Visitor, randomness: bytes, confirms_session: UUID | None = None,
) -> StartedSignOn | Away | TooOften:  # fmt: skip
    """next_page: of ours, to come back to. randomness: SECRET_BYTES. confirms_session: the session
    that a fresh sign-in there is to confirm; None: it is to open one."""
    resources, now, name = reception.resources, reception.now(), provider.provider.name
    async with resources.database.transaction() as tx:
        subjects = list_started_subjects(resources.keys, visitor)
        wait = await count_sign_in_attempt(tx, subjects, now, MOST_STARTED)
    if wait is not None:
        log_security_event("PORTAL_LOCKED")
        return TooOften(wait)
    secret = render_secret(randomness)
    secrets = derive_secrets(resources.keys, secret)
    address = await provider.build_address(
        secrets, build_return_address(resources, name), now, is_fresh=confirms_session is not None
    )
    if isinstance(address, Away):
        return address
    async with resources.database.transaction() as tx:
        attempt_hash = hash_secret(secret)
        assert attempt_hash is not None
        attempt = NewAttempt(
            attempt_hash,
            name,
            next_page,
            expires_at=now + ATTEMPT_LASTS,
            started_at=now,
            confirms_session=confirms_session,
        )
        await save_attempt(tx, attempt)
    return StartedSignOn(address, secret)


def derive_secrets(keys: KeyRing, cookie: str) -> AttemptSecrets:
    """cookie: the attempt's secret. By the oldest version of the key: one that comes into use
    meanwhile spoils nothing."""
    version = min(keys.versions)

    def derive(purpose: str) -> str:
        digest = keys.digest(purpose, cookie.encode(), version)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    return AttemptSecrets(derive(_STATE), derive(_NONCE), derive(_VERIFIER))


# By how much the provider's clock may be behind ours.
CLOCK_LEEWAY = timedelta(seconds=60)


class ConfirmationFailure(StrEnum):
    """Why a session was not confirmed. DENIED, DOUBTED and AWAY as of a sign-in."""

    DENIED = "DENIED"
    DOUBTED = "DOUBTED"
    AWAY = "AWAY"
    # The provider did not ask its user again, or does not say when it did.
    NOT_FRESH = "NOT_FRESH"
    # Somebody else signed in there.
    ANOTHER_USER = "ANOTHER_USER"
    # This browser is no longer in the session that was to be confirmed.
    SESSION_OVER = "SESSION_OVER"


@dataclass(frozen=True, slots=True)
class ConfirmationEnded:
    """failure: None if the session is confirmed."""

    failure: ConfirmationFailure | None


async def confirm_by_provider(
    reception: SignInServices, provider: IdentityProvider, attempt: SignOnAttempt,
    told: IdentityClaims,
    *,
    person: SignedIn | None, visitor: Visitor,
) -> ConfirmationEnded:  # fmt: skip
    """person: whose session the browser is in. told: what the provider's checked token says."""
    if person is None or person.session_id != attempt.confirms_session:
        return ConfirmationEnded(ConfirmationFailure.SESSION_OVER)
    async with reception.work(person.actor) as work:
        failure = await _find_failure(work, provider, attempt=attempt, told=told, person=person)
        if failure is None:
            await uncount_sign_in_attempt(work.tx, list_started_subjects(work.keys, visitor))
            await record_confirmation(work, person, by="PROVIDER")
        else:
            after = {"provider": provider.provider.name, "reason": str(failure)}
            await save_refused_sign_in(work, person.user_id, visitor.host, after=after)
            log_security_event("PORTAL_SIGN_IN_FAILED")
    return ConfirmationEnded(failure)


async def _find_failure(
    work: UserWork,
    provider: IdentityProvider,
    *,
    attempt: SignOnAttempt,
    told: IdentityClaims,
    person: SignedIn,
) -> ConfirmationFailure | None:
    if await find_identified(work.tx, told.issuer, told.subject) != person.user_id:
        return ConfirmationFailure.ANOTHER_USER
    at, started_at = told.authenticated_at, attempt.started_at
    is_fresh = (
        at is not None
        and started_at is not None
        and started_at - CLOCK_LEEWAY <= at <= work.now + CLOCK_LEEWAY
    )
    if not is_fresh or not is_strong_enough(provider.provider, told):
        return ConfirmationFailure.NOT_FRESH
    return None


class SignOnFailure(StrEnum):
    """Why nobody is signed in, where it is not yet known who it is."""

    # No attempt of this browser's, or one too long ago.
    GONE = "GONE"
    # They said no at the provider, or it did.
    DENIED = "DENIED"
    # The provider's word was not taken.
    DOUBTED = "DOUBTED"
    AWAY = "AWAY"


@dataclass(frozen=True, slots=True)
class Returned:
    """What a browser brings back. `secret`: of its cookie; the rest is the address's, "" or none
    where it was not there. randomness: SECRET_BYTES, for the session."""

    secret: str
    state: str
    code: str
    error: str
    issuer: str | None
    visitor: Visitor
    randomness: bytes
    # The secret of the session that the browser is in, for an attempt that confirms it.
    session: str = ""


@dataclass(frozen=True, slots=True)
class CameIn:
    opened: OpenedSession
    next_page: str


async def finish_attempt(
    reception: SignInServices, provider: IdentityProvider, returned: Returned
) -> CameIn | Unwelcome | SignOnFailure | ConfirmationEnded:
    resources, name = reception.resources, provider.provider.name
    secrets = derive_secrets(resources.keys, returned.secret)
    attempt = await _take(reception, name, returned, secrets)
    if attempt is None:
        return await _refuse_lost(reception, name, returned)
    told = await _redeem(reception, provider, returned, secrets)
    visitor = returned.visitor
    if attempt.confirms_session is not None:
        if isinstance(told, SignOnFailure):
            return ConfirmationEnded(ConfirmationFailure(str(told)))
        async with resources.database.connection() as connection:
            person = await find_session(connection, returned.session, now=reception.now())
        return await confirm_by_provider(
            reception, provider, attempt=attempt, told=told, person=person, visitor=visitor
        )
    if isinstance(told, SignOnFailure):
        return told
    async with reception.work(visiting(None, visitor.host)) as work:
        outcome = await admit_user(
            work, provider.provider, told=told, visitor=visitor, randomness=returned.randomness
        )
        if isinstance(outcome, Unwelcome):
            return outcome
        await uncount_sign_in_attempt(work.tx, list_started_subjects(work.keys, visitor))
        return CameIn(outcome, attempt.next_page)


async def _redeem(
    reception: SignInServices,
    provider: IdentityProvider,
    returned: Returned,
    secrets: AttemptSecrets,
) -> IdentityClaims | SignOnFailure:
    """Ask the provider who it is. Failure: DENIED, DOUBTED or AWAY."""
    resources, name = reception.resources, provider.provider.name
    if returned.error or not returned.code:
        return await _refuse(
            reception, name, returned=returned, failure=SignOnFailure.DENIED, reason="DENIED"
        )
    code = Code(returned.code, returned.issuer, secrets, build_return_address(resources, name))
    told = await provider.redeem(code, reception.now())
    match told:
        case Away():
            return SignOnFailure.AWAY
        case NotTaken(doubt):
            return await _refuse(
                reception, name, returned=returned, failure=SignOnFailure.DOUBTED, reason=doubt
            )
    return told


async def _take(
    reception: SignInServices, provider: str, returned: Returned, secrets: AttemptSecrets
) -> SignOnAttempt | None:
    """A state of somebody else's uses nothing up."""
    attempt_hash = hash_secret(returned.secret)
    if attempt_hash is None or not secrets.is_state(returned.state):
        return None
    async with reception.resources.database.transaction() as tx:
        attempt = await use_attempt(tx, attempt_hash, provider, reception.now())
    return attempt if attempt is not None and attempt.is_live else None


async def _refuse_lost(
    reception: SignInServices, provider: str, returned: Returned
) -> SignOnFailure:
    """No attempt stands behind it, so what it leaves in the audit log is counted."""
    async with reception.resources.database.transaction() as tx:
        subjects = list_lost_subjects(reception.resources.keys, returned.visitor)
        wait = await count_sign_in_attempt(tx, subjects, reception.now(), MOST_LOST)
    if wait is not None:
        log_security_event("PORTAL_LOCKED")
        return SignOnFailure.GONE
    return await _refuse(
        reception, provider, returned=returned, failure=SignOnFailure.GONE, reason="STATE"
    )


async def _refuse(
    reception: SignInServices,
    provider: str,
    returned: Returned,
    failure: SignOnFailure,
    reason: str,
) -> SignOnFailure:
    host = returned.visitor.host
    async with reception.work(visiting(None, host)) as work:
        after = {"provider": provider, "reason": str(reason)}
        await save_refused_sign_in(work, None, host, after=after)
    if reason in set(Doubt) or failure is SignOnFailure.GONE:
        log_security_event("PORTAL_SIGN_IN_FAILED")
    return failure
