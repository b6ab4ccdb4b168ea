"""The port of identity providers. Adapters check each token: issuer, audience, times and the
attempt that it belongs to. `identities` decides which roles the user gets. Pure."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from dunwell.accounts.installation.single_sign_on_settings import IdentityProviderSettings


@dataclass(frozen=True, slots=True)
class AttemptSecrets:
    """`state` returns with the browser, `nonce` in the token. `verifier` (PKCE) is sent only to the
    provider, with the code."""

    state: str
    nonce: str
    verifier: str

    def is_state(self, returned: str) -> bool:
        """Return whether this is the state with which the attempt was started."""
        return hmac.compare_digest(self.state.encode(), returned.encode())


@dataclass(frozen=True, slots=True)
class ProviderUnavailable:
    """The provider does not respond, sends an unusable response, or is not set up."""


class TokenFault(StrEnum):
    """Why the provider's response is rejected."""

    # Signature, issuer, audience, times, nonce, access token, or format.
    TOKEN = "TOKEN"  # noqa: S105 - the word
    # The code is invalid or used, or the provider does not accept the client.
    CODE = "CODE"
    # The response came from another provider than the one that was asked (a mix-up attack).
    ISSUER = "ISSUER"


@dataclass(frozen=True, slots=True)
class TokenRejected:
    fault: TokenFault


@dataclass(frozen=True, slots=True)
class AuthorizationCode:
    """The code with which the browser returned. `issuer` is the issuer that the response names, or
    None."""

    code: str
    issuer: str | None
    secrets: AttemptSecrets
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class IdentityClaims:
    """The checked claims about a user. `subject` is the user's permanent id. `session` is the
    provider's session, named in logout tokens. `acr` and `amr` say how strong the sign-in was."""

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
    # When the provider last authenticated the user. None: it does not say.
    authenticated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LogoutToken:
    """A checked logout token. It ends the sessions here that belong to the provider's session
    `session` or, if `session` is None, all sessions of `subject`. Each `token_id` is processed
    once."""

    issuer: str
    token_id: str
    subject: str | None
    session: str | None
    issued_at: datetime


class IdentityProvider(Protocol):
    @property
    def settings(self) -> IdentityProviderSettings: ...

    async def build_authorization_url(
        self, secrets: AttemptSecrets, redirect_uri: str, now: datetime, *, is_fresh: bool = False
    ) -> str | ProviderUnavailable:
        """Return the URL to which the user is redirected. `is_fresh` says that the provider must
        authenticate the user again."""

    async def redeem(
        self, code: AuthorizationCode, now: datetime
    ) -> IdentityClaims | TokenRejected | ProviderUnavailable:
        """Exchange the code for the user's claims, once."""

    async def parse_logout_token(
        self, token: str, now: datetime
    ) -> LogoutToken | TokenRejected | ProviderUnavailable:
        """Parse and check a logout token. Whether the token was processed before is not checked
        here."""

    async def find_logout_url(self, back_to: str, now: datetime) -> str | None:
        """Return the URL that signs the user out at the provider, which then redirects to the URL
        `back_to`. Return None if the provider has no such URL or is unavailable."""


class IdentityProviders(Protocol):
    """The identity providers of the installation."""

    @property
    def is_required(self) -> bool:
        """True if only admins with emergency access can sign in without a provider."""

    def list_shown(self) -> Sequence[IdentityProviderSettings]:
        """Return the settings of the providers that the sign-in page offers."""

    def find(self, name: str) -> IdentityProvider | None:
        """Return the provider, or None if there is none with this name or it is not set up."""


class NoIdentityProviders:
    """An installation without identity providers."""

    is_required = False

    def list_shown(self) -> Sequence[IdentityProviderSettings]:
        return ()

    def find(self, _name: str) -> IdentityProvider | None:
        return None
