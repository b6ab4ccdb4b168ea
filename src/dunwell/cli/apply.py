"""`dunwell apply FILE`: a merchant's file, or the installation's. Its work is read when done."""

from pathlib import Path

import click

from dunwell.cli.options import data_dir_option
from dunwell.cli.words import load


@click.command("apply")
@data_dir_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--plan", is_flag=True, help="Only say what would change.")
@click.option("--publish", is_flag=True, help="Publish changed workflows; else they become drafts.")
@click.option("--json", "is_json", is_flag=True, help="Answer as JSON.")
def command(data_dir: str | None, file: Path, plan: bool, publish: bool, is_json: bool) -> None:
    """Create or update a merchant, or the installation, from FILE and say what changed.

    Secrets are shown once."""
    apply = load("dunwell.cli.applying:apply")
    apply(data_dir, file, plan=plan, publish=publish, is_json=is_json)
