"""The installation's file as a running process knows it: read again every few seconds."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager

import structlog

from dunwell.accounts.installation.delivery_providers import DeliveryProvider
from dunwell.accounts.installation.installation_file import Operator
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
# Addresses told of until the next revision.
_MAX_NOTED_PROXIES = 20
_log = structlog.get_logger("dunwell.accounts.installation")


class CurrentInstallation:
    """What was read last; nobody is trusted before anything was."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._revision = -1
        self._noted: set[str] = set()
        self._to_note: set[str] = set()
        self.proxies = Proxies(())
        # Who runs the installation, as debtors are told; none: nobody was named.
        self.operator: Operator | None = None
        # What messages leave by, and the secrets of the file, opened, by their names.
        self.delivery_providers: Mapping[str, DeliveryProvider] = {}
        self.secrets: Mapping[str, bytes] = {}
        self.sign_in = SignInSettings()

    @property
    def revision(self) -> int:
        """The number of the one that was read last; -1 before any was."""
        return self._revision

    def find_operator(self) -> Operator | None:
        return self.operator

    def is_proxy(self, host: str) -> bool:
        return host in self.proxies

    def find_visitor(self, peer: str, forwarded: Sequence[str]) -> str:
        """Whose request it is (`Proxies.find_visitor`); a proxy of yours that is not trusted, so
        that all its visitors are taken for one, is told of."""
        if forwarded and peer not in self.proxies and is_forbidden(peer, allow_loopback=False):
            self._note(peer)
        return self.proxies.find_visitor(peer, forwarded)

    def _note(self, peer: str) -> None:
        if peer not in self._noted and len(self._noted) < _MAX_NOTED_PROXIES:
            self._noted.add(peer)
            self._to_note.add(peer)
            _log.warning("untrusted proxy forwards", proxy=peer)

    async def read(self) -> None:
        """While the database is away, or not migrated yet, what is known stays."""
        try:
            async with self._resources.database.connection() as connection:
                revision = await load_installation(connection)
                if revision.number != self._revision:
                    self.secrets = await load_secrets(connection, self._resources.keys)
                if self._to_note:
                    noted = sorted(self._to_note)
                    await save_untrusted_proxies(connection, noted, self._resources.clock.now())
                    self._to_note.clear()
        except Unavailable:
            return
        if revision.number != self._revision:
            self._revision = revision.number
            self.proxies = Proxies(revision.installation.trusted_proxies or ())
            self.operator = revision.installation.operator
            self.delivery_providers = revision.installation.delivery_providers or {}
            self.sign_in = revision.installation.sign_in or SignInSettings()
            # Whoever goes on forwarding untrusted is told of once more.
            self._noted.clear()


@asynccontextmanager
async def open_current_installation(resources: Resources) -> AsyncIterator[CurrentInstallation]:
    """Kept up to date for as long as it is open."""
    standing = CurrentInstallation(resources)
    await standing.read()

    async def keep_reading() -> None:
        while True:
            await asyncio.sleep(_RELOAD_SECONDS)
            await standing.read()

    reading = asyncio.create_task(keep_reading())
    try:
        yield standing
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading
