"""Sends somebody to a provider to sign in: an attempt is a row, found by a cookie of the browser's.

1. Count it: so many from one network wait for their return. 2. Ask the provider where it wants
people sent, without a transaction. 3. Keep the attempt.

What the attempt goes by is derived from the cookie's secret and the secret key, so that neither the
database nor the browser holds it.
"""

import base64
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.session_rules import hash_secret, render_secret
from dunwell.accounts.users.sign_in.limits import (
    MOST_STARTED,
    count_sign_in_attempt,
    list_started_subjects,
)
from dunwell.accounts.users.sign_in.sign_in import TooOften
from dunwell.accounts.users.single_sign_on.provider import AttemptSecrets, Away, IdentityProvider
from dunwell.accounts.users.single_sign_on.store import NewAttempt, save_attempt
from dunwell.accounts.users.user_work import Visitor
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
