"""`dunwell archive`: archive the embedded database, as a child process of `dunwell up`."""

import asyncio
import signal

import click

from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.operations.recovery.archive import WalArchive
from dunwell.operations.recovery.keep_archive import keep_archive
from dunwell.platform.children.process import end_with_parent
from dunwell.platform.config import Settings
from dunwell.platform.embedded.postgres import get_embedded_postgres
from dunwell.platform.errors import InvalidState


@click.command("archive")
@data_dir_option
@click.option("--parent", type=int, hidden=True, help="An inherited pipe that ends with its owner.")
@click.option("--operators-listener", type=int, hidden=True, help="Not used.")
def command(data_dir: str | None, parent: int | None, operators_listener: int | None) -> None:  # noqa: ARG001 - what every child is given
    """Copy files to DUNWELL_ARCHIVE_DIR and take base backups. Started by `dunwell up`."""
    if parent is None:
        raise InvalidState("dunwell up runs this where DUNWELL_ARCHIVE_DIR is set.")
    end_with_parent(parent)
    settings = read_settings("archive", data_dir=data_dir)
    assert settings.archive_dir is not None, "up runs it only then"
    asyncio.run(_keep(settings, WalArchive(settings.archive_dir)))


async def _keep(settings: Settings, archive: WalArchive) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await keep_archive(settings, archive, get_embedded_postgres(settings), stop)
