"""What is kept on this host is its owner's alone: folders 0700, files 0600.

What is written from now on is closed by this process's umask. What a copy or a restore left open is
closed when a process starts, but only in a data folder that Dunwell itself made, which a file in it
shows: somebody else's folder keeps its mode, even where Dunwell writes into it (started as root in
`/`, the folder `./var` is the host's). There only the files of the key and of the lock are closed.
PostgreSQL sees to its own files.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dunwell.platform.config.settings import Settings

UMASK = 0o077
# Shows that Dunwell made the folder that it is in.
MARK = ".made-by-dunwell"
_OTHERS = 0o077
# In the data folder; of the database the folder and its log alone.
_TREES = ("outbox",)
_FILES = ("dunwell.lock", "secret.key", MARK)
_DATABASE = ("postgres", "postgres/postgres.log")


def write_privately() -> None:
    """From now on nobody else can read what this process and its children write."""
    os.umask(UMASK)


def make_private_folder(folder: Path) -> None:
    """Make a data folder that only its owner reaches, whatever the umask, and mark it as made here;
    one that is there already is left as it is. Raises OSError."""
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        make_private_folder(folder)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        os.close(os.open(folder / MARK, os.O_WRONLY | os.O_CREAT, 0o600))


def is_made_here(folder: Path) -> bool:
    """Return whether Dunwell made this folder."""
    return (folder / MARK).is_file()


def close_to_others(settings: Settings) -> int:
    """Close what others could reach and Dunwell made; how many that were. What belongs to another
    user stays as it is."""
    closed, is_own = 0, is_made_here(settings.data_dir)
    single = [settings.data_dir / name for name in _FILES]
    for path, mode in find_open(settings):
        if not (is_own or path in single) or not path.is_relative_to(settings.data_dir):
            continue
        try:
            path.chmod(mode & ~_OTHERS)
        except OSError:  # gone meanwhile, or another's: `dunwell doctor` tells
            continue
        closed += 1
    return closed


def find_open(settings: Settings) -> Iterator[tuple[Path, int]]:
    """What others can reach, and its mode; folders before what is in them."""
    for path in _list_kept(settings):
        try:
            found = path.lstat()
        except OSError:
            continue
        # A folder with the sticky bit, like /tmp, is shared on purpose; a link has no mode.
        is_ours = not stat.S_ISLNK(found.st_mode) and not found.st_mode & stat.S_ISVTX
        mode = stat.S_IMODE(found.st_mode)
        if is_ours and mode & _OTHERS:
            yield path, mode


def _list_kept(settings: Settings) -> Iterator[Path]:
    """Without the data folder itself, and the one of uploads, where Dunwell did not make them."""
    if is_made_here(settings.data_dir):
        yield settings.data_dir
    for name in (*_FILES, *_DATABASE):
        yield settings.data_dir / name
    for name in _TREES:
        yield from _walk(settings.data_dir / name)
    parts = urlsplit(settings.files_url)
    if parts.scheme == "file":
        files = Path(unquote(parts.path))
        if files.is_relative_to(settings.data_dir):
            yield files
        # The storage's keys begin with a merchant's number.
        for folder in files.glob("[0-9]*"):
            yield from _walk(folder)


def _walk(folder: Path) -> Iterator[Path]:
    yield folder
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place, name)
