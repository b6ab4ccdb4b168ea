"""`dunwell credential`: what merchants' programs identify themselves with (CONTRACT 2)."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from dunwell.cli.database import reach_database
from dunwell.cli.options import data_dir_option, read_settings
from dunwell.config import Settings
from dunwell.errors import NotFound
from dunwell.kit.clock import Clock
from dunwell.kit.db import Connection
from dunwell.kit.resources import Resources
from dunwell.merchants.account import Work
from dunwell.merchants.actor import Actor, ActorKind
from dunwell.merchants.allow_credential import allow_credential
from dunwell.merchants.create_credential import REQUESTS_PER_MINUTE, create_credential
from dunwell.merchants.lookup import find_credential, find_merchant_id_by_key
from dunwell.merchants.revoke_credential import revoke_credential
from dunwell.merchants.rotate_credential import rotate_credential
from dunwell.merchants.secrets import (
    CREDENTIAL_RANDOM_BYTES,
    SECRET_RANDOM_BYTES,
    NewCredential,
)
from dunwell.merchants.store import load_merchant
from dunwell.wiring import open_resources

_Answer = TypeVar("_Answer")
_Find = Callable[[Connection], Awaitable[int]]
_Change = Callable[[Work, Clock], Awaitable[_Answer]]


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

    async def change(work: Work, clock: Clock) -> NewCredential:
        randomness = secrets.token_bytes(CREDENTIAL_RANDOM_BYTES)
        return await create_credential(
            work, name, now=clock.now(), randomness=randomness,
            requests_per_minute=requests_per_minute,
        )  # fmt: skip

    _show(_run(data_dir, _merchant_of_key(merchant), change))


@command.command("revoke")
@data_dir_option
@click.argument("client_id")
def revoke(data_dir: str | None, client_id: str) -> None:
    """Revoke the credential CLIENT_ID: it and its tokens stop working at once."""

    async def change(work: Work, clock: Clock) -> None:
        await revoke_credential(work, client_id, now=clock.now())

    _run(data_dir, _owner_of_credential(client_id), change)
    click.echo(f"revoked {client_id}")


@command.command("rotate")
@data_dir_option
@click.argument("client_id")
def rotate(data_dir: str | None, client_id: str) -> None:
    """Give the credential CLIENT_ID a new secret; the old one works for 24 hours more."""

    async def change(work: Work, clock: Clock) -> NewCredential:
        randomness = secrets.token_bytes(SECRET_RANDOM_BYTES)
        return await rotate_credential(work, client_id, now=clock.now(), randomness=randomness)

    _show(_run(data_dir, _owner_of_credential(client_id), change))


@command.command("allow")
@data_dir_option
@click.argument("client_id")
@click.argument("merchant")
def allow(data_dir: str | None, client_id: str, merchant: str) -> None:
    """Let the credential CLIENT_ID reach MERCHANT (its key) too."""

    async def change(work: Work, clock: Clock) -> bool:
        return await allow_credential(work, client_id, now=clock.now())

    is_new = _run(data_dir, _merchant_of_key(merchant), change)
    click.echo(f"{client_id} {'now reaches' if is_new else 'reaches already'} {merchant}")


def _show(credential: NewCredential) -> None:
    click.echo(f"client_id      {credential.client_id}")
    click.echo(f"client_secret  {credential.client_secret}")
    click.echo("The secret is shown this once only; keep it safe.", err=True)


def _merchant_of_key(key: str) -> _Find:
    async def find(tx: Connection) -> int:
        merchant_id = await find_merchant_id_by_key(tx, key)
        if merchant_id is None:
            raise NotFound(f"There is no merchant {key}. Check the key, or apply its file first.")
        return merchant_id

    return find


def _owner_of_credential(client_id: str) -> _Find:
    async def find(tx: Connection) -> int:
        credential = await find_credential(tx, client_id)
        if credential is None:
            raise NotFound(f"There is no credential {client_id}. Check the client id.")
        return credential.owner_id

    return find


def _run(data_dir: str | None, find: _Find, change: _Change[_Answer]) -> _Answer:
    settings = read_settings("credential", data_dir=data_dir)
    with reach_database(settings, "credential"):
        return asyncio.run(_change(settings, find, change))


async def _change(settings: Settings, find: _Find, change: _Change[_Answer]) -> _Answer:
    """One use case in one transaction, as the operator."""
    async with (
        open_resources(settings, "credential") as resources,
        resources.database.transaction() as tx,
    ):
        work = await _open_work(resources, tx, await find(tx))
        return await change(work, resources.clock)


async def _open_work(resources: Resources, tx: Connection, merchant_id: int) -> Work:
    merchant = await load_merchant(tx, merchant_id)
    assert merchant is not None, "found in this transaction"
    actor = Actor(ActorKind.OPERATOR, "command line")
    return Work(tx, merchant, actor, merchant.now(resources.clock), resources.ids)
