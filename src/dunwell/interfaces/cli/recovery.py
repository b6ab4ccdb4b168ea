"""`dunwell backup` and `dunwell restore` (docs/operator/recovery.md), and `dunwell archive`, which
archives the embedded database as a child process of `dunwell up`.
"""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import click

from dunwell.interfaces.cli.database import provide_database
from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.interfaces.cli.work import run_query
from dunwell.operations.recovery.archive import WalArchive
from dunwell.operations.recovery.back_up import back_up, check_restorable
from dunwell.operations.recovery.back_up import restore as restore_backup
from dunwell.operations.recovery.backup_set import DUMP, BackupManifest
from dunwell.operations.recovery.keep_archive import keep_archive
from dunwell.operations.recovery.point_in_time import restore_to_moment
from dunwell.operations.recovery.restore_hold import hold_installation, resume_installation
from dunwell.operations.recovery.verify_backup import verify_backup
from dunwell.platform.children.process import end_with_parent
from dunwell.platform.config import Settings
from dunwell.platform.embedded.folder_lock import FolderLock
from dunwell.platform.embedded.postgres import get_embedded_postgres, stop_server
from dunwell.platform.errors import InvalidState

_TIME = click.DateTime(["%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%dT%H:%M:%S.%f%z"])
_HOLD_MESSAGE = """\
restored as of {taken_at}. The worker does nothing until you state until when messages may have been
sent that are not in this database:
  dunwell restore --resume --lost-until {taken_at}   # if nothing ran after the backup
  dunwell restore --resume --lost-until TIME         # else: when the lost installation stopped"""


class _BackupGroup(click.Group):
    """A group whose first argument is a folder, unless it names a subcommand. A folder of such a
    name is given as a path, for example ./verify."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_about_group = not args or args[0] in ctx.help_option_names
        if not is_about_group and args[0] not in self.commands:
            args = ["take", *args]
        return super().parse_args(ctx, args)


@click.group("backup", cls=_BackupGroup)
def backup() -> None:
    """Write database and files into a new FOLDER: dunwell backup FOLDER.

    With verify, check that such a FOLDER can be restored.
    """


@backup.command("take", hidden=True)
@data_dir_option
@click.argument("folder", type=click.Path(path_type=Path))
def take(data_dir: str | None, folder: Path) -> None:
    """Write database and files into a new FOLDER while the service runs. The secret key is not
    included."""
    settings = read_settings("backup", data_dir=data_dir)
    with provide_database(settings, "backup") as url:
        manifest = back_up(settings, url, folder)
    rows = sum(each.rows for each in manifest.tables.values())
    click.echo(
        f"backed up as of {manifest.taken_at.isoformat()}: {rows} rows, "
        f"{_count_files(manifest)} files"
    )
    if manifest.left_out:
        names = ", ".join(manifest.left_out)
        click.echo(f"not included, because they are not Dunwell's: the tables {names}", err=True)
    if manifest.files_elsewhere is not None:
        click.echo("uploads are in an object store and not included", err=True)
    click.echo("the secret key is not included: keep a copy elsewhere", err=True)


@backup.command("verify")
@data_dir_option
@click.argument("folder", type=click.Path(path_type=Path))
def verify(data_dir: str | None, folder: Path) -> None:
    """Restore the backup in FOLDER into a temporary database, compare it with the manifest, and
    print the number of rows of each table. The installation's database is not changed."""
    manifest = verify_backup(read_settings("backup", data_dir=data_dir), folder)
    for name, table in manifest.tables.items():
        if table.rows:
            click.echo(f"{table.rows:>12} {name}")
    rows = sum(each.rows for each in manifest.tables.values())
    click.echo(
        f"restored as of {manifest.taken_at.isoformat()}, complete: {rows} rows in "
        f"{len(manifest.tables)} tables, {_count_files(manifest)} files"
    )


def _count_files(manifest: BackupManifest) -> int:
    """Return the number of the installation's files, without those that contain the rows."""
    return sum(not each.path.startswith(f"{DUMP}/") for each in manifest.files)


