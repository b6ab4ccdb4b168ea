"""The adapters of the accounts at payment providers in the installation file. They are rebuilt when
the file changes."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import structlog

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.installation.payment_providers import (
    GoCardlessAccount,
    MollieAccount,
    PaymentAccount,
    StripeAccount,
)
from dunwell.adapters.payments.api_client import PaymentProviderUnusable
from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.adapters.payments.mollie.provider import MollieProvider
from dunwell.adapters.payments.sandbox.provider import NAME as SANDBOX_PROVIDER
from dunwell.adapters.payments.sandbox.provider import SandboxProvider
from dunwell.adapters.payments.stripe.provider import StripeProvider
from dunwell.cases.payments.provider import PaymentProvider, PaymentProviders
from dunwell.platform.clock import Clock
from dunwell.platform.errors import Unavailable
from dunwell.platform.resources import Resources

# Calls of a replaced adapter end within this time.
_MAX_CALL_SECONDS = 90

PaymentAdapter = StripeProvider | MollieProvider | GoCardlessProvider

log = structlog.get_logger(__name__)


def build_payment_provider(
    name: str, account: PaymentAccount, secrets: Mapping[str, bytes], clock: Clock
) -> PaymentAdapter:
    """Build the adapter without connecting. `secrets` are those of the installation file by name,
    such as "paymentProviders/cards/secretKeyFile". Raises PaymentProviderUnusable."""
    match account:
        case StripeAccount():
            return StripeProvider(name, account, secrets, clock)
        case MollieAccount():
            return MollieProvider(name, account, secrets)
        case GoCardlessAccount():
            return GoCardlessProvider(name, account, secrets)


class PaymentProviderAdapters(Mapping[str, PaymentProvider]):
    """The payment providers of a running process by account name: the built-in ones and those of
    the current installation file. An account that cannot be used is left out."""

    def __init__(
        self, resources: Resources, installation: CurrentInstallation, built_in: PaymentProviders
    ) -> None:
        self._resources = resources
        self._installation = installation
        self._built_in = built_in
        self._revision = -1
        self._adapters: dict[str, PaymentAdapter] = {}
        self._closing: set[asyncio.Task[None]] = set()
        # For the Content-Security-Policy (form-action): where a form may redirect to, by account.
        self.page_sources: Mapping[str, str] = _PageSources(installation)

    def __getitem__(self, name: str) -> PaymentProvider:
        if name in self._built_in:
            return self._built_in[name]
        self._update()
        return self._adapters[name]

    def __iter__(self) -> Iterator[str]:
        self._update()
        return iter([*self._built_in, *self._adapters])

    def __len__(self) -> int:
        self._update()
        return len(self._built_in) + len(self._adapters)

    def _update(self) -> None:
        """Rebuild the adapters if the installation file has changed. Raises Unavailable as long as
        the file is not known."""
        installation = self._installation
        if installation.revision < 0:
            raise Unavailable("The installation file was not read yet.")
        if installation.revision == self._revision:
            return
        replaced, self._adapters = self._adapters, {}
        self._revision = installation.revision
        for name, account in installation.payment_providers.items():
            try:
                self._adapters[name] = build_payment_provider(
                    name, account, installation.secrets, self._resources.clock
                )
            except PaymentProviderUnusable as error:
                log.error("payment provider unusable", provider=name, reason=str(error))  # noqa: TRY400 - the reason is enough
        if replaced:
            task = asyncio.create_task(_close_later(replaced))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        closing = [*self._closing]
        for task in closing:
            task.cancel()
        await asyncio.gather(*closing, return_exceptions=True)
        await asyncio.gather(*(each.close() for each in self._adapters.values()))


class _PageSources(Mapping[str, str]):
    """The Content-Security-Policy source of each account's checkout pages. A provider redirects
    further, for example to the page of the debtor's bank, so every https address is allowed."""

    def __init__(self, installation: CurrentInstallation) -> None:
        self._installation = installation

    def __getitem__(self, name: str) -> str:
        account = self._installation.payment_providers[name]
        parts = urlsplit(account.base_url)
        return "https:" if parts.scheme == "https" else f"{parts.scheme}://{parts.netloc}"

    def __iter__(self) -> Iterator[str]:
        return iter(self._installation.payment_providers)

    def __len__(self) -> int:
        return len(self._installation.payment_providers)


@asynccontextmanager
async def open_payment_providers(
    resources: Resources, installation: CurrentInstallation
) -> AsyncIterator[PaymentProviderAdapters]:
    """Open the payment providers that a merchant's configuration can name: the sandbox, and the
    accounts of the current installation file."""
    built_in = {SANDBOX_PROVIDER: SandboxProvider(resources)}
    providers = PaymentProviderAdapters(resources, installation, built_in)
    try:
        yield providers
    finally:
        await providers.close()


async def _close_later(adapters: Mapping[str, PaymentAdapter]) -> None:
    try:
        await asyncio.sleep(_MAX_CALL_SECONDS)
    finally:
        await asyncio.gather(*(each.close() for each in adapters.values()))
