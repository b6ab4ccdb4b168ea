"""`dunwell webhook`: the secrets merchants verify their webhooks with (CONTRACT 9)."""

import click

from dunwell.cli.options import data_dir_option
from dunwell.cli.work import merchant_of_key, run_change
from dunwell.errors import NotFound
from dunwell.events.endpoint import NewSecret
from dunwell.events.endpoints import load_endpoints, rotate_secret
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work


@click.group("webhook", no_args_is_help=False)
def command() -> None:
    """Give webhook endpoints new secrets."""


@command.command("rotate")
@data_dir_option
@click.argument("merchant")
@click.argument("url")
def rotate(data_dir: str | None, merchant: str, url: str) -> None:
    """Give the endpoint URL of MERCHANT (its key) a new secret; both sign for 24 hours."""

    async def change(work: Work, resources: Resources) -> NewSecret:
        endpoints = await load_endpoints(work.tx, work.merchant_id)
        found = [each.endpoint_id for each in endpoints if each.url == url]
        if not found:
            known = ", ".join(each.url for each in endpoints) or "none"
            raise NotFound(f"{merchant} has no webhook {url}. It has: {known}.")
        return await rotate_secret(work, resources.keys, found[0], resources.clock.now())

    new = run_change(data_dir, "webhook", merchant_of_key(merchant), change)
    click.echo(f"secret  {new.secret}")
    click.echo("The secret is shown this once only; keep it safe.", err=True)
