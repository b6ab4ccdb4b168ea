"""Check the connections to banks: whether each server responds with the pinned host key, and each
folder lets Dunwell read statements and write files for the bank, as far as merchants need it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import asyncpg

from dunwell.accounts.installation.bank_connections import BankConnection, BankFolder
from dunwell.accounts.installation.store import (
    list_merchants_by_bank,
    load_installation,
    load_secrets,
)
from dunwell.adapters.bank_connections import build_bank_folder
from dunwell.adapters.channels.folder.channel import LocalFolder
from dunwell.adapters.channels.sftp.channel import SftpFolder
from dunwell.cases.statements.store import FetchedAccount, list_fetched_accounts
from dunwell.contact.sending.batches.letter_folder import (
    PART_SUFFIX,
    HostKeyRefused,
    LoginRefused,
)
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

# The bank does not read files with the suffix of unfinished ones.
_PROBE, _CONTENT = "dunwell-doctor", b"written by dunwell doctor, and removed again"
_TIMEOUT_SECONDS = 30
_APPLY = "and run: dunwell apply FILE"

_Folder = LocalFolder | SftpFolder


@dataclass(frozen=True, slots=True)
class BankConnectionUse:
    """What merchants use a connection for: `folders` in which statements are fetched, below the
    folder of the connection, and the keys of the merchants whose debits are delivered."""

    folders: Sequence[str] = ()
    delivers_for: Sequence[str] = ()


async def check_bank_connections(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check all connections to banks. Return nothing if the database is not migrated or does not
    respond: other checks report that."""
    keys = KeyRing(settings.secret_key)
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            connections = (await load_installation(connection)).installation.bank_connections or {}
            secrets = await load_secrets(connection, keys)
            fetched = await list_fetched_accounts(connection)
            delivering = await list_merchants_by_bank(connection, list(connections))
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    findings = [
        await check_bank_connection(
            name,
            connection,
            secrets,
            BankConnectionUse(
                sorted({each.folder for each in fetched if each.connection == name}),
                delivering.get(name, ()),
            ),
        )
        for name, connection in connections.items()
    ]
    return [*findings, *_list_missing(fetched, connections)]


def _list_missing(
    fetched: Sequence[FetchedAccount], connections: Mapping[str, BankConnection]
) -> list[DoctorFinding]:
    names = sorted({each.connection for each in fetched} - connections.keys())
    return [
        DoctorFinding(
            f"bank {name}",
            "statements are fetched there, but the installation file has no such connection",
            f"Add it to bankConnections, {_APPLY}; or choose another for the account.",
        )
        for name in names
    ]


async def check_bank_connection(
    name: str, connection: BankConnection, secrets: Mapping[str, bytes], use: BankConnectionUse
) -> DoctorFinding:
    subject = f"bank {name}"
    try:
        folder = build_bank_folder(name, connection, secrets)
    except ValueError as error:
        words = f"a key cannot be read: {error}"
        return DoctorFinding(subject, words, f"Correct keyFile or hostKey, {_APPLY}")
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await _probe(subject, connection.folder, folder, use)
    except OSError as error:
        return _describe_failure(subject, connection, error)
    finally:
        await folder.close()


async def _probe(subject: str, path: str, folder: _Folder, use: BankConnectionUse) -> DoctorFinding:
    """Read every folder that is used. Write and remove an unfinished file, which no bank reads."""
    for below in ("", *use.folders):
        if not await folder.has_folder(below):
            raise FileNotFoundError(f"{path}/{below}".rstrip("/"))
        await folder.list(below)
    try:
        await folder.write_part(_PROBE, _CONTENT)
        await folder.remove(f"{_PROBE}{PART_SUFFIX}")
    except PermissionError:
        if not use.delivers_for:
            words = f"readable in {path}, but not writable; nothing is delivered there"
            return DoctorFinding(subject, words)
        merchants = ", ".join(use.delivers_for)
        return DoctorFinding(
            subject,
            f"we may not write in {path}, but debits of {merchants} are delivered there",
            "Ask the bank for permission to write there, or correct the connection's folder.",
        )
    return DoctorFinding(subject, f"readable and writable in {path}")


def _describe_failure(subject: str, connection: BankConnection, error: OSError) -> DoctorFinding:
    is_local = isinstance(connection, BankFolder)
    match error:
        case HostKeyRefused():
            words = (
                "the server has another host key than the pinned one: nothing is fetched or"
                " delivered"
            )
            remedy = "Ask the bank whether its key has changed. Only then set the new hostKey."
        case LoginRefused():
            words = "the server refuses the user, the key or the password"
            remedy = f"Correct user, keyFile or passwordFile, {_APPLY}"
        case PermissionError():
            words = f"we may not read {connection.folder}"
            remedy = "Ask the bank for permission to read there."
            if is_local:
                remedy = "Grant access to Dunwell's user on this machine: chown, or chmod u+rwx."
        case FileNotFoundError():
            words = f"there is no folder {error}"
            remedy = "Create it, mount its disk, or correct the connection's or account's folder."
        case TimeoutError():
            words = "the server does not respond in time"
            remedy = "Check that it runs, and check the firewall."
        case ConnectionError():
            words = "the server does not respond"
            remedy = "Correct the connection's server, check the firewall, or ask the bank."
        case _:
            words = f"{connection.folder} accepts no files ({type(error).__name__})"
            remedy = "Check whether its disk is full or read-only."
    return DoctorFinding(subject, words, remedy)
