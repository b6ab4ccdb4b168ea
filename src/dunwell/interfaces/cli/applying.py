"""Implement `dunwell apply FILE`: create or update one merchant from its file (CONTRACT 11), or
apply the installation file (CONTRACT 15)."""

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path

import click
import msgspec

from dunwell.accounts.installation.apply_installation import (
    InstallationChanges,
    apply_installation,
    plan_installation,
    read_secret_files,
)
from dunwell.accounts.installation.installation_file import (
    Installation,
    check_installation,
    is_installation,
)
from dunwell.accounts.installation.store import load_installation
from dunwell.adapters.installed import list_adapters, list_payment_provider_names
from dunwell.interfaces.cli.database import provide_database
from dunwell.interfaces.cli.options import read_settings
from dunwell.interfaces.cli.output import show_progress
from dunwell.operations.merchant_file.apply_file import apply_file, plan_file
from dunwell.operations.merchant_file.changes import ApplyReport
from dunwell.operations.merchant_file.read_file import read_document
from dunwell.platform.config import Settings
from dunwell.platform.resources import open_resources


def apply(data_dir: str | None, file: Path, *, plan: bool, publish: bool, is_json: bool) -> None:
    """Apply the file, or with `plan` compute what it would change, and print the result."""
    settings = read_settings("apply", data_dir=data_dir)
    if sys.stderr.isatty():  # The user may be in another folder than the one that the service uses.
        click.echo(f"data folder: {settings.data_dir}", err=True)
    document = read_document(file)
    with provide_database(settings, "apply"):
        if is_installation(document):
            installation = check_installation(document)
            secrets = read_secret_files(file, installation)
            applied = asyncio.run(_apply_installation(settings, installation, secrets, plan=plan))
            _print_installation(applied, is_json=is_json)
            return
        report = asyncio.run(_apply(settings, file, plan=plan, publish=publish))
    if is_json:
        click.echo(msgspec.json.format(msgspec.json.encode(report.as_json())))
    else:
        click.echo(report.as_text())


async def _apply_installation(
    settings: Settings, installation: Installation, secrets: Mapping[str, bytes], *, plan: bool
) -> InstallationChanges:
    async with open_resources(settings, "apply") as resources:
        run = plan_installation if plan else apply_installation
        return await run(resources, installation, secrets)


def _print_installation(applied: InstallationChanges, *, is_json: bool) -> None:
    if is_json:
        output = {"revision": applied.revision, "changes": applied.changes}
        click.echo(msgspec.json.format(msgspec.json.encode(output)))
        return
    lines = [f"  {change}" for change in applied.changes] or ["  nothing to change"]
    click.echo("\n".join([f"Installation (revision {applied.revision})", *lines]))


async def _apply(settings: Settings, file: Path, *, plan: bool, publish: bool) -> ApplyReport:
    adapters = list_adapters(settings)
    async with open_resources(settings, "apply") as resources:
        async with resources.database.connection() as connection:
            providers = list_payment_provider_names(
                (await load_installation(connection)).installation
            )
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
