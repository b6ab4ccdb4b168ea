"""The identity providers of a running web process. They are rebuilt when the installation file
changes."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

import structlog

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.single_sign_on_settings import IdentityProviderSettings
from dunwell.accounts.users.single_sign_on.provider import IdentityProvider

# Whether the extra "oidc" is installed, without which the adapter cannot be imported.
_HAS_OIDC = all(find_spec(name) is not None for name in ("authlib", "joserfc"))
if TYPE_CHECKING or _HAS_OIDC:
    from dunwell.adapters.oidc.provider import OidcProvider

log = structlog.get_logger(__name__)


class IdentityProviderUnusable(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The identity provider cannot be used. The message says what to do."""


def build_identity_provider(
    provider: IdentityProviderSettings, secrets: Mapping[str, bytes]
) -> "OidcProvider":
    """Build the provider without connecting. `secrets` are those of the installation file, by name.
    Raises IdentityProviderUnusable."""
    if not _HAS_OIDC:
        raise IdentityProviderUnusable('Single sign-on needs the extra: install "dunwell[oidc]".')
    secret = secrets.get(provider.secret_name)
    if secret is None:
        raise IdentityProviderUnusable(
            "The client secret is missing. Apply the installation file again."
        )
    try:
        return OidcProvider(provider, secret.decode())
    except UnicodeDecodeError:
        raise IdentityProviderUnusable("The client secret is not valid UTF-8 text.") from None


class IdentityProviderAdapters:
    """The identity providers of the current installation file."""

    def __init__(self, installation: CurrentInstallation) -> None:
        self._installation = installation
        self._revision = -1
        self._known: dict[str, tuple[IdentityProviderSettings, bytes | None, OidcProvider]] = {}
        # Replaced providers are kept, because users may be signing in through them. They hold no
        # connections.
        self._replaced: list[OidcProvider] = []

    @property
    def is_required(self) -> bool:
        return self._installation.sign_in.required

    def list_shown(self) -> Sequence[IdentityProviderSettings]:
        return self._installation.sign_in.oidc

    def find(self, name: str) -> IdentityProvider | None:
        if self._installation.revision != self._revision:
            self._build()
        known = self._known.get(name)
        return None if known is None else known[2]

    def _build(self) -> None:
        """Build the changed providers. Unchanged ones are kept with their caches."""
        installation, before = self._installation, self._known
        self._revision, self._known = installation.revision, {}
        for provider in installation.sign_in.oidc:
            secret = installation.secrets.get(provider.secret_name)
            known = before.get(provider.name)
            if known is not None and known[:2] == (provider, secret):
                self._known[provider.name] = before.pop(provider.name)
                continue
            try:
                built = build_identity_provider(provider, installation.secrets)
            except IdentityProviderUnusable as error:
                log.error("provider unusable", provider=provider.name, reason=str(error))  # noqa: TRY400 - the reason is enough
                continue
            self._known[provider.name] = provider, secret, built
        self._replaced += [built for _, _, built in before.values()]

    async def close(self) -> None:
        for built in (*self._replaced, *(each[2] for each in self._known.values())):
            await built.close()


@asynccontextmanager
async def open_identity_providers(
    installation: CurrentInstallation,
) -> AsyncIterator[IdentityProviderAdapters]:
    providers = IdentityProviderAdapters(installation)
    try:
        yield providers
    finally:
        await providers.close()
