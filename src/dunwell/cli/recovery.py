"""`dunwell backup` and `dunwell restore` (docs/operator/recovery.md)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click

from dunwell.cli.database import reach_database
from dunwell.cli.options import data_dir_option, read_settings
from dunwell.cli.work import run_reading
from dunwell.config import Settings
from dunwell.errors import InvalidState
from dunwell.kit.folder_lock import FolderLock
from dunwell.kit.postgres import find_embedded, stop_server
from dunwell.recovery.archive import Archive
from dunwell.recovery.back_up import back_up, check_restorable
from dunwell.recovery.back_up import restore as restore_backup
from dunwell.recovery.hold import hold, resume
from dunwell.recovery.point_in_time import go_back

_TIME = click.DateTime(["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"])
_HELD = """\
restored as of {taken_at}. The worker does nothing until you say until when messages may have been
sent that this database does not know:
  dunwell restore --resume --lost-until {taken_at}   # if nothing ran after the backup
  dunwell restore --resume --lost-until TIME         # else: when the lost installation stopped"""


@click.command("backup")
@data_dir_option
@click.argument("folder", type=click.Path(path_type=Path))
def backup(data_dir: str | None, folder: Path) -> None:
    """Write database and files into a new FOLDER, while everything runs. No key is in it."""
    settings = read_settings("backup", data_dir=data_dir)
    with reach_database(settings, "backup") as url:
        manifest = back_up(settings, url, folder)
    click.echo(f"backed up as of {manifest.taken_at.isoformat()}: {len(manifest.files)} files")
    if manifest.files_elsewhere is not None:
        click.echo("uploads are in an object store, which keeps them itself", err=True)
    click.echo("the secret key is not in it: keep a copy elsewhere", err=True)


@click.command("restore")
@data_dir_option
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--hold", "taken_at", type=_TIME, help="The database was restored as of TIME by others."
)
@click.option("--resume", "is_resuming", is_flag=True, help="Let a restored installation go on.")
@click.option("--lost-until", type=_TIME, help="Until then messages may have been sent.")
@click.option("--until", type=_TIME, help="Go back to TIME, by the archive in FOLDER.")
def restore(
    data_dir: str | None, folder: Path | None, taken_at: datetime | None,
    lost_until: datetime | None, until: datetime | None, *, is_resuming: bool,
) -> None:  # fmt: skip
    """Restore the backup in FOLDER where nothing is yet, or with --until a moment of the archive
    (DUNWELL_ARCHIVE_DIR, or FOLDER); the worker then does nothing until --resume --lost-until TIME,
    which pauses claims that may have been contacted meanwhile."""
    if until is not None and (taken_at, is_resuming, lost_until) == (None, False, None):
        _restore_until(data_dir, folder, until)
        return
    match folder, taken_at, is_resuming, lost_until:
        case Path(), None, False, None if until is None:
            _restore(data_dir, folder)
        case None, datetime(), False, None if until is None:
            since = taken_at
            run_reading(data_dir, "restore", lambda resources: hold(resources, since))
            click.echo(_HELD.format(taken_at=taken_at.isoformat()))
        case None, None, True, datetime() if until is None:
            until = lost_until
            paused = run_reading(data_dir, "restore", lambda resources: resume(resources, until))
            click.echo(f"resumed; {paused} claims are paused that may have been contacted")
        case _:
            raise click.UsageError(
                "Name a FOLDER, or give --until TIME, or --hold TIME, or --resume with "
                "--lost-until TIME."
            )


def _restore(data_dir: str | None, folder: Path) -> None:
    settings = read_settings("restore", data_dir=data_dir)
    manifest = check_restorable(settings, folder)
    with _reach_empty(settings) as url:
        restore_backup(settings, url, folder, manifest)
    click.echo(_HELD.format(taken_at=manifest.taken_at.isoformat()))


def _restore_until(data_dir: str | None, folder: Path | None, until: datetime) -> None:
    settings = read_settings("restore", data_dir=data_dir)
    if settings.database_url is not None:
        raise InvalidState("DUNWELL_DATABASE_URL is set: go back by your server's own tools.")
    place = folder or settings.archive_dir
    if place is None:
        raise click.UsageError("Name the archive, or set DUNWELL_ARCHIVE_DIR.")
    go_back(settings, Archive(place.resolve()), until)
    click.echo(_HELD.format(taken_at=until.isoformat()))


@contextmanager
def _reach_empty(settings: Settings) -> Iterator[str]:
    """The address of the database as it is: a new one of this host is not migrated."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    lock = FolderLock.acquire(settings.data_dir, "restore")
    embedded = find_embedded(settings)
    server = embedded.start()
    try:
        yield embedded.url
    finally:
        stop_server(server)
        lock.release()
