"""Single sign-on: redirect a user to the identity provider, and open or confirm a session on
return."""

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
    MAX_SIGN_ONS_STARTED,
    MAX_UNMATCHED_RETURNS,
    count_sign_in_attempt,
    list_sign_on_subjects,
    list_unmatched_return_subjects,
    uncount_sign_in_attempt,
)
from dunwell.accounts.users.sign_in.sign_in import TooManyAttempts
from dunwell.accounts.users.single_sign_on.identities import (
    SignOnRefused,
    admit_user,
    is_strong_enough,
)
from dunwell.accounts.users.single_sign_on.provider import (
    AttemptSecrets,
    AuthorizationCode,
    IdentityClaims,
    IdentityProvider,
    ProviderUnavailable,
    TokenFault,
    TokenRejected,
)
from dunwell.accounts.users.single_sign_on.store import (
    NewAttempt,
    SignOnAttempt,
    find_user_by_identity,
    save_attempt,
    use_attempt,
)
from dunwell.accounts.users.user import SignedInUser
from dunwell.accounts.users.user_work import (
    UserWork,
    Visitor,
    build_visitor_actor,
    save_refused_sign_in,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from dunwell.platform.security_events import log_security_event

# The time from the redirect to the return.
ATTEMPT_LASTS = timedelta(minutes=10)
_STATE, _NONCE, _VERIFIER = "sign-in-state", "sign-in-nonce", "sign-in-verifier"


@dataclass(frozen=True, slots=True)
class StartedSignOn:
    """`url` is where to redirect the browser. `secret` is the value of the attempt's cookie."""

    url: str
    secret: str


def build_redirect_uri(resources: Resources, provider: str) -> str:
    """Return the redirect URI of the provider, under the configured public URL and never under the
    host of the request. Each provider has its own."""
    return f"{resources.settings.public_url}/portal/sign-in/with/{provider}/back"


async def start_attempt(
    services: SignInServices, provider: IdentityProvider, next_page: str, *,
    visitor: Visitor, randomness: bytes, confirms_session: UUID | None = None,
) -> StartedSignOn | ProviderUnavailable | TooManyAttempts:  # fmt: skip
    """Start an attempt. `next_page` is the portal page to return to. `randomness` has SECRET_BYTES
    bytes. `confirms_session` is the session that the attempt confirms; with None, the attempt opens
    a new session."""
    resources, now, name = services.resources, services.now(), provider.settings.name
    async with resources.database.transaction() as tx:
        subjects = list_sign_on_subjects(resources.keys, visitor)
        wait = await count_sign_in_attempt(tx, subjects, now, MAX_SIGN_ONS_STARTED)
    if wait is not None:
        log_security_event("PORTAL_LOCKED")
        return TooManyAttempts(wait)
    secret = render_secret(randomness)
    secrets = derive_secrets(resources.keys, secret)
    url = await provider.build_authorization_url(
        secrets, build_redirect_uri(resources, name), now, is_fresh=confirms_session is not None
    )
    if isinstance(url, ProviderUnavailable):
        return url
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
    return StartedSignOn(url, secret)


def derive_secrets(keys: KeyRing, cookie: str) -> AttemptSecrets:
    """Derive state, nonce and verifier from the attempt's cookie. The oldest version of the secret
    key is used, so that a key rotation in between changes nothing."""
    version = min(keys.versions)

    def derive(purpose: str) -> str:
        digest = keys.digest(purpose, cookie.encode(), version)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    return AttemptSecrets(derive(_STATE), derive(_NONCE), derive(_VERIFIER))


# How far the provider's clock may differ.
CLOCK_LEEWAY = timedelta(seconds=60)


class ConfirmationFailure(StrEnum):
    """Why a session was not confirmed. DENIED, REJECTED and AWAY have the meaning of
    SignOnFailure.
    """

    DENIED = "DENIED"
    REJECTED = "REJECTED"
    AWAY = "AWAY"
    # The provider did not authenticate the user again, not strongly enough, or does not say when.
    NOT_FRESH = "NOT_FRESH"
    # Another user authenticated at the provider.
    ANOTHER_USER = "ANOTHER_USER"
    # This browser is no longer in the session that was to be confirmed.
    SESSION_OVER = "SESSION_OVER"


@dataclass(frozen=True, slots=True)
class ConfirmationEnded:
    """The result of confirming a session. `failure` is None if the session is confirmed."""

    failure: ConfirmationFailure | None


async def confirm_by_provider(
    services: SignInServices, provider: IdentityProvider, attempt: SignOnAttempt,
    claims: IdentityClaims,
    *,
    person: SignedInUser | None, visitor: Visitor,
) -> ConfirmationEnded:  # fmt: skip
    """Confirm the session by the provider's checked claims. `person` is the user of the browser's
    session, None if it has ended."""
    if person is None or person.session_id != attempt.confirms_session:
        return ConfirmationEnded(ConfirmationFailure.SESSION_OVER)
    async with services.work(person.actor) as work:
        failure = await _find_failure(work, provider, attempt=attempt, claims=claims, person=person)
        if failure is None:
            await uncount_sign_in_attempt(work.tx, list_sign_on_subjects(work.keys, visitor))
            await record_confirmation(work, person, by="PROVIDER")
        else:
            after = {"provider": provider.settings.name, "reason": str(failure)}
            await save_refused_sign_in(work, person.user_id, visitor.host, after=after)
            log_security_event("PORTAL_SIGN_IN_FAILED")
    return ConfirmationEnded(failure)


async def _find_failure(
    work: UserWork,
    provider: IdentityProvider,
    *,
    attempt: SignOnAttempt,
    claims: IdentityClaims,
    person: SignedInUser,
) -> ConfirmationFailure | None:
    if await find_user_by_identity(work.tx, claims.issuer, claims.subject) != person.user_id:
        return ConfirmationFailure.ANOTHER_USER
    authenticated_at, started_at = claims.authenticated_at, attempt.started_at
    is_fresh = (
        authenticated_at is not None
        and started_at is not None
        and started_at - CLOCK_LEEWAY <= authenticated_at <= work.now + CLOCK_LEEWAY
    )
    if not is_fresh or not is_strong_enough(provider.settings, claims):
        return ConfirmationFailure.NOT_FRESH
    return None


class SignOnFailure(StrEnum):
    """Why the sign-in failed before the user was known."""

    # The browser has no attempt, or it has expired.
    GONE = "GONE"
    # The user or the provider refused.
    DENIED = "DENIED"
    # The provider's response was rejected.
    REJECTED = "REJECTED"
    # The provider is unavailable.
    AWAY = "AWAY"


@dataclass(frozen=True, slots=True)
class ProviderReturn:
    """What a browser sends when it returns from the provider. `secret` is the attempt's cookie. The
    other values come from the URL; they are "" or None if missing. `randomness` has SECRET_BYTES
    bytes for the session."""

    secret: str
    state: str
    code: str
    error: str
    issuer: str | None
    visitor: Visitor
    randomness: bytes
    # The secret of the browser's session, for an attempt that confirms it.
    session: str = ""


@dataclass(frozen=True, slots=True)
class SignOnCompleted:
    opened: OpenedSession
    next_page: str


async def finish_attempt(
    services: SignInServices, provider: IdentityProvider, returned: ProviderReturn
) -> SignOnCompleted | SignOnRefused | SignOnFailure | ConfirmationEnded:
    """Use up the browser's attempt. Open a session for the user whom the provider names, or confirm
    the session for which the attempt was started."""
    resources, name = services.resources, provider.settings.name
    secrets = derive_secrets(resources.keys, returned.secret)
    attempt = await _use_attempt(services, name, returned, secrets)
    if attempt is None:
        return await _refuse_unmatched(services, name, returned)
    claims = await _redeem(services, provider, returned, secrets)
    visitor = returned.visitor
    if attempt.confirms_session is not None:
        if isinstance(claims, SignOnFailure):
            return ConfirmationEnded(ConfirmationFailure(str(claims)))
        async with resources.database.connection() as connection:
            person = await find_session(connection, returned.session, now=services.now())
        return await confirm_by_provider(
            services, provider, attempt=attempt, claims=claims, person=person, visitor=visitor
        )
    if isinstance(claims, SignOnFailure):
        return claims
    async with services.work(build_visitor_actor(None, visitor.host)) as work:
        outcome = await admit_user(
            work, provider.settings, claims=claims, visitor=visitor, randomness=returned.randomness
        )
        if isinstance(outcome, SignOnRefused):
            return outcome
        await uncount_sign_in_attempt(work.tx, list_sign_on_subjects(work.keys, visitor))
        return SignOnCompleted(outcome, attempt.next_page)


async def _redeem(
    services: SignInServices,
    provider: IdentityProvider,
    returned: ProviderReturn,
    secrets: AttemptSecrets,
) -> IdentityClaims | SignOnFailure:
    """Exchange the code for claims. Failures: DENIED, REJECTED or AWAY."""
    resources, name = services.resources, provider.settings.name
    if returned.error or not returned.code:
        return await _refuse(
            services, name, returned=returned, failure=SignOnFailure.DENIED, reason="DENIED"
        )
    code = AuthorizationCode(
        returned.code, returned.issuer, secrets, build_redirect_uri(resources, name)
    )
    claims = await provider.redeem(code, services.now())
    match claims:
        case ProviderUnavailable():
            return SignOnFailure.AWAY
        case TokenRejected(fault):
            return await _refuse(
                services, name, returned=returned, failure=SignOnFailure.REJECTED, reason=fault
            )
    return claims


async def _use_attempt(
    services: SignInServices, provider: str, returned: ProviderReturn, secrets: AttemptSecrets
) -> SignOnAttempt | None:
    """Use up the browser's attempt and return it. Return None if there is none, it has expired, or
    the state is wrong. A wrong state does not use it up."""
    attempt_hash = hash_secret(returned.secret)
    if attempt_hash is None or not secrets.is_state(returned.state):
        return None
    async with services.resources.database.transaction() as tx:
        attempt = await use_attempt(tx, attempt_hash, provider, services.now())
    return attempt if attempt is not None and attempt.is_live else None


async def _refuse_unmatched(
    services: SignInServices, provider: str, returned: ProviderReturn
) -> SignOnFailure:
    """Record a return without an attempt. Such records are rate limited, because anyone can cause
    them."""
    async with services.resources.database.transaction() as tx:
        subjects = list_unmatched_return_subjects(services.resources.keys, returned.visitor)
        wait = await count_sign_in_attempt(tx, subjects, services.now(), MAX_UNMATCHED_RETURNS)
    if wait is not None:
        log_security_event("PORTAL_LOCKED")
        return SignOnFailure.GONE
    return await _refuse(
        services, provider, returned=returned, failure=SignOnFailure.GONE, reason="STATE"
    )


async def _refuse(
    services: SignInServices,
    provider: str,
    returned: ProviderReturn,
    failure: SignOnFailure,
    reason: str,
) -> SignOnFailure:
    host = returned.visitor.host
    async with services.work(build_visitor_actor(None, host)) as work:
        after = {"provider": provider, "reason": str(reason)}
        await save_refused_sign_in(work, None, host, after=after)
    if reason in set(TokenFault) or failure is SignOnFailure.GONE:
        log_security_event("PORTAL_SIGN_IN_FAILED")
    return failure
