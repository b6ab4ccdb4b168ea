"""`dunwell config`: the effective settings, secrets as set or not set only."""

import click

from dunwell.cli.options import data_dir_option, read_settings
from dunwell.config import render_settings


@click.command("config")
@data_dir_option
def command(data_dir: str | None) -> None:
    """Show the effective settings, without secrets."""
    settings = read_settings("config", data_dir=data_dir)
    for name, value in render_settings(settings).items():
        click.echo(f"{name}={value}")
