"""What is kept on this host is its owner's alone: folders 0700, files 0600.

What is written from now on, this process's umask sees to. What an older release, a copy or a
restore left open is set right when a process starts. Only what Dunwell itself makes is touched,
whatever else lies in the folder; PostgreSQL sees to its own.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dunwell.config.settings import Settings

UMASK = 0o077
_OTHERS = 0o077
# In the data folder; of the database the folder and its log alone.
_WHOLE = ("outbox",)
_SINGLE = ("dunwell.lock", "secret.key", "postgres", "postgres/postgres.log")


def write_privately() -> None:
    """From now on nobody else can read what this process and its children write."""
    os.umask(UMASK)


def close_to_others(settings: Settings) -> int:
    """Sets right what others could reach; how many that were. What is another user's stays."""
    closed = 0
    for path, mode in find_open(settings):
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
    yield settings.data_dir
    for name in _SINGLE:
        yield settings.data_dir / name
    for name in _WHOLE:
        yield from _walk(settings.data_dir / name)
    parts = urlsplit(settings.files_url)
    if parts.scheme == "file":
        files = Path(unquote(parts.path))
        yield files
        # The storage's keys begin with a merchant's number.
        for folder in files.glob("[0-9]*"):
            yield from _walk(folder)


def _walk(folder: Path) -> Iterator[Path]:
    yield folder
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            yield Path(place, name)
