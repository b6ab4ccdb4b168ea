"""`dunwell credential`: what merchants' programs identify themselves with (CONTRACT 2)."""

import secrets

import click

from dunwell.cli.options import data_dir_option
from dunwell.cli.work import Find, merchant_of_key, run_change
from dunwell.errors import NotFound
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.allow_credential import allow_credential
from dunwell.merchants.create_credential import REQUESTS_PER_MINUTE, create_credential
from dunwell.merchants.lookup import find_credential
from dunwell.merchants.revoke_credential import revoke_credential
from dunwell.merchants.rotate_credential import rotate_credential
from dunwell.merchants.secrets import (
    CREDENTIAL_RANDOM_BYTES,
    SECRET_RANDOM_BYTES,
    NewCredential,
)


@click.group("credential", no_args_is_help=False)
def command() -> None:
    """Create, revoke and rotate API credentials, and let them reach merchants."""


@command.command("create")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.option("--requests-per-minute", type=int, default=REQUESTS_PER_MINUTE, show_default=True)
def create(data_dir: str | None, merchant: str, name: str, requests_per_minute: int) -> None:
    """Create a credential called NAME for MERCHANT (its key)."""

    async def change(work: Work, resources: Resources) -> NewCredential:
        randomness = secrets.token_bytes(CREDENTIAL_RANDOM_BYTES)
        return await create_credential(
            work, name, now=resources.clock.now(), randomness=randomness,
            requests_per_minute=requests_per_minute,
        )  # fmt: skip

    _show(run_change(data_dir, "credential", merchant_of_key(merchant), change))


@command.command("revoke")
@data_dir_option
@click.argument("client_id")
def revoke(data_dir: str | None, client_id: str) -> None:
    """Revoke the credential CLIENT_ID: it and its tokens stop working at once."""

    async def change(work: Work, resources: Resources) -> None:
        await revoke_credential(work, client_id, now=resources.clock.now())

    run_change(data_dir, "credential", _owner_of_credential(client_id), change)
    click.echo(f"revoked {client_id}")


@command.command("rotate")
@data_dir_option
@click.argument("client_id")
def rotate(data_dir: str | None, client_id: str) -> None:
    """Give the credential CLIENT_ID a new secret; the old one works for 24 hours more."""

    async def change(work: Work, resources: Resources) -> NewCredential:
        randomness = secrets.token_bytes(SECRET_RANDOM_BYTES)
        return await rotate_credential(
            work, client_id, now=resources.clock.now(), randomness=randomness
        )

    _show(run_change(data_dir, "credential", _owner_of_credential(client_id), change))


@command.command("allow")
@data_dir_option
@click.argument("client_id")
@click.argument("merchant")
def allow(data_dir: str | None, client_id: str, merchant: str) -> None:
    """Let the credential CLIENT_ID reach MERCHANT (its key) too."""

    async def change(work: Work, resources: Resources) -> bool:
        return await allow_credential(work, client_id, now=resources.clock.now())

    is_new = run_change(data_dir, "credential", merchant_of_key(merchant), change)
    click.echo(f"{client_id} {'now reaches' if is_new else 'reaches already'} {merchant}")


def _show(credential: NewCredential) -> None:
    click.echo(f"client_id      {credential.client_id}")
    click.echo(f"client_secret  {credential.client_secret}")
    click.echo("The secret is shown this once only; keep it safe.", err=True)


def _owner_of_credential(client_id: str) -> Find:
    async def find(tx: Connection) -> int:
        credential = await find_credential(tx, client_id)
        if credential is None:
            raise NotFound(f"There is no credential {client_id}. Check the client id.")
        return credential.owner_id

    return find
