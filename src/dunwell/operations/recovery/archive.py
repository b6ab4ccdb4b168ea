"""The archive of the embedded database as a folder: base backups, the log since the oldest of them,
copies of the files, and which of them are kept.
"""

import contextlib
import os
import shutil
import struct
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import asyncpg
import msgspec

from dunwell.operations.recovery.wal_file import ENDING, render_put_command, sync_folder
from dunwell.platform.config import Settings
from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_embedded_postgres
from dunwell.platform.embedded.postgres_user import get_server_user
from dunwell.platform.errors import InvalidState

MANIFEST, BASE, BASE_LOG, BASE_FILES = "manifest.json", "base.tar.gz", "pg_wal.tar.gz", "files.json"
_REACH_FILE, _OWNER_FILE, _DRAFT = "reach.json", "database", ".draft"
# A file in the database's folder with the path of its archive. An unmounted disk leaves an empty
# folder, which must not be taken for a new archive.
_PATH_FILE = "archive"
_SEGMENTS_PER_LOG = 256
_SEGMENT_NAME_LENGTH = 24

T = TypeVar("T")


class ArchiveUnusable(InvalidState):
    """The archive is missing, belongs to another database, or cannot provide what is requested."""


class BaseBackup(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A base backup. Any moment from `ended_at` on can be restored with the log from
    `start_segment` on."""

    # The versions of Dunwell, of its schema and of PostgreSQL.
    dunwell: str
    schema: str
    server: str
    start_segment: str
    started_at: datetime
    ended_at: datetime
    fingerprints: Mapping[int, str]


class ArchiveReach(msgspec.Struct, frozen=True, gc=False):
    """Everything acknowledged before `until` is archived: files, and the log up to `segment`."""

    until: datetime
    segment: str


class WalArchive:
    """The folder of the archive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "log"
        self.bases = folder / "bases"
        self.files = folder / "files"

    def find_owner(self) -> str | None:
        """Return the system identifier of the database that this archive belongs to, None if none
        is recorded."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / _OWNER_FILE).read_text().strip()
        return None

    def prepare(self, postgres: EmbeddedPostgres, identifier: str) -> None:
        """Create the folders of a new archive, and record which database it belongs to. Raises
        ArchiveUnusable if it belongs to another database or has lost its content, and OSError."""
        owner, path_file = self.find_owner(), postgres.folder / _PATH_FILE
        if owner not in (None, identifier):
            raise _build_other_owner_error(self)
        known = path_file.read_text() if path_file.exists() else None
        if owner is None and known == str(self.folder):
            raise ArchiveUnusable(f"{self.folder} is empty or unavailable, but was in use before.")
        for folder in (self.folder, self.log, self.bases, self.files):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.folder, self.log):
            chown_to_server(folder)
        if owner is None:
            write_atomically(self.folder / _OWNER_FILE, identifier.encode())
        if known != str(self.folder):
            path_file.write_text(str(self.folder))

    def list_bases(self) -> list[tuple[Path, BaseBackup]]:
        """Return the complete base backups, oldest first."""
        found = [
            (path.parent, msgspec.json.decode(path.read_bytes(), type=BaseBackup))
            for path in self.bases.glob(f"*/{MANIFEST}")
            if not path.parent.name.endswith(_DRAFT)
        ]
        return sorted(found, key=lambda each: each[1].ended_at)

    def list_segments(self) -> set[str]:
        """Return the names of the log segments in the folder."""
        names = (each.name.removesuffix(ENDING) for each in self.log.glob(f"[0-9]*{ENDING}"))
        return {name for name in names if len(name) == _SEGMENT_NAME_LENGTH}

    def has_segment(self, segment: str) -> bool:
        return (self.log / f"{segment}{ENDING}").exists()

    def create_base_draft(self, name: str) -> Path:
        """Create the folder of a new base backup, and remove unfinished ones of other processes."""
        for left in self.bases.glob(f"*{_DRAFT}"):
            shutil.rmtree(left, ignore_errors=True)
        draft = self.bases / f"{name}{_DRAFT}"
        draft.mkdir(parents=True)
        return draft

    def finish_base(self, draft: Path, base: BaseBackup) -> None:
        """Write the manifest of a base backup, and give the backup its final name."""
        write_atomically(draft / MANIFEST, msgspec.json.format(msgspec.json.encode(base), indent=2))
        draft.rename(draft.with_name(draft.name.removesuffix(_DRAFT)))
        sync_folder(self.bases)


class ArchiveStatus(msgspec.Struct, frozen=True, gc=False):
    """When the last base backup started, and until when everything is archived."""

    base_count: int
    newest_base_at: datetime | None
    until: datetime | None


def load_archive_status(archive: WalArchive) -> ArchiveStatus:
    bases = archive.list_bases()
    if not bases:
        return ArchiveStatus(0, None, None)
    reach = load_reach(bases[-1][0])
    return ArchiveStatus(
        len(bases), bases[-1][1].started_at, None if reach is None else reach.until
    )


def save_reach(base: Path, reach: ArchiveReach) -> None:
    write_atomically(base / _REACH_FILE, msgspec.json.encode(reach))


def load_reach(base: Path) -> ArchiveReach | None:
    with contextlib.suppress(FileNotFoundError):
        return msgspec.json.decode((base / _REACH_FILE).read_bytes(), type=ArchiveReach)
    return None


def compute_log_position(segment: str) -> int:
    """Return the position of the segment in the log, whatever its timeline."""
    return int(segment[8:16], 16) * _SEGMENTS_PER_LOG + int(segment[16:24], 16)


def find_missing_segment(present: Iterable[str], first: str, last: str) -> str | None:
    """Return the first segment from `first` to `last` that is missing, or None. Both are of the
    same timeline."""
    present_names = frozenset(present)
    for position in range(compute_log_position(first), compute_log_position(last) + 1):
        log, segment = divmod(position, _SEGMENTS_PER_LOG)
        name = f"{first[:8]}{log:08X}{segment:08X}"
        if name not in present_names:
            return name
    return None


def open_embedded(settings: Settings) -> EmbeddedPostgres:
    """Open the server of the data folder, with archiving if it is configured. Raises
    ArchiveUnusable if the archive belongs to another database, because the logs would be mixed."""
    embedded = get_embedded_postgres(settings)
    if settings.archive_dir is None:
        return embedded
    archive = WalArchive(settings.archive_dir)
    try:
        owner = archive.find_owner()
    # The archive's disk may be missing. The service then continues, and `dunwell doctor` reports
    # the problem.
    except OSError:
        owner = None
    if owner is not None and owner != read_identifier(embedded):
        raise _build_other_owner_error(archive)
    readable = next(each for each in (archive.log, *archive.log.parents) if each.exists())
    return replace(
        embedded,
        settings={
            "archive_mode": "on",
            "archive_timeout": "60",
            "archive_command": render_put_command(archive.log),
        },
        readable_folders=(readable, Path(__file__).parent, Path(sys.executable).resolve().parent),
    )


def read_identifier(postgres: EmbeddedPostgres) -> str | None:
    """Return the system identifier of an initialized database, which is the first field of its
    control file."""
    with contextlib.suppress(FileNotFoundError):
        control = (postgres.folder / "data" / "global" / "pg_control").read_bytes()
        return str(struct.unpack_from("=Q", control)[0])
    return None


def write_atomically(path: Path, content: bytes) -> None:
    """Write the file so that a crash leaves either the old or the new content."""
    draft = path.with_name(f".{path.name}{_DRAFT}")
    with draft.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def chown_to_server(path: Path) -> None:
    """If this process runs as root, make the server's user the owner."""
    if os.geteuid() == 0:
        user = get_server_user()
        os.chown(path, user.pw_uid, user.pw_gid)


def _build_other_owner_error(archive: WalArchive) -> ArchiveUnusable:
    return ArchiveUnusable(
        f"{archive.folder} is the archive of another database. Restore from it (dunwell restore "
        "--until TIME), or name an empty folder as DUNWELL_ARCHIVE_DIR."
    )


BASE_INTERVAL = timedelta(days=7)
# How far back in time the database can be restored.
RESTORABLE_FOR = timedelta(days=14)

_Bases = Sequence[tuple[Path, BaseBackup]]


def extend_bases(archive: WalArchive, reach: ArchiveReach) -> bool:
    """For every base backup whose log has no gaps, record that it can be restored until `reach`.
    Delete what is no longer needed. Return False if none of these backups is recent, so that a new
    base backup must be taken."""
    bases, segments = archive.list_bases(), archive.list_segments()
    has_recent_base = False
    for folder, base in bases:
        if base.start_segment[:8] != reach.segment[:8]:
            continue
        if find_missing_segment(segments, base.start_segment, reach.segment) is None:
            save_reach(folder, reach)
            has_recent_base = has_recent_base or base.started_at > reach.until - BASE_INTERVAL
    _delete_unneeded(archive, bases, reach.until - RESTORABLE_FOR)
    return has_recent_base


def _delete_unneeded(archive: WalArchive, bases: _Bases, kept_since: datetime) -> None:
    """Delete what is only needed to restore moments before `kept_since`: of the base backups that
    ended by then, all except the newest; log segments before the first kept base backup; and copies
    of files that were already deleted when that base backup started."""
    older = [each for each in bases if each[1].ended_at <= kept_since]
    if len(older) < 2:
        return
    for folder, _ in older[:-1]:
        # From the renaming on, the folder does not count as a base backup.
        deleted = folder.with_name(f"{folder.name}.draft")
        folder.rename(deleted)
        shutil.rmtree(deleted)
    kept = bases[len(older) - 1 :]
    first = min(compute_log_position(base.start_segment) for _, base in kept)
    for name in archive.list_segments():
        if compute_log_position(name) < first:
            (archive.log / f"{name}{ENDING}").unlink()
    folder, base = kept[0]
    present_names = frozenset(
        msgspec.json.decode((folder / BASE_FILES).read_bytes(), type=list[str])
    )
    for path in archive.files.rglob("*"):
        name = path.relative_to(archive.files).as_posix()
        is_older = path.is_file() and path.stat().st_mtime < base.started_at.timestamp()
        if is_older and name not in present_names:
            path.unlink()


_MAX_ARCHIVE_DELAY = timedelta(minutes=5)
_MAX_BASE_DELAY = timedelta(days=1)
_LOAD_SERVER_LOG = """
SELECT pg_postmaster_start_time(), clock_timestamp(),
    (SELECT sum(size)::bigint FROM pg_ls_waldir()),
    coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
FROM pg_stat_archiver
"""


class ServerLog(msgspec.Struct, frozen=True, gc=False):
    """The state of the embedded server's log."""

    started_at: datetime
    now: datetime
    size_bytes: int
    # True if the last attempt to archive a segment failed.
    is_failing: bool


async def load_server_log(url: str) -> ServerLog:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        return ServerLog(*await connection.fetchrow(_LOAD_SERVER_LOG))
    finally:
        await connection.close()


async def check_archive(folder: Path | None, url: str) -> tuple[str, str | None] | None:
    """Return a description of the archive, with a remedy or None if nothing is wrong. Return None
    if no archive is configured."""
    if folder is None:
        return None
    try:
        status = load_archive_status(WalArchive(folder))
    except OSError:
        status = ArchiveStatus(0, None, None)
    return describe_archive(status, await load_server_log(url))


def describe_archive(archive: ArchiveStatus, log: ServerLog) -> tuple[str, str | None]:
    """Describe until when the archive is complete, since everything later would be lost with this
    host. Add a remedy if archiving fails or is late."""
    description = "it is still empty" if archive.until is None else f"reaches until {archive.until}"
    behind = log.now - max(archive.until or log.started_at, log.started_at)
    if log.is_failing or behind > _MAX_ARCHIVE_DELAY:
        return (
            f"{description}; {log.size_bytes >> 20} MiB of log are on this host",
            "Check that DUNWELL_ARCHIVE_DIR exists and has space; postgres.log shows the error.",
        )
    if (
        archive.newest_base_at is not None
        and log.now - archive.newest_base_at > BASE_INTERVAL + _MAX_BASE_DELAY
    ):
        return (
            f"{description}; its last base backup is from {archive.newest_base_at}",
            "The log of dunwell up shows why no newer one was taken.",
        )
    return f"{description}, by {archive.base_count} base backups", None
