"""Shows that a backup can be restored: restores it into a scratch server and compares what is there
with what the backup says it holds. No database of the installation is touched.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from dunwell.operations.recovery.back_up import check_readable
from dunwell.operations.recovery.backup_set import DUMP, BackupUnusable, Manifest, load_manifest
from dunwell.operations.recovery.dump import StoredTable, compute_digests, restore_database
from dunwell.operations.recovery.scratch import run_scratch_server
from dunwell.platform.config import Settings


def verify_backup(settings: Settings, backup: Path) -> Manifest:
    """Raises BackupUnusable for a backup that is damaged, is not this installation's, or does not
    hold what it says; PostgresFailed and ScratchFull where this host cannot tell."""
    manifest = load_manifest(backup)
    check_readable(settings, manifest)
    with run_scratch_server(settings.pg_bin) as url:
        restore_database(url, backup / DUMP, manifest, restored_as_of=None)
        differences = [*find_differences(manifest.tables, compute_digests(url))]
    if differences:
        raise BackupUnusable(f"{'; '.join(differences)}. Take another backup.")
    return manifest


def find_differences(
    stored: Mapping[str, StoredTable], restored: Mapping[str, StoredTable]
) -> Iterator[str]:
    """Say of each table what differs."""
    for name in sorted(stored.keys() | restored.keys()):
        there, here = stored.get(name), restored.get(name)
        if there is None or here is None:
            yield f"{name} is {'not in the backup' if there is None else 'not restored'}"
        elif there.rows != here.rows:
            yield f"{name} has {here.rows} rows after the restore, and the backup {there.rows}"
        elif there.sha256 != here.sha256:
            yield f"{name} has other content after the restore than when the backup was taken"
