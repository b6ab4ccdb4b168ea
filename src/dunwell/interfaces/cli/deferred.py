"""`dunwell apply FILE` and `dunwell explain`. The modules that do the work are imported when the
command runs, so that showing the help stays fast."""

from pathlib import Path

import click

from dunwell.interfaces.cli.main import load_object
from dunwell.interfaces.cli.options import data_dir_option


@click.command("apply")
@data_dir_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--plan", is_flag=True, help="Only show what would change.")
@click.option(
    "--publish", is_flag=True, help="Publish changed workflows. Otherwise they become drafts."
)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def apply(data_dir: str | None, file: Path, plan: bool, publish: bool, is_json: bool) -> None:
    """Create or update a merchant, or the installation, from FILE and list the changes.

    Secrets are shown once.
    """
    do_apply = load_object("dunwell.interfaces.cli.applying:apply")
    do_apply(data_dir, file, plan=plan, publish=publish, is_json=is_json)


@click.command("explain")
@data_dir_option
@click.argument("merchant")
@click.argument("claim", type=int)
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def explain(data_dir: str | None, merchant: str, claim: int, is_json: bool) -> None:
    """Explain the status of CLAIM (its id) of MERCHANT (its key) and what happens next."""
    load_object("dunwell.interfaces.cli.explaining:print_explanation")(
        data_dir, merchant, claim, is_json=is_json
    )
