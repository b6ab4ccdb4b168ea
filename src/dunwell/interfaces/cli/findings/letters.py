"""Check letters: which scripts can be printed, and whether the providers for letters respond,
accept our key, show the pinned host key and have disk space."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import asyncpg

from dunwell.accounts.installation.delivery_providers import FolderProvider, SftpProvider
from dunwell.accounts.installation.store import load_installation, load_secrets
from dunwell.adapters.channels.folder.channel import LocalFolder
from dunwell.adapters.channels.sftp.channel import open_letter_folder
from dunwell.contact.messages.letters.fonts.font_library import FontLibrary
from dunwell.contact.sending.batches.letter_folder import (
    RELEASED,
    ExchangeFolder,
    HostKeyRefused,
    LoginRefused,
)
from dunwell.contact.sending.channel import DeliveryProviderUnusable
from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Unavailable

_PROBE, _CONTENT = "dunwell-doctor.txt", b"written by dunwell doctor, and removed again"
_ALLOW_COPIES = (
    "Get permission to create that folder and to write to it, or ask the print service to create"
    " it. No file may have its name. A batch is released only when a copy of its manifest is there."
)
_MIN_FREE_BYTES = 1 << 28
_TIMEOUT_SECONDS = 30
# One character of each script in which names in Europe are often written. Fonts for Latin, Greek,
# Cyrillic and Hebrew are included.
_SCRIPTS = {
    "Arabic": "ش", "Armenian": "Ա", "Bengali": "ক", "Chinese": "漢", "Devanagari": "क",
    "Ethiopic": "አ", "Georgian": "ქ", "Gujarati": "ક", "Gurmukhi": "ਕ", "Japanese": "か",
    "Kannada": "ಕ", "Khmer": "ក", "Korean": "한", "Lao": "ກ", "Malayalam": "ക", "Myanmar": "က",
    "Sinhala": "ක", "Tamil": "க", "Telugu": "క", "Thai": "ก", "Tibetan": "ཀ",
}  # fmt: skip
_INSTALL = (
    "Install fonts (Debian: fonts-noto-core and fonts-noto-cjk), and set their folders:"
    " DUNWELL_FONTS=/usr/share/fonts/truetype/noto:/usr/share/fonts/opentype/noto"
)


def check_fonts(settings: Settings) -> DoctorFinding:
    library = FontLibrary(settings.fonts)
    missing = [name for name, character in _SCRIPTS.items() if library.choose(character).missing]
    gone = [str(each) for each in settings.fonts if not each.is_dir()]
    if gone:
        return DoctorFinding(
            "fonts", f"these folders do not exist: {', '.join(gone)}", "Correct DUNWELL_FONTS."
        )
    if not missing:
        return DoctorFinding("fonts", f"letters can be printed in all {len(_SCRIPTS)} scripts")
    words = f"names in these scripts cannot be printed in letters: {', '.join(missing)}"
    return DoctorFinding("fonts", words, _INSTALL, is_note=True)


async def check_print_providers(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check all delivery providers for letters. Return nothing if the database is not migrated or
    does not respond: other checks report that."""
    keys = KeyRing(settings.secret_key)
    database = await Database.open(url, application="dunwell doctor")
    try:
        async with database.connection() as connection:
            providers = (await load_installation(connection)).installation.delivery_providers or {}
            secrets = await load_secrets(connection, keys)
    except (Unavailable, asyncpg.PostgresError):
        return []
    finally:
        await database.close()
    return [
        await check_print_provider(name, provider, secrets)
        for name, provider in providers.items()
        if isinstance(provider, FolderProvider | SftpProvider)
    ]


async def check_print_provider(
    name: str, provider: FolderProvider | SftpProvider, secrets: Mapping[str, bytes]
) -> DoctorFinding:
    subject = f"provider {name}"
    try:
        letter_folder = open_print_provider(name, provider, secrets)
    except DeliveryProviderUnusable as error:
        return DoctorFinding(
            subject, str(error), "Correct the provider, and run: dunwell apply FILE"
        )
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return await _probe_folder(subject, provider.folder, letter_folder)
    except HostKeyRefused:
        words = "the server has another host key than the pinned one: nothing is handed over"
        remedy = "Ask the print service whether its key has changed. Only then set the new hostKey."
        return DoctorFinding(subject, words, remedy)
    except OSError as error:
        return _describe_failed_connection(subject, provider, error)
    finally:
        await letter_folder.close()


def _describe_failed_connection(
    subject: str, provider: FolderProvider | SftpProvider, error: OSError
) -> DoctorFinding:
    folder = provider.folder
    where = "on this machine" if isinstance(provider, FolderProvider) else "there"
    match error:
        case LoginRefused():
            words = "the server refuses the user, the key or the password"
            remedy = "Correct user, keyFile or passwordFile, and run: dunwell apply FILE"
        case PermissionError():
            words = f"we may not write in {folder}"
            remedy = f"Grant access to Dunwell's user {where}: chown, or chmod u+rwx."
        case FileNotFoundError():
            words = f"there is no folder {folder}"
            remedy = f"Create it {where}, mount its disk, or correct the provider's folder."
        case TimeoutError():
            words = "the server does not respond in time"
            remedy = "Check that it runs, and check the firewall."
        case ConnectionError():
            words = "the server does not respond"
            remedy = "Start it, correct the provider's server, or check the firewall."
        case _:
            words = f"{folder} accepts no files ({type(error).__name__})"
            remedy = "Check whether its disk is full or read-only."
    return DoctorFinding(subject, words, remedy)


def open_print_provider(
    name: str, provider: FolderProvider | SftpProvider, secrets: Mapping[str, bytes]
) -> ExchangeFolder:
    """Open the provider's folder without connecting. Raises DeliveryProviderUnusable."""
    if isinstance(provider, FolderProvider):
        return LocalFolder(Path(provider.folder))
    return open_letter_folder(name, provider, secrets)


async def _write_and_read(letter_folder: ExchangeFolder, name: str) -> bytes:
    await letter_folder.write(name, _CONTENT)
    content = await letter_folder.read(name)
    await letter_folder.remove(name)
    return content


async def _probe_folder(subject: str, folder: str, letter_folder: ExchangeFolder) -> DoctorFinding:
    """Write, read and remove a file. Print services ignore it, because no manifest names it."""
    content = await _write_and_read(letter_folder, _PROBE)
    try:
        await _write_and_read(letter_folder, f"{RELEASED}/{_PROBE}")
    except (ConnectionError, TimeoutError):
        raise
    except OSError:
        words = f"accepts letters in {folder}, but no copies of manifests in its folder {RELEASED}"
        return DoctorFinding(subject, words, _ALLOW_COPIES)
    if content != _CONTENT:
        return DoctorFinding(
            subject, "returns other content than was written", "Use another folder."
        )
    free = await letter_folder.free_bytes()
    if free is not None and free < _MIN_FREE_BYTES:
        words = f"{free / (1 << 20):.0f} MiB free in {folder}"
        return DoctorFinding(subject, words, "Free disk space: letters wait while it is full.")
    free_text = "" if free is None else f", {free / (1 << 30):.1f} GiB free"
    return DoctorFinding(subject, f"writes, reads and removes in {folder}{free_text}")
