"""Take a backup, and restore one into an empty installation."""

import shutil
from importlib.metadata import version
from pathlib import Path

import msgspec

from dunwell.operations.recovery.archive import BaseBackup
from dunwell.operations.recovery.backup_set import (
    DUMP,
    FORMAT,
    BackupManifest,
    BackupUnusable,
    copy_kept_files,
    describe_files,
    find_existing_file,
    find_uploads,
    load_manifest,
    restored_files,
    save_manifest,
)
from dunwell.operations.recovery.dump import check_target, dump_database, restore_database
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.migrate import list_revisions
from dunwell.platform.errors import InvalidState, Unavailable


class BackupFailed(Unavailable):
    """The backup could not be written. What was written of it was removed."""


def back_up(settings: Settings, url: str, target: Path) -> BackupManifest:
    """Write a backup into a new folder while the service runs. It contains everything acknowledged
    before the manifest's `taken_at`. Raises InvalidState or BackupFailed; the folder does not exist
    then, unless it existed before."""
    if target.exists():
        raise InvalidState(f"{target} already exists. Name a new folder.")
    if target.resolve().is_relative_to(settings.data_dir):
        raise InvalidState("A backup within the data folder would be lost with it.")
    draft = target.with_name(f"{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        (draft / DUMP).mkdir(parents=True)
        manifest = _write_backup(settings, url, draft)
        draft.rename(target)
    except OSError as error:
        raise BackupFailed(
            f"{target} cannot be written: {error.strerror}. Check that its disk has free space, or "
            "name another folder."
        ) from error
    finally:
        # Remove the partial backup after an error, so that it does not fill the disk. After the
        # rename there is nothing to remove.
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def _write_backup(settings: Settings, url: str, draft: Path) -> BackupManifest:
    dump = dump_database(url, draft / DUMP)
    copy_kept_files(settings, draft)
    manifest = BackupManifest(
        **msgspec.structs.asdict(dump),
        format=FORMAT, dunwell=version("dunwell"),
        fingerprints=fingerprint_keys(settings),
        files_elsewhere=None if find_uploads(settings) else settings.files_url,
        files=describe_files(draft),
    )  # fmt: skip
    save_manifest(draft, manifest)
    return manifest


def check_restorable(settings: Settings, backup: Path) -> BackupManifest:
    """Check that the backup is complete, and that this installation has its keys, knows its schema
    and has no files. Raises BackupUnusable and InvalidState."""
    manifest = load_manifest(backup)
    check_installation_fits(settings, manifest)
    return manifest


def fingerprint_keys(settings: Settings) -> dict[int, str]:
    """Return fingerprints that identify the versions of the secret key and reveal nothing else."""
    keys = KeyRing(settings.secret_key)
    return {each: keys.fingerprint(each).hex() for each in keys.versions}


def check_installation_fits(settings: Settings, manifest: BackupManifest | BaseBackup) -> None:
    """Check that this installation has the keys, knows the schema, and has no files. Raises
    BackupUnusable and InvalidState."""
    check_keys_and_schema(settings, manifest)
    existing = find_existing_file(settings)
    if existing is not None:
        raise InvalidState(
            f"{existing} already exists. A backup can only be restored into an empty installation."
        )


def check_keys_and_schema(settings: Settings, manifest: BackupManifest | BaseBackup) -> None:
    """Check that this installation has the keys of the backup and knows its schema. Raises
    BackupUnusable."""
    keys = KeyRing(settings.secret_key)
    for number, fingerprint in manifest.fingerprints.items():
        if number not in keys.versions:
            raise BackupUnusable(
                f"Version {number} of the secret key is missing, which this backup needs. Set the "
                "key that was in use when it was taken; it is in no backup."
            )
        if keys.fingerprint(number).hex() != fingerprint:
            raise BackupUnusable(
                f"Version {number} of the secret key differs from the one in use when this backup "
                "was taken. Set that one; it is in no backup."
            )
    if manifest.schema not in list_revisions():
        raise BackupUnusable(
            f"This backup is of Dunwell {manifest.dunwell}, which is newer. Install that first."
        )


def restore(settings: Settings, url: str, backup: Path, manifest: BackupManifest) -> None:
    """Restore everything or nothing. The installation is on hold afterwards. Raises InvalidState
    and OSError."""
    check_target(url)
    with restored_files(settings, backup):
        restore_database(url, backup / DUMP, manifest, restored_as_of=manifest.taken_at)
