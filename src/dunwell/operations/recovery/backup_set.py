"""A backup as a folder: the rows of the database, the kept files, and a manifest with the digest of
each. A folder without a manifest is not a backup. It contains no key."""

import hashlib
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from dunwell.operations.recovery.dump import DatabaseDump
from dunwell.platform.config import Settings
from dunwell.platform.config.private_folder import MARKER_FILE
from dunwell.platform.errors import InvalidState

FORMAT = 2
DUMP = "database"
_MANIFEST = "manifest.json"
# Entries of the data folder that are not backed up: the database, which is dumped separately; the
# secret key, which must be kept elsewhere; and the marker and the lock, which belong to this folder
# only.
_EXCLUDED_NAMES = frozenset(
    {"postgres", "postgres.draft", "dunwell.lock", "secret.key", MARKER_FILE}
)
_DATA, _FILES = "data", "files"


class BackupUnusable(InvalidState):
    """The folder is not a complete backup, or not one of this installation."""


class ManifestFormat(msgspec.Struct, frozen=True, gc=False):
    """The part of the manifest that every format has."""

    format: int
    dunwell: str


class StoredFile(msgspec.Struct, frozen=True, gc=False):
    path: str
    size: int
    sha256: str


class BackupManifest(DatabaseDump, frozen=True, gc=False, rename="camel"):
    """The description of a backup. `fingerprints` identify the versions of the secret key and
    reveal nothing else. `files_elsewhere` is the object store that holds the uploads and keeps its
    own versions."""

    format: int
    dunwell: str
    fingerprints: Mapping[int, str]
    files_elsewhere: str | None
    files: list[StoredFile]


def list_kept_folders(settings: Settings) -> dict[str, Path]:
    """Return the folders that a backup contains, by their names in it."""
    folders = {_DATA: settings.data_dir}
    uploads = find_uploads(settings)
    if uploads is not None and not uploads.is_relative_to(settings.data_dir):
        folders[_FILES] = uploads
    return folders


def find_uploads(settings: Settings) -> Path | None:
    """Return the folder of uploads, or None if an object store holds them."""
    parts = urlsplit(settings.files_url)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def copy_kept_files(settings: Settings, draft: Path) -> None:
    """Copy the files on this host after the dump. Files are written before the rows that name them
    and never change, so none that a row names is missing."""
    for name, folder in list_kept_folders(settings).items():
        for path in walk_kept_files(folder):
            target = draft / name / path.relative_to(folder)
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                shutil.copy2(path, target)
            except FileNotFoundError:  # The file was deleted together with its row in the meantime.
                target.unlink(missing_ok=True)


def find_existing_file(settings: Settings) -> Path | None:
    """Return a file that already exists where a backup is to be restored, if any."""
    for folder in list_kept_folders(settings).values():
        for path in walk_kept_files(folder):
            return path
    return None


@contextmanager
def restored_files(settings: Settings, backup: Path) -> Iterator[None]:
    """Restore the files. They are deleted again if this or the block fails."""
    placed: list[Path] = []
    try:
        for name, folder in list_kept_folders(settings).items():
            for path in walk_kept_files(backup / name):
                target = folder / path.relative_to(backup / name)
                target.parent.mkdir(parents=True, exist_ok=True)
                placed.append(target)
                shutil.copy2(path, target)
        yield
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
        raise


def describe_files(draft: Path) -> list[StoredFile]:
    return [_describe(draft, path) for path in sorted(walk_kept_files(draft))]


def save_manifest(draft: Path, manifest: BackupManifest) -> None:
    text = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
    (draft / _MANIFEST).write_bytes(text)


def load_manifest(backup: Path) -> BackupManifest:
    """Load the manifest. Check that all files are present and unchanged. Raises BackupUnusable."""
    try:
        content = (backup / _MANIFEST).read_bytes()
        written = msgspec.json.decode(content, type=ManifestFormat)
        if written.format != FORMAT:
            raise BackupUnusable(
                f"This backup has format {written.format}, not {FORMAT}. Restore it with Dunwell "
                f"{written.dunwell}, which took it, and take another one."
            )
        manifest = msgspec.json.decode(content, type=BackupManifest)
    except FileNotFoundError:
        raise BackupUnusable(f"{backup} has no {_MANIFEST}: it is not a complete backup.") from None
    except (msgspec.DecodeError, OSError) as error:
        raise BackupUnusable(f"{backup / _MANIFEST} cannot be read: {error}") from None
    for stored in manifest.files:
        path = backup / stored.path
        if not path.is_file():
            raise BackupUnusable(f"{stored.path} is missing in this backup. Take another one.")
        if _describe(backup, path) != stored:
            raise BackupUnusable(f"{stored.path} has been changed or damaged. Take another backup.")
    return manifest


def _describe(folder: Path, path: Path) -> StoredFile:
    with path.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return StoredFile(path.relative_to(folder).as_posix(), path.stat().st_size, digest)


def walk_kept_files(folder: Path) -> Iterator[Path]:
    """Yield the files, except those of the data folder that are never backed up."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.name in _EXCLUDED_NAMES:
            continue
        if path.is_dir():
            yield from (each for each in sorted(path.rglob("*")) if each.is_file())
        elif path.is_file():
            yield path
