"""`dunwell explain`: why a claim stands where it stands. Its work is read when done."""

import click

from dunwell.cli.options import data_dir_option
from dunwell.cli.words import load


@click.command("explain")
@data_dir_option
@click.argument("merchant")
@click.argument("claim", type=int)
@click.option("--json", "is_json", is_flag=True, help="Answer as JSON.")
def command(data_dir: str | None, merchant: str, claim: int, is_json: bool) -> None:
    """Say why CLAIM (its id) of MERCHANT (its key) stands where it stands, and what comes next."""
    load("dunwell.cli.explaining:tell_explanation")(data_dir, merchant, claim, is_json=is_json)
