"""`dunwell migrate`: bring the database to the newest schema."""

import click

from dunwell.cli.database import reach_database
from dunwell.cli.options import data_dir_option, read_settings
from dunwell.kit.migrate import load_revisions, migrate


@click.command("migrate")
@data_dir_option
def command(data_dir: str | None) -> None:
    """Bring the database to the newest schema; safe to run at any time."""
    settings = read_settings("migrate", data_dir=data_dir)
    with reach_database(settings, "migrate") as url:
        migrate(url)
        revision, _ = load_revisions(url)
    click.echo(f"migrated to {revision}")
