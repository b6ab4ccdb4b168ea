"""Single sign-on for tests: an installation file that names a scripted provider, and a user who
signs in with it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.single_sign_on_settings import (
    GroupRule,
    IdentityProviderSettings,
    SignInSettings,
)
from dunwell.accounts.users.passwords import SignInServices
from dunwell.accounts.users.sessions.sessions import OpenedSession
from dunwell.accounts.users.single_sign_on.identities import SignOnRefused
from dunwell.accounts.users.single_sign_on.sign_on import (
    ConfirmationEnded,
    ProviderReturn,
    SignOnCompleted,
    SignOnFailure,
    StartedSignOn,
    finish_attempt,
    start_attempt,
)
from dunwell.accounts.users.user_work import Visitor
from dunwell.adapters.oidc.provider import OidcProvider
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.scripted_identity_provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    ScriptedIdentityProvider,
    a_scripted_identity_provider,
)
from tests.support.users import HOME, randomness

ADMINS = GroupRule(group="dunwell-admins", role="ADMIN")
AUDITORS = GroupRule(group="dunwell-auditors", role="AUDITOR")
SECRETS = {"signIn/oidc/kontor/clientSecretFile": CLIENT_SECRET.encode()}


def a_provider(issuer: str, **more: Any) -> IdentityProviderSettings:
    values = {"name": "kontor", "title": "Kontor Login", "networks": ("127.0.0.1",), **more}
    return IdentityProviderSettings(
        issuer=issuer, client_id=CLIENT_ID, client_secret_file="secrets/oidc", **values
    )


async def apply_sign_in(resources: Resources, sign_in: SignInSettings) -> None:
    await apply_installation(resources, Installation(sign_in=sign_in), SECRETS)


@dataclass
class SingleSignOnHarness:
    """Dunwell with one identity provider."""

    services: SignInServices
    scripted: ScriptedIdentityProvider
    adapter: OidcProvider
    sign_in: SignInSettings

    @property
    def resources(self) -> Resources:
        return self.services.resources

    @property
    def clock(self) -> MovableClock:
        clock = self.resources.clock
        assert isinstance(clock, MovableClock)
        return clock

    async def change(self, **changed: Any) -> None:
        """Change signIn in the installation file."""
        self.sign_in = msgspec.structs.replace(self.sign_in, **changed)
        await apply_sign_in(self.resources, self.sign_in)

    async def change_provider(self, **changed: Any) -> None:
        """Change the provider in the file and in the adapter, as a running process does."""
        provider = msgspec.structs.replace(self.adapter.settings, **changed)
        await self.change(oidc=(provider,))
        await self.adapter.close()
        self.adapter = OidcProvider(provider, CLIENT_SECRET)

    async def start(self, next_page: str = "/portal", visitor: Visitor = HOME) -> StartedSignOn:
        sent = await start_attempt(
            self.services, self.adapter, next_page, visitor=visitor, randomness=randomness()
        )
        assert isinstance(sent, StartedSignOn), sent
        return sent

    async def finish(
        self, returned: ProviderReturn
    ) -> SignOnCompleted | SignOnRefused | SignOnFailure | ConfirmationEnded:
        return await finish_attempt(self.services, self.adapter, returned)

    async def sign_in_at_provider(
        self, visitor: Visitor = HOME, **claims: Any
    ) -> SignOnCompleted | SignOnRefused | SignOnFailure | ConfirmationEnded:
        """Redirect a user to the provider, sign in there with these claims, and return."""
        self.scripted.claims = claims
        sent = await self.start(visitor=visitor)
        return await self.finish(build_return(sent, self.scripted.consent(sent.url), visitor))

    async def complete_sign_in(self, visitor: Visitor = HOME, **claims: Any) -> OpenedSession:
        outcome = await self.sign_in_at_provider(visitor, **claims)
        assert isinstance(outcome, SignOnCompleted), outcome
        return outcome.opened

    async def count(self, table: str) -> int:
        async with self.resources.database.connection() as connection:
            count: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
            return count

    async def list_audit_entries(self, action: str = "%") -> list[tuple[Any, ...]]:
        """Return entries of the installation's audit log."""
        statement = (
            "SELECT action, before, after FROM installation_audit"
            " WHERE action LIKE $1 AND action <> 'installation.apply' ORDER BY audit_id"
        )
        async with self.resources.database.connection() as connection:
            return [tuple(row) for row in await connection.fetch(statement, action)]


def build_return(
    sent: StartedSignOn, callback_query: dict[str, str], visitor: Visitor = HOME
) -> ProviderReturn:
    return ProviderReturn(
        secret=sent.secret,
        state=callback_query.get("state", ""),
        code=callback_query.get("code", ""),
        error=callback_query.get("error", ""),
        issuer=callback_query.get("iss"),
        visitor=visitor,
        randomness=randomness(),
    )


def change_returned(returned: ProviderReturn, **changed: Any) -> ProviderReturn:
    return replace(returned, **changed)


@asynccontextmanager
async def a_single_sign_on_harness(
    services: SignInServices, **more: Any
) -> AsyncIterator[SingleSignOnHarness]:
    """Return such an installation. `more` holds further settings of signIn."""
    async with a_scripted_identity_provider(services.resources.clock) as scripted:
        provider = a_provider(scripted.issuer)
        sign_in = SignInSettings(oidc=(provider,), **{"groups": (ADMINS, AUDITORS), **more})
        await apply_sign_in(services.resources, sign_in)
        adapter = OidcProvider(provider, CLIENT_SECRET)
        try:
            yield SingleSignOnHarness(services, scripted, adapter, sign_in)
        finally:
            await adapter.close()
