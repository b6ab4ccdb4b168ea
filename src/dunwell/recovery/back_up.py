"""Takes a backup, and restores one into an installation that holds nothing yet."""

import asyncio
import shutil
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import asyncpg

from dunwell.config import Settings
from dunwell.errors import InvalidState
from dunwell.kit.crypto import KeyRing
from dunwell.kit.postgres import find_binaries
from dunwell.migrations.revisions import find_newest
from dunwell.recovery.archive import Base
from dunwell.recovery.backup_set import (
    DUMP,
    FORMAT,
    BackupUnusable,
    Manifest,
    copy_kept,
    describe_files,
    find_in_the_way,
    find_uploads,
    load_manifest,
    place_kept,
    save_manifest,
)
from dunwell.recovery.dump import dump_database, is_empty, restore_database

_STANDING = """
SELECT clock_timestamp(), version_num, current_setting('server_version') FROM alembic_version
"""


def back_up(settings: Settings, url: str, target: Path) -> Manifest:
    """Into a new folder, while everything runs. What was acknowledged before `taken_at` is in it.
    Raises InvalidState and DumpFailed; then there is no such folder."""
    if target.exists():
        raise InvalidState(f"{target} exists already. Name a folder that does not.")
    if target.resolve().is_relative_to(settings.data_dir):
        raise InvalidState("A backup within the data folder would be lost with it.")
    draft = target.with_name(f"{target.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    taken_at, schema, server = asyncio.run(_ask(url))
    dump_database(find_binaries(settings.pg_bin), url, draft / DUMP)
    copy_kept(settings, draft)
    manifest = Manifest(
        format=FORMAT, dunwell=version("dunwell"), schema=schema, server=server,
        taken_at=taken_at,
        fingerprints=fingerprint_keys(settings),
        files_elsewhere=None if find_uploads(settings) else settings.files_url,
        files=describe_files(draft),
    )  # fmt: skip
    save_manifest(draft, manifest)
    draft.rename(target)
    return manifest


async def _ask(url: str) -> tuple[datetime, str, str]:
    """The server's time, the schema's revision, the server's version."""
    connection = await asyncpg.connect(url)
    try:
        return tuple(await connection.fetchrow(_STANDING))
    finally:
        await connection.close()


def check_restorable(settings: Settings, backup: Path) -> Manifest:
    """That the backup is whole and this installation has its keys and no files. Raises
    BackupUnusable and InvalidState."""
    manifest = load_manifest(backup)
    check_fits(settings, manifest)
    return manifest


def fingerprint_keys(settings: Settings) -> dict[int, str]:
    """By which the versions of the secret key are known, and nothing else."""
    keys = KeyRing(settings.secret_key)
    return {each: keys.fingerprint(each).hex() for each in keys.versions}


def check_fits(settings: Settings, manifest: Manifest | Base) -> None:
    """That this installation has the keys, knows the schema, and has no files. Raises
    BackupUnusable and InvalidState."""
    keys = KeyRing(settings.secret_key)
    for number, fingerprint in manifest.fingerprints.items():
        if number not in keys.versions:
            raise BackupUnusable(
                f"Version {number} of the secret key is missing, which this backup needs. Set the "
                "key that was in use when it was taken; it is in no backup."
            )
        if keys.fingerprint(number).hex() != fingerprint:
            raise BackupUnusable(
                f"Version {number} of the secret key is another one than this backup was taken "
                "with. Set that one; it is in no backup."
            )
    if manifest.schema > find_newest():
        raise BackupUnusable(
            f"This backup is of Dunwell {manifest.dunwell}, which is newer. Install that first."
        )
    in_the_way = find_in_the_way(settings)
    if in_the_way is not None:
        raise InvalidState(f"{in_the_way} is there. A backup is restored where nothing is yet.")


def restore(settings: Settings, url: str, backup: Path, manifest: Manifest) -> None:
    """All of it or nothing; the installation is held afterwards. Raises InvalidState and
    DumpFailed."""
    binaries = find_binaries(settings.pg_bin)
    if not is_empty(binaries, url):
        raise InvalidState("The database has tables. A backup is restored into an empty one.")
    placed: list[Path] = []
    try:
        placed += place_kept(settings, backup)
        draft = settings.data_dir / "restoring.sql"
        restore_database(binaries, url, backup / DUMP, draft, taken_at=manifest.taken_at)
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
        raise
