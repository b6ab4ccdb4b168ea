"""Restore the embedded database from the archive as of a moment.

1. Choose the last base backup that ended before the moment.
2. Check that the archived log reaches from it to the moment, and check the keys and the folder.
3. Unpack it into another folder, and let a server replay the log up to the moment.
4. Record that the installation is on hold, restore the files, and move the database into place.
"""

import asyncio
import shutil
import sys
import tarfile
from datetime import datetime
from pathlib import Path

import asyncpg

from dunwell.operations.recovery.archive import (
    BASE,
    BASE_LOG,
    ArchiveUnusable,
    BaseBackup,
    WalArchive,
    chown_to_server,
    find_missing_segment,
    load_reach,
)
from dunwell.operations.recovery.back_up import check_installation_fits
from dunwell.operations.recovery.backup_set import restored_files
from dunwell.operations.recovery.restore_hold import RECORD_RESTORE
from dunwell.operations.recovery.wal_file import render_get_command
from dunwell.platform.config import Settings
from dunwell.platform.embedded.folder_lock import FolderLock
from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_embedded_postgres, stop_server
from dunwell.platform.errors import InvalidState


def restore_to_moment(settings: Settings, archive: WalArchive, until: datetime) -> None:
    """Restore everything or nothing. The installation is on hold afterwards. Raises
    ArchiveUnusable, BackupUnusable, InvalidState, FolderInUse, PostgresFailed and OSError."""
    lock = FolderLock.acquire(settings.data_dir, "restore")
    try:
        _rebuild(settings, archive, _find_base(settings, archive, until), until)
    finally:
        lock.release()


def _find_base(settings: Settings, archive: WalArchive, until: datetime) -> Path:
    """Return the folder of the base backup to start from. Raises ArchiveUnusable, BackupUnusable
    and InvalidState."""
    folder, base = _choose_base(archive, until)
    check_installation_fits(settings, base)
    data = get_embedded_postgres(settings).folder / "data"
    if data.exists():
        raise InvalidState(
            f"{data} already exists. A point in time can only be restored into an empty "
            "installation."
        )
    return folder


def _choose_base(archive: WalArchive, until: datetime) -> tuple[Path, BaseBackup]:
    bases = archive.list_bases()
    if not bases:
        raise ArchiveUnusable(f"{archive.folder} contains no base backup yet.")
    earlier = [each for each in bases if each[1].ended_at <= until]
    if not earlier:
        raise ArchiveUnusable(f"The archive begins at {bases[0][1].ended_at.isoformat()}.")
    folder, base = earlier[-1]
    reach = load_reach(folder)
    if reach is None or reach.until < until:
        end = base.ended_at if reach is None else reach.until
        words = f"From there the archive reaches until {end.isoformat()}, not {until.isoformat()}."
        if len(bases) > len(earlier):
            words += f" It begins again at {bases[len(earlier)][1].ended_at.isoformat()}."
        raise ArchiveUnusable(words)
    missing = find_missing_segment(archive.list_segments(), base.start_segment, reach.segment)
    if missing is not None:
        raise ArchiveUnusable(f"The archive has a gap: {missing} of its log is missing.")
    return folder, base


def _rebuild(settings: Settings, archive: WalArchive, base: Path, until: datetime) -> None:
    final = get_embedded_postgres(settings)
    draft = EmbeddedPostgres(
        final.folder.with_name("postgres.draft"),
        final.binaries,
        settings={
            "archive_mode": "off",
            "hot_standby": "off",  # The server accepts connections only once recovery is complete.
            "restore_command": render_get_command(archive.log),
            "recovery_target_time": until.isoformat(),
            "recovery_target_timeline": "current",
            "recovery_target_action": "promote",
        },
        readable_folders=(
            archive.log,
            Path(__file__).parent,
            Path(sys.executable).resolve().parent,
        ),
    )
    shutil.rmtree(draft.folder, ignore_errors=True)
    try:
        _unpack(base, draft.folder / "data")
        server = draft.start(timeout_seconds=0)
        try:
            asyncio.run(_record_hold(draft.url, until))
        finally:
            stop_server(server)
        with restored_files(settings, archive.files):
            shutil.rmtree(final.folder, ignore_errors=True)
            draft.folder.rename(final.folder)
    except BaseException:
        shutil.rmtree(draft.folder, ignore_errors=True)
        raise


def _unpack(base: Path, data: Path) -> None:
    data.mkdir(mode=0o700, parents=True)
    for name, folder in ((BASE, data), (BASE_LOG, data / "pg_wal")):
        with tarfile.open(base / name) as archive_file:
            archive_file.extractall(folder, filter="data")
    (data / "recovery.signal").touch()
    for path in (data.parent, data, *data.rglob("*")):
        chown_to_server(path)


async def _record_hold(url: str, until: datetime) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(RECORD_RESTORE, until)
    finally:
        await connection.close()
