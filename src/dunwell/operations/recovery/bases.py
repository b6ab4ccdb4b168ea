"""Which base backups of an archive are recent, and which are kept with the log and the files behind
them: those that make any moment of the last two weeks, and nothing more.
"""

import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from dunwell.operations.recovery.archive import (
    BASE_FILES,
    Archive,
    Base,
    Reach,
    find_missing,
    find_position,
    save_reach,
)
from dunwell.operations.recovery.wal_file import ENDING

BASE_EVERY = timedelta(days=7)
# Any moment of this long can be gone back to.
KEPT_FOR = timedelta(days=14)

_Bases = Sequence[tuple[Path, Base]]


def extend_bases(archive: Archive, reach: Reach) -> bool:
    """Note the reach with every base that the log goes on from; False: none of them is recent, and
    another one is to be taken. What is not needed any more goes."""
    bases, segments = archive.list_bases(), archive.list_segments()
    is_based = False
    for folder, base in bases:
        if base.start_segment[:8] != reach.segment[:8]:
            continue
        if find_missing(segments, base.start_segment, reach.segment) is None:
            save_reach(folder, reach)
            is_based = is_based or base.started_at > reach.until - BASE_EVERY
    _prune(archive, bases, reach.until - KEPT_FOR)
    return is_based


def _prune(archive: Archive, bases: _Bases, kept_since: datetime) -> None:
    """Bases before the last one that makes all moments since then, the log before the first that
    is kept, and copies of files that were gone when that was begun."""
    older = [each for each in bases if each[1].ended_at <= kept_since]
    if len(older) < 2:
        return
    for folder, _ in older[:-1]:
        doomed = folder.with_name(f"{folder.name}.draft")  # from now on it is no base
        folder.rename(doomed)
        shutil.rmtree(doomed)
    kept = bases[len(older) - 1 :]
    first = min(find_position(base.start_segment) for _, base in kept)
    for name in archive.list_segments():
        if find_position(name) < first:
            (archive.log / f"{name}{ENDING}").unlink()
    folder, base = kept[0]
    there = frozenset(msgspec.json.decode((folder / BASE_FILES).read_bytes(), type=list[str]))
    for path in archive.files.rglob("*"):
        name = path.relative_to(archive.files).as_posix()
        is_older = path.is_file() and path.stat().st_mtime < base.started_at.timestamp()
        if is_older and name not in there:
            path.unlink()
