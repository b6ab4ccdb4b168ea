"""Files on this host are accessible only to their owner: folders have mode 0700, files 0600.

New files get their mode from this process's umask. When a process starts, it also corrects the
modes that a copy or a restore left too open. It does so only in a data folder that Dunwell itself
created, which a marker file shows. Any other folder keeps its mode even if Dunwell writes into it:
a process started as root in `/` uses the host's own `./var`. There, only the files of the secret
key and of the lock are corrected. PostgreSQL checks its own files.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dunwell.platform.config.settings import Settings

UMASK = 0o077
# The marker file in a folder that Dunwell created.
MARKER_FILE = ".made-by-dunwell"
_OTHERS = 0o077
# The folders and files in the data folder whose modes are checked. Of the database, these are only
# its folder and its log.
_FOLDERS = ("outbox",)
_FILES = ("dunwell.lock", "secret.key", MARKER_FILE)
_DATABASE_FILES = ("postgres", "postgres/postgres.log")


def set_private_umask() -> None:
    """Make everything that this process and its children write from now on accessible only to its
    owner."""
    os.umask(UMASK)


def create_private_folder(folder: Path) -> None:
    """Create a data folder with mode 0700, whatever the umask, and mark it. Leave an existing
    folder as it is. Raises OSError."""
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        create_private_folder(folder)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        os.close(os.open(folder / MARKER_FILE, os.O_WRONLY | os.O_CREAT, 0o600))


def is_own_folder(folder: Path) -> bool:
    """Return whether Dunwell created this folder."""
    return (folder / MARKER_FILE).is_file()


def restrict_access(settings: Settings) -> int:
    """Remove the access of other users to everything that Dunwell created, and return how many
    modes were changed. Files that belong to another user keep their mode."""
    changed, is_own = 0, is_own_folder(settings.data_dir)
    always_restricted = [settings.data_dir / name for name in _FILES]
    for path, mode in list_accessible(settings):
        if not (is_own or path in always_restricted) or not path.is_relative_to(settings.data_dir):
            continue
        try:
            path.chmod(mode & ~_OTHERS)
        # The file has been deleted, or belongs to another user; `dunwell doctor` reports it then.
        except OSError:
            continue
        changed += 1
    return changed


def list_accessible(settings: Settings) -> Iterator[tuple[Path, int]]:
    """Yield each path that other users can access, with its mode. A folder comes before its
    content."""
    for path in _list_paths(settings):
        try:
            status = path.lstat()
        except OSError:
            continue
        # A folder with the sticky bit, like /tmp, is shared on purpose. A symbolic link has no
        # mode.
        is_checked = not stat.S_ISLNK(status.st_mode) and not status.st_mode & stat.S_ISVTX
        mode = stat.S_IMODE(status.st_mode)
        if is_checked and mode & _OTHERS:
            yield path, mode


def _list_paths(settings: Settings) -> Iterator[Path]:
    """Yield the paths to check. The data folder itself is included only if Dunwell created it."""
    if is_own_folder(settings.data_dir):
        yield settings.data_dir
    for name in (*_FILES, *_DATABASE_FILES):
        yield settings.data_dir / name
    for name in _FOLDERS:
        yield from _walk(settings.data_dir / name)
    parts = urlsplit(settings.files_url)
    if parts.scheme == "file":
        files = Path(unquote(parts.path))
        if files.is_relative_to(settings.data_dir):
            yield files
        # The keys of stored files begin with a merchant's number.
        for folder in files.glob("[0-9]*"):
            yield from _walk(folder)


def _walk(folder: Path) -> Iterator[Path]:
    yield folder
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place, name)