@click.command("restore")
@data_dir_option
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option(
    "--hold", "taken_at", type=_TIME, help="The database was restored as of TIME with other tools."
)
@click.option("--resume", "is_resuming", is_flag=True, help="Resume a restored installation.")
@click.option("--lost-until", type=_TIME, help="The time until which messages may have been sent.")
@click.option("--until", type=_TIME, help="Restore TIME from the archive in FOLDER.")
def restore(
    data_dir: str | None, folder: Path | None, taken_at: datetime | None,
    lost_until: datetime | None, until: datetime | None, *, is_resuming: bool,
) -> None:  # fmt: skip
    """Restore the backup in FOLDER into an empty installation, or with --until a point in time from
    the archive (DUNWELL_ARCHIVE_DIR, or FOLDER). The worker then does nothing until --resume
    --lost-until TIME, which pauses claims whose debtors may have been contacted since."""
    if until is not None and (taken_at, is_resuming, lost_until) == (None, False, None):
        _restore_until(data_dir, folder, until)
        return
    match folder, taken_at, is_resuming, lost_until:
        case Path(), None, False, None if until is None:
            _restore(data_dir, folder)
        case None, datetime(), False, None if until is None:
            since = taken_at
            run_query(data_dir, "restore", lambda resources: hold_installation(resources, since))
            click.echo(_HOLD_MESSAGE.format(taken_at=taken_at.isoformat()))
        case None, None, True, datetime() if until is None:
            until = lost_until
            paused = run_query(
                data_dir, "restore", lambda resources: resume_installation(resources, until)
            )
            click.echo(
                f"resumed; {paused} claims are paused because their debtors may have been contacted"
            )
        case _:
            raise click.UsageError(
                "Give FOLDER, or --until TIME, or --hold TIME, or --resume with --lost-until TIME."
            )


def _restore(data_dir: str | None, folder: Path) -> None:
    settings = read_settings("restore", data_dir=data_dir)
    manifest = check_restorable(settings, folder)
    with _provide_unmigrated_database(settings) as url:
        restore_backup(settings, url, folder, manifest)
    click.echo(_HOLD_MESSAGE.format(taken_at=manifest.taken_at.isoformat()))


def _restore_until(data_dir: str | None, folder: Path | None, until: datetime) -> None:
    settings = read_settings("restore", data_dir=data_dir)
    if settings.database_url is not None:
        raise InvalidState("DUNWELL_DATABASE_URL is set. Restore with your server's own tools.")
    archive_folder = folder or settings.archive_dir
    if archive_folder is None:
        raise click.UsageError("Give the archive's FOLDER, or set DUNWELL_ARCHIVE_DIR.")
    restore_to_moment(settings, WalArchive(archive_folder.resolve()), until)
    click.echo(_HOLD_MESSAGE.format(taken_at=until.isoformat()))


@contextmanager
def _provide_unmigrated_database(settings: Settings) -> Iterator[str]:
    """Provide the database without migrating it."""
    if settings.database_url is not None:
        yield settings.database_url
        return
    lock = FolderLock.acquire(settings.data_dir, "restore")
    embedded = get_embedded_postgres(settings)
    server = embedded.start()
    try:
        yield embedded.url
    finally:
        stop_server(server)
        lock.release()


@click.command("archive")
@data_dir_option
@click.option(
    "--parent", type=int, hidden=True, help="An inherited pipe that closes when the parent ends."
)
@click.option("--operators-listener", type=int, hidden=True, help="Not used.")
def archive(data_dir: str | None, parent: int | None, operators_listener: int | None) -> None:  # noqa: ARG001 - every child process gets it
    """Copy files to DUNWELL_ARCHIVE_DIR and take base backups. Started by `dunwell up`."""
    if parent is None:
        raise InvalidState("dunwell up runs this where DUNWELL_ARCHIVE_DIR is set.")
    end_with_parent(parent)
    settings = read_settings("archive", data_dir=data_dir)
    assert settings.archive_dir is not None, "dunwell up starts it only if it is set"
    asyncio.run(_run_archive(settings, WalArchive(settings.archive_dir)))


async def _run_archive(settings: Settings, archive: WalArchive) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await keep_archive(settings, archive, get_embedded_postgres(settings), stop)
