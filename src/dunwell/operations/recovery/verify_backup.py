"""Verify a backup: restore it into a temporary server and compare the result with the manifest."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import asyncpg

from dunwell.operations.recovery.back_up import check_keys_and_schema
from dunwell.operations.recovery.backup_set import (
    DUMP,
    BackupManifest,
    BackupUnusable,
    load_manifest,
)
from dunwell.operations.recovery.dump import StoredTable, compute_digests, restore_database
from dunwell.platform.config import Settings
from dunwell.platform.embedded.folder_lock import FolderInUse, FolderLock
from dunwell.platform.embedded.postgres import (
    EmbeddedPostgres,
    PostgresFailed,
    get_binaries_folder,
    stop_server,
)
from dunwell.platform.errors import Unavailable

_PREFIX = "dunwell-scratch-"
# A folder that is not locked yet has another prefix, so that it is not removed as abandoned.
_NEW_PREFIX = "dunwell-new-"
_COMMAND = "backup verify"
# The data need not survive a crash, and no log is written for replicas.
_SETTINGS = {
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}
# Deletes the folder again and again, because the server may continue to write for up to 20 s after
# the parent process has ended.
_GUARD = """
trap '' INT TERM HUP
cat > /dev/null
attempts=0
while [ -e "$1" ] && [ "$attempts" -lt 200 ]; do
  rm -rf -- "$1"
  attempts=$((attempts + 1))
  sleep 0.1
done
"""
# If less space than this is left, a server that failed is assumed to have run out of space.
_MIN_FREE_BYTES = 32 << 20


class ScratchFull(Unavailable):
    """The temporary folder has too little space."""


@contextmanager
def run_scratch_server(pg_bin: str | None) -> Iterator[str]:
    """Yield the address of an empty database. Raises PostgresFailed and ScratchFull."""
    binaries = get_binaries_folder(pg_bin)
    parent = Path(tempfile.gettempdir())
    remove_abandoned_folders(parent)
    folder = Path(tempfile.mkdtemp(prefix=_NEW_PREFIX, dir=parent))
    with _remove_after_exit(
        folder.with_name(folder.name.replace(_NEW_PREFIX, _PREFIX))
    ) as locked_folder:
        lock = FolderLock.acquire(folder, _COMMAND)
        folder = folder.rename(locked_folder)
        try:
            # The server's user must be able to pass through this folder. The server's own folder is
            # closed to other users.
            folder.chmod(0o711)
            yield from _run_server(
                EmbeddedPostgres(folder / "server", binaries, settings=_SETTINGS)
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()


def remove_abandoned_folders(parent: Path) -> None:
    """Remove the folders of scratch servers that were interrupted, for example by a power
    failure."""
    for folder in parent.glob(f"{_PREFIX}*"):
        # Other users may create entries in a temporary folder, including links, so only folders of
        # this user count.
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            continue
        with suppress(FolderInUse):
            lock = FolderLock.acquire(folder, _COMMAND, timeout_seconds=0)
            shutil.rmtree(folder, ignore_errors=True)
            lock.release()


def _run_server(postgres: EmbeddedPostgres) -> Iterator[str]:
    server = None
    try:
        server = postgres.start(timeout_seconds=0)
        yield postgres.url
    except (PostgresFailed, asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        free = shutil.disk_usage(postgres.folder).free
        if isinstance(error, asyncpg.DiskFullError) or free < _MIN_FREE_BYTES:
            raise ScratchFull(
                f"{postgres.folder.parents[1]} has too little space for the restored database. "
                "Free some, or set TMPDIR to a folder with more space."
            ) from error
        raise
    finally:
        if server is not None:
            stop_server(server)


@contextmanager
def _remove_after_exit(folder: Path) -> Iterator[Path]:
    """Make sure that the folder is removed after this process has ended, even if it is killed."""
    guard = subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", _GUARD, "guard", str(folder)], stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        yield folder
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait()


def verify_backup(settings: Settings, backup: Path) -> BackupManifest:
    """Verify the backup and return its manifest. Raises BackupUnusable if the backup is damaged,
    belongs to another installation, or does not contain what its manifest states; PostgresFailed
    and ScratchFull if this host cannot verify it."""
    manifest = load_manifest(backup)
    check_keys_and_schema(settings, manifest)
    with run_scratch_server(settings.pg_bin) as url:
        restore_database(url, backup / DUMP, manifest, restored_as_of=None)
        differences = [*find_differences(manifest.tables, compute_digests(url))]
    if differences:
        raise BackupUnusable(f"{'; '.join(differences)}. Take another backup.")
    return manifest


def find_differences(
    stored: Mapping[str, StoredTable], restored: Mapping[str, StoredTable]
) -> Iterator[str]:
    """Describe the differences of each table."""
    for name in sorted(stored.keys() | restored.keys()):
        in_backup, in_restore = stored.get(name), restored.get(name)
        if in_backup is None or in_restore is None:
            yield f"{name} is {'not in the backup' if in_backup is None else 'not restored'}"
        elif in_backup.rows != in_restore.rows:
            rows = f"{in_restore.rows} rows after the restore, and the backup {in_backup.rows}"
            yield f"{name} has {rows}"
        elif in_backup.sha256 != in_restore.sha256:
            yield f"{name} has different content after the restore than when the backup was taken"
