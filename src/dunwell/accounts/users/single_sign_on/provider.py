"""The port of providers: what is asked of one that somebody signs in with, and what it tells.

A provider's word is checked by its adapter: whoever made it, for whom, when, and for which attempt.
What it makes of somebody here is decided by `groups`. Pure.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from dunwell.accounts.installation.single_sign_on_settings import IdentityProviderSettings


@dataclass(frozen=True, slots=True)
class AttemptSecrets:
    """`state` comes back with the browser, `nonce` in the token; `verifier` (PKCE) goes to the
    provider alone, with the code."""

    state: str
    nonce: str
    verifier: str

    def is_state(self, given: str) -> bool:
        return hmac.compare_digest(self.state.encode(), given.encode())


@dataclass(frozen=True, slots=True)
class ProviderUnavailable:
    """The provider does not answer, or with nothing that can be used, or is not set up here."""


class TokenFault(StrEnum):
    """Why a provider's word is not taken."""

    # Signature, issuer, audience, times, nonce, access token, or its shape.
    TOKEN = "TOKEN"  # noqa: S105 - the word
    # The code was none, or used; or the provider does not know us.
    CODE = "CODE"
    # The answer came from another provider than was asked (mix-up).
    ISSUER = "ISSUER"


@dataclass(frozen=True, slots=True)
class TokenRejected:
    doubt: TokenFault


@dataclass(frozen=True, slots=True)
class AuthorizationCode:
    """What somebody came back with. `issuer`: whom the answer says it is from; none: nobody."""

    code: str
    issuer: str | None
    secrets: AttemptSecrets
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class IdentityClaims:
    """Who somebody is, by the provider's word. `subject`: who they always are there. `session`: the
    provider's own, by which it tells of their going. `acr`, `amr`: how strongly they signed in."""

    issuer: str
    subject: str
    email: str
    name: str
    locale: str
    groups: frozenset[str]
    session: str | None
    acr: str | None
    amr: frozenset[str]
    issued_at: datetime
    # When the provider last asked its user to prove who they are; None: it does not say.
    authenticated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogoutToken:
    """Who went: in one session of the provider's, or, without, in all. `token_id` comes once."""

    issuer: str
    token_id: str
    subject: str | None
    session: str | None
    issued_at: datetime


class IdentityProvider(Protocol):
    @property
    def provider(self) -> IdentityProviderSettings: ...

    async def build_address(
        self, secrets: AttemptSecrets, redirect_uri: str, now: datetime, *, is_fresh: bool = False
    ) -> str | ProviderUnavailable:
        """Where somebody is sent to sign in. is_fresh: the provider is to ask them again, although
        they are signed in there."""

    async def redeem(
        self, code: AuthorizationCode, now: datetime
    ) -> IdentityClaims | TokenRejected | ProviderUnavailable:
        """Ask the provider once who it is."""

    async def read_logout(
        self, token: str, now: datetime
    ) -> LogoutToken | TokenRejected | ProviderUnavailable:
        """What a logout token tells; whether it came before is not looked at."""

    async def find_leaving_address(self, back_to: str, now: datetime) -> str | None:
        """Where somebody is sent to sign out there too; none: nowhere."""


class IdentityProviders(Protocol):
    """Those that people can choose among."""

    @property
    def is_required(self) -> bool:
        """Whether break-glass admins alone sign in without one."""

    def list_shown(self) -> Sequence[IdentityProviderSettings]: ...

    def find(self, name: str) -> IdentityProvider | None:
        """None: there is none of this name, or it is not set up here."""


class NoIdentityProviders:
    """Where nobody named one."""

    is_required = False

    def list_shown(self) -> Sequence[IdentityProviderSettings]:
        return ()

    def find(self, _name: str) -> IdentityProvider | None:
        return None
