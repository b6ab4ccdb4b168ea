"""How an archive stands, as `dunwell doctor` tells it: until when it reaches, whether it is behind,
and whether its last base is old."""

from datetime import datetime, timedelta
from pathlib import Path

import asyncpg
import msgspec

from dunwell.operations.recovery.archive import BASE_EVERY, ArchiveStatus, WalArchive, load_standing

_MOST_BEHIND = timedelta(minutes=5)
_BASE_LATE = timedelta(days=1)
_LOG = """
SELECT pg_postmaster_start_time(), clock_timestamp(),
    (SELECT sum(size)::bigint FROM pg_ls_waldir()),
    coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false)
FROM pg_stat_archiver
"""


class ServerLog(msgspec.Struct, frozen=True, gc=False):
    """How the embedded server stands with its log."""

    started_at: datetime
    now: datetime
    size_bytes: int
    is_failing: bool


async def ask_log(url: str) -> ServerLog:
    connection = await asyncpg.connect(url, timeout=10)
    try:
        return ServerLog(*await connection.fetchrow(_LOG))
    finally:
        await connection.close()


async def check_archive(folder: Path | None, url: str) -> tuple[str, str | None] | None:
    """Words on it, and what to do if something is wrong; none where nothing is archived."""
    if folder is None:
        return None
    try:
        standing = load_standing(WalArchive(folder))
    except OSError:
        standing = ArchiveStatus(0, None, None)
    return describe_archive(standing, await ask_log(url))


def describe_archive(archive: ArchiveStatus, log: ServerLog) -> tuple[str, str | None]:
    """What is lost with this host is what is not in the archive."""
    words = "nothing is in it yet" if archive.until is None else f"reaches until {archive.until}"
    behind = log.now - max(archive.until or log.started_at, log.started_at)
    if log.is_failing or behind > _MOST_BEHIND:
        return (
            f"{words}; {log.size_bytes >> 20} MiB of log are on this host",
            "See that DUNWELL_ARCHIVE_DIR is there and has room; postgres.log says what fails.",
        )
    if archive.based_at is not None and log.now - archive.based_at > BASE_EVERY + _BASE_LATE:
        return (
            f"{words}; its last base is of {archive.based_at}",
            "See the log of dunwell up for why no newer one is taken.",
        )
    return f"{words}, by {archive.bases} base backups", None
