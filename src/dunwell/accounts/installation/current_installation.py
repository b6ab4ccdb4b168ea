"""The current installation file in a running process, which is reloaded every few seconds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import structlog

from dunwell.accounts.installation.bank_connections import BankConnection
from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.accounts.installation.installation_file import Operator
from dunwell.accounts.installation.payment_providers import PaymentAccount
from dunwell.accounts.installation.single_sign_on_settings import SignInSettings
from dunwell.accounts.installation.store import (
    load_installation,
    load_secrets,
    save_untrusted_proxies,
)
from dunwell.platform.errors import Unavailable
from dunwell.platform.http.addresses import Proxies, is_forbidden
from dunwell.platform.resources import Resources

_RELOAD_SECONDS = 5.0
# The largest number of untrusted proxies that are logged for one revision of the file.
_MAX_LOGGED_PROXIES = 20
_log = structlog.get_logger("dunwell.accounts.installation")


class CurrentInstallation:
    """The last loaded installation file. Before the first load no proxy is trusted."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._revision = -1
        self._logged_proxies: set[str] = set()
        self._unsaved_proxies: set[str] = set()
        self.proxies = Proxies(())
        # The operator that debtors are shown. None if the file names none.
        self.operator: Operator | None = None
        # The delivery providers, the accounts at payment providers and the connections to banks by
        # name, and the decrypted secrets of the file by name.
        self.delivery_providers: Mapping[str, DeliveryProvider] = {}
        self.payment_providers: Mapping[str, PaymentAccount] = {}
        self.bank_connections: Mapping[str, BankConnection] = {}
        self.secrets: Mapping[str, bytes] = {}
        self.sign_in = SignInSettings()

    @property
    def revision(self) -> int:
        """The number of the loaded revision; -1 before the first load."""
        return self._revision

    def find_operator(self) -> Operator | None:
        return self.operator

    def is_proxy(self, host: str) -> bool:
        return host in self.proxies

    def find_visitor(self, peer: str, forwarded: Sequence[str]) -> str:
        """Return the visitor's address (`Proxies.find_visitor`). Log a proxy in a private network
        that forwards requests without being trusted, because all its visitors count as one
        visitor."""
        if forwarded and peer not in self.proxies and is_forbidden(peer, allow_loopback=False):
            self._log_untrusted_proxy(peer)
        return self.proxies.find_visitor(peer, forwarded)

    def _log_untrusted_proxy(self, peer: str) -> None:
        if peer not in self._logged_proxies and len(self._logged_proxies) < _MAX_LOGGED_PROXIES:
            self._logged_proxies.add(peer)
            self._unsaved_proxies.add(peer)
            _log.warning("untrusted proxy forwards", proxy=peer)

    async def refresh(self) -> None:
        """Load the file if it has a new revision, and save the untrusted proxies that were found.
        While the database is unavailable or not migrated, the loaded values stay."""
        try:
            async with self._resources.database.connection() as connection:
                revision = await load_installation(connection)
                if revision.number != self._revision:
                    self.secrets = await load_secrets(connection, self._resources.keys)
                if self._unsaved_proxies:
                    addresses = sorted(self._unsaved_proxies)
                    await save_untrusted_proxies(connection, addresses, self._resources.clock.now())
                    self._unsaved_proxies.clear()
        except Unavailable:
            return
        if revision.number != self._revision:
            self._revision = revision.number
            self.proxies = Proxies(revision.installation.trusted_proxies or ())
            self.operator = revision.installation.operator
            self.delivery_providers = revision.installation.delivery_providers or {}
            self.payment_providers = revision.installation.payment_providers or {}
            self.bank_connections = revision.installation.bank_connections or {}
            self.sign_in = revision.installation.sign_in or SignInSettings()
            # A proxy that is still untrusted is logged once more for the new revision.
            self._logged_proxies.clear()


@asynccontextmanager
async def open_current_installation(resources: Resources) -> AsyncIterator[CurrentInstallation]:
    """Load the installation file and keep it current until the context ends."""
    installation = CurrentInstallation(resources)
    await installation.refresh()

    async def reload_regularly() -> None:
        while True:
            await asyncio.sleep(_RELOAD_SECONDS)
            await installation.refresh()

    reloading = asyncio.create_task(reload_regularly())
    try:
        yield installation
    finally:
        reloading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reloading
