"""Provide the database to short commands: the configured one, or the embedded one, which is started
if it is not running. Also `dunwell migrate`, which upgrades the schema of this database."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg
import click

from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.operations.recovery.archive import open_embedded
from dunwell.platform.config import Settings
from dunwell.platform.database.migrate import load_revisions, migrate
from dunwell.platform.embedded.folder_lock import FolderInUse, FolderLock
from dunwell.platform.embedded.postgres import EmbeddedPostgres, PostgresFailed, stop_server

_TIMEOUT_SECONDS = 30.0


@click.command("migrate")
@data_dir_option
def command(data_dir: str | None) -> None:
    """Upgrade the database to the newest schema. Safe to run at any time."""
    settings = read_settings("migrate", data_dir=data_dir)
    with provide_database(settings, "migrate") as url:
        migrate(url)
        revision, _ = load_revisions(url)
    click.echo(f"migrated to {revision}")


@contextmanager
def provide_database(settings: Settings, command: str) -> Iterator[str]:
    """Yield the URL of a database that accepts connections.

    While `dunwell up` runs, its embedded database is used. Otherwise, the embedded database is
    started and migrated for the duration of the command. If another short command uses the same
    folder, this one waits for it.
    """
    if settings.database_url is not None:
        yield settings.database_url
        return
    embedded = open_embedded(settings)
    lock = _try_lock_folder(settings, command)
    if lock is None:
        _wait_until_current(embedded)
        yield embedded.url
        return
    server = embedded.start()
    try:
        revision, newest = load_revisions(embedded.url)
        if revision != newest:
            migrate(embedded.url)
        yield embedded.url
    finally:
        stop_server(server)
        lock.release()


def _try_lock_folder(settings: Settings, command: str) -> FolderLock | None:
    """Return the folder's lock, or None when `dunwell up` holds it."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            return FolderLock.acquire(settings.data_dir, command)
        except FolderInUse as taken:
            if taken.command == "up":
                return None
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def _wait_until_current(embedded: EmbeddedPostgres) -> None:
    """Wait until the database is migrated: `dunwell up` may still be starting it."""
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        try:
            revision, newest = load_revisions(embedded.url)
        except (OSError, asyncpg.PostgresError):
            revision, newest = None, ""
        if revision == newest:
            return
        time.sleep(0.1)
    raise PostgresFailed("The running database does not respond. See postgres.log in its folder.")
