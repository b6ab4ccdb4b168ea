"""`dunwell apply FILE`: create or update one merchant from its file (CONTRACT 11)."""

import asyncio
import sys
from pathlib import Path

import click
import msgspec

from dunwell.cli.database import reach_database
from dunwell.cli.options import data_dir_option, read_settings
from dunwell.cli.progress import show_progress
from dunwell.config import Settings
from dunwell.onboarding.apply import apply_file
from dunwell.onboarding.plan import plan_file
from dunwell.onboarding.report import ApplyReport
from dunwell.wiring import list_adapters, list_providers, open_resources


@click.command("apply")
@data_dir_option
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--plan", is_flag=True, help="Only say what would change.")
@click.option("--publish", is_flag=True, help="Publish changed workflows; else they become drafts.")
@click.option("--json", "is_json", is_flag=True, help="Answer as JSON.")
def command(data_dir: str | None, file: Path, plan: bool, publish: bool, is_json: bool) -> None:
    """Create or update a merchant from FILE and say what changed; secrets are shown once."""
    settings = read_settings("apply", data_dir=data_dir)
    if sys.stderr.isatty():  # a person may be in another folder than the service
        click.echo(f"data folder: {settings.data_dir}", err=True)
    with reach_database(settings, "apply"):
        report = asyncio.run(_apply(settings, file, plan=plan, publish=publish))
    if is_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report.as_json())))
    else:
        click.echo(report.as_text())


async def _apply(settings: Settings, file: Path, *, plan: bool, publish: bool) -> ApplyReport:
    adapters, providers = list_adapters(settings), list_providers(settings)
    async with open_resources(settings, "apply") as resources:
        if not plan:
            return await apply_file(
                resources, file, publish=publish,
                available_adapters=adapters, available_providers=providers,
            )  # fmt: skip
        with show_progress() as progress:
            return await plan_file(
                resources, file, publish=publish, progress=progress,
                available_adapters=adapters, available_providers=providers,
            )  # fmt: skip
