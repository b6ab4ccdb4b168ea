"""Fetch bank statements from the connections of the installation file: a watched folder, or the
bank's SFTP server with its pinned host key.

Files stay where they are. A file that was fetched is recognised by its name and size. A file is
fetched only if its size has not changed since the last run, because it may still be written.
"""

import structlog

from dunwell.accounts.installation.current_installation import CurrentInstallation
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.bank_connections import build_bank_folder
from dunwell.cases.statements.formats.bank_file import MAX_FILE_BYTES
from dunwell.cases.statements.import_statements import submit_file
from dunwell.cases.statements.store import (
    FetchedAccount,
    list_fetched_accounts,
    list_known_files,
)
from dunwell.contact.sending.batches.letter_folder import ExchangeFolder
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources

FETCH_SECONDS = 60.0
_PART_SUFFIXES = (".part", ".tmp", ".filepart")

log = structlog.get_logger(__name__)


class StatementFetcher:
    """Looks for new files of all accounts that name a connection."""

    def __init__(self, resources: Resources, installation: CurrentInstallation) -> None:
        self._resources = resources
        self._installation = installation
        # The size of each file at the last run, by merchant, account and name.
        self._seen: dict[tuple[int, str, str], int] = {}

    async def run_once(self) -> int:
        """Fetch new files and return their number. A failure for one account or file does not stop
        the others."""
        async with self._resources.database.connection() as connection:
            accounts = await list_fetched_accounts(connection)
        fetched_count = 0
        for account in accounts:
            try:
                fetched_count += await self._fetch(account)
            except (OSError, ValueError) as error:
                _log_failure(account, error)
        return fetched_count

    async def _fetch(self, account: FetchedAccount) -> int:
        connection = self._installation.bank_connections.get(account.connection)
        if connection is None:
            log.warning("no such bank connection", connection=account.connection)
            return 0
        folder = build_bank_folder(account.connection, connection, self._installation.secrets)
        try:
            return await self._fetch_from(folder, account)
        finally:
            await folder.close()

    async def _fetch_from(self, folder: ExchangeFolder, account: FetchedAccount) -> int:
        listed = await folder.list(account.folder)
        files = {name: size for name, size in listed.items() if _is_complete_name(name)}
        async with self._resources.database.connection() as connection:
            known_files = await list_known_files(
                connection, account.merchant_id, account.account, list(files)
            )
        fetched_count = 0
        for name, size in sorted(files.items()):
            if (name, size) in known_files or not self._is_stable(account, name, size):
                continue
            path = f"{account.folder}/{name}" if account.folder else name
            try:
                await self._submit(account, name, await folder.read(path))
            except (OSError, Refusal) as error:
                _log_failure(account, error, name)
                continue
            fetched_count += 1
        return fetched_count

    def _is_stable(self, account: FetchedAccount, name: str, size: int) -> bool:
        """Return whether the file had this size at the last run, and can be imported: it is neither
        empty nor larger than MAX_FILE_BYTES."""
        key = (account.merchant_id, account.account, name)
        previous_size, self._seen[key] = self._seen.get(key), size
        if size > MAX_FILE_BYTES and previous_size != size:
            log.warning(
                "bank file too large", merchant_id=account.merchant_id, account=account.account,
                connection=account.connection, file=name, size_bytes=size,
            )  # fmt: skip
        return previous_size == size and 0 < size <= MAX_FILE_BYTES

    async def _submit(self, account: FetchedAccount, name: str, content: bytes) -> None:
        async with self._resources.database.transaction() as tx:
            merchant = await load_merchant(tx, account.merchant_id)
            assert merchant is not None
            work = Work.open(self._resources, tx, merchant, SYSTEM)
            await submit_file(work, self._resources.keys, account.account, name, content=content)


def _log_failure(account: FetchedAccount, error: Exception, name: str | None = None) -> None:
    """Log why an account's files, or the file with this name, were not fetched."""
    log.warning(
        "bank statements not fetched",
        merchant_id=account.merchant_id,
        account=account.account,
        connection=account.connection,
        file=name,
        error=type(error).__name__,
        reason=str(error),
    )


def _is_complete_name(name: str) -> bool:
    return not name.startswith(".") and not name.lower().endswith(_PART_SUFFIXES)
