"""The folders of the bank connections in the installation file. They are rebuilt when the file
changes."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import structlog

from dunwell.accounts.installation.bank_connections import (
    BankConnection,
    BankFolder,
    find_bank_secret,
)
from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.adapters.channels.folder.channel import LocalFolder
from dunwell.adapters.channels.sftp.channel import SftpFolder
from dunwell.contact.sending.batches.letter_folder import ExchangeFolder
from dunwell.platform.errors import Unavailable

# Calls to a replaced connection end within this time.
_MAX_CALL_SECONDS = 90

log = structlog.get_logger(__name__)


def build_bank_folder(
    name: str, connection: BankConnection, secrets: Mapping[str, bytes]
) -> LocalFolder | SftpFolder:
    """Build the folder without connecting. `secrets` are those of the installation file by name.
    Raises ValueError if a key cannot be read."""
    if isinstance(connection, BankFolder):
        return LocalFolder(Path(connection.folder))
    return SftpFolder(
        connection,
        password=find_bank_secret(secrets, name, "passwordFile"),
        key=find_bank_secret(secrets, name, "keyFile"),
    )


class BankConnectionAdapters:
    """The folders of a running process. They must be closed at the end."""

    def __init__(self, installation: CurrentInstallation) -> None:
        self._installation = installation
        self._revision = -1
        self._folders: dict[str, ExchangeFolder] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def find(self, name: str) -> ExchangeFolder | None:
        """Return the folder, or None if there is none with this name or it cannot be used. Raises
        Unavailable as long as the installation file is not known."""
        if self._installation.revision < 0:
            raise Unavailable("The installation file was not read yet.")
        if self._installation.revision != self._revision:
            self._build()
        return self._folders.get(name)

    def _build(self) -> None:
        installation = self._installation
        replaced, self._folders = self._folders, {}
        self._revision = installation.revision
        for name, connection in installation.bank_connections.items():
            try:
                self._folders[name] = build_bank_folder(name, connection, installation.secrets)
            except ValueError as error:
                log.error("bank connection unusable", connection=name, reason=str(error))  # noqa: TRY400 - the reason is enough
        if replaced:
            task = asyncio.create_task(_close_later(replaced))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        for task in self._closing:
            task.cancel()
        await asyncio.gather(*(each.close() for each in self._folders.values()))


@asynccontextmanager
async def open_bank_connections(
    installation: CurrentInstallation,
) -> AsyncIterator[BankConnectionAdapters]:
    banks = BankConnectionAdapters(installation)
    try:
        yield banks
    finally:
        await banks.close()


async def _close_later(folders: Mapping[str, ExchangeFolder]) -> None:
    try:
        await asyncio.sleep(_MAX_CALL_SECONDS)
    finally:
        await asyncio.gather(*(each.close() for each in folders.values()))
