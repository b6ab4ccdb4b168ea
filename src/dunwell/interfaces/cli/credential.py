"""`dunwell credential`: the API credentials of merchants (CONTRACT 2)."""

import secrets
import sys
from collections.abc import Sequence

import click

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.credentials.credential import REQUESTS_PER_MINUTE, Credential
from dunwell.accounts.merchants.credentials.credentials import (
    allow_credential,
    create_credential,
    disallow_credential,
    end_old_secret,
    list_credentials,
    revoke_credential,
    rotate_credential,
)
from dunwell.accounts.merchants.credentials.store import find_credential, find_token_owner
from dunwell.accounts.merchants.credentials.tokens import (
    CREDENTIAL_RANDOM_BYTES,
    SECRET_RANDOM_BYTES,
    NewCredential,
    hash_secret,
    revoke_token,
)
from dunwell.accounts.merchants.rights import Scope, order_scopes
from dunwell.interfaces.cli.options import data_dir_option
from dunwell.interfaces.cli.output import echo_json
from dunwell.interfaces.cli.work import FindMerchant, find_merchant_by_key, run_use_case
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources

_scope_option = click.option(
    "--scope",
    multiple=True,
    type=click.Choice([*Scope], case_sensitive=False),
    help="A scope; can be repeated. A new credential has scope ALL by default.",
)


@click.group("credential", no_args_is_help=False)
def command() -> None:
    """Create, rotate and revoke API credentials, and set which merchants they can access."""


@command.command("create")
@data_dir_option
@click.argument("merchant")
@click.argument("name")
@click.option("--requests-per-minute", type=int, default=REQUESTS_PER_MINUTE, show_default=True)
@_scope_option
def create(
    data_dir: str | None, merchant: str, name: str, requests_per_minute: int, scope: tuple[str, ...]
) -> None:
    """Create a credential called NAME for MERCHANT (its key)."""

    async def change(work: Work, _: Resources) -> NewCredential:
        randomness = secrets.token_bytes(CREDENTIAL_RANDOM_BYTES)
        return await create_credential(
            work, name, randomness=randomness, requests_per_minute=requests_per_minute,
            scopes=_parse_scopes(scope) or (Scope.ALL,),
        )  # fmt: skip

    _print_secret(run_use_case(data_dir, "credential", find_merchant_by_key(merchant), change))


@command.command("list")
@data_dir_option
@click.argument("merchant")
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def list_all(data_dir: str | None, merchant: str, *, is_json: bool) -> None:
    """List the credentials of MERCHANT (its key) with their scopes."""

    async def query(work: Work, _: Resources) -> Sequence[Credential]:
        return await list_credentials(work)

    credentials = run_use_case(data_dir, "credential", find_merchant_by_key(merchant), query)
    if is_json:
        echo_json([_build_json_view(each) for each in credentials])
        return
    for each in credentials:
        state = "active" if each.revoked_at is None else "revoked"
        scopes = ", ".join(each.scopes)
        click.echo(f"{each.client_id}  {state:<7}  {scopes:<19}  {each.name}")


@command.command("revoke")
@data_dir_option
@click.argument("client_id")
def revoke(data_dir: str | None, client_id: str) -> None:
    """Revoke the credential CLIENT_ID: it and its tokens stop working at once."""

    async def change(work: Work, _: Resources) -> None:
        await revoke_credential(work, client_id)

    run_use_case(data_dir, "credential", _find_merchant_of_credential(client_id), change)
    click.echo(f"revoked {client_id}")


@command.command("rotate")
@data_dir_option
@click.argument("client_id")
def rotate(data_dir: str | None, client_id: str) -> None:
    """Give the credential CLIENT_ID a new secret. The old one works for another 24 hours."""

    async def change(work: Work, _: Resources) -> NewCredential:
        randomness = secrets.token_bytes(SECRET_RANDOM_BYTES)
        return await rotate_credential(work, client_id, randomness=randomness)

    _print_secret(
        run_use_case(data_dir, "credential", _find_merchant_of_credential(client_id), change)
    )


@command.command("end-old-secret")
@data_dir_option
@click.argument("client_id")
def end_old(data_dir: str | None, client_id: str) -> None:
    """End the old secret of CLIENT_ID before the 24 hours after its rotation are over."""

    async def change(work: Work, _: Resources) -> None:
        await end_old_secret(work, client_id)

    run_use_case(data_dir, "credential", _find_merchant_of_credential(client_id), change)
    click.echo(f"only the newest secret of {client_id} works")


@command.command("revoke-token")
@data_dir_option
def revoke_one_token(data_dir: str | None) -> None:
    """Revoke the access token that is read from standard input. Its credential keeps working."""
    token = sys.stdin.readline().strip()

    async def change(work: Work, _: Resources) -> str:
        return await revoke_token(work, token)

    client_id = run_use_case(data_dir, "credential", _find_merchant_of_token(token), change)
    click.echo(f"revoked a token of {client_id}")


@command.command("allow")
@data_dir_option
@click.argument("client_id")
@click.argument("merchant")
@_scope_option
def allow(data_dir: str | None, client_id: str, merchant: str, scope: tuple[str, ...]) -> None:
    """Give the credential CLIENT_ID access to MERCHANT (its key).

    With --scope, set what the credential may do there. This also changes the scopes of existing
    access, including access to its own merchant, and takes effect at once.
    """
    scopes = _parse_scopes(scope)

    async def change(work: Work, _: Resources) -> bool:
        return await allow_credential(work, client_id, scopes or None)

    is_new = run_use_case(data_dir, "credential", find_merchant_by_key(merchant), change)
    how = f" with scope {', '.join(scopes)}" if scopes else ""
    click.echo(f"{client_id} {'now has' if is_new else 'already has'} access to {merchant}{how}")


@command.command("disallow")
@data_dir_option
@click.argument("client_id")
@click.argument("merchant")
def disallow(data_dir: str | None, client_id: str, merchant: str) -> None:
    """Remove the access of the credential CLIENT_ID to MERCHANT (its key), at once."""

    async def change(work: Work, _: Resources) -> bool:
        return await disallow_credential(work, client_id)

    had_access = run_use_case(data_dir, "credential", find_merchant_by_key(merchant), change)
    click.echo(f"{client_id} {'no longer has' if had_access else 'had no'} access to {merchant}")


def _print_secret(credential: NewCredential) -> None:
    click.echo(f"client_id      {credential.client_id}")
    click.echo(f"client_secret  {credential.client_secret}")
    click.echo("The secret is shown only once. Keep it safe.", err=True)


def _build_json_view(credential: Credential) -> dict[str, object]:
    revoked_at = credential.revoked_at
    return {
        "name": credential.name,
        "clientId": credential.client_id,
        "scopes": [*credential.scopes],
        "requestsPerMinute": credential.requests_per_minute,
        "revokedAt": None if revoked_at is None else revoked_at.isoformat(),
    }


def _parse_scopes(names: tuple[str, ...]) -> tuple[Scope, ...]:
    return order_scopes(Scope(each) for each in names)


def _find_merchant_of_credential(client_id: str) -> FindMerchant:
    async def find(tx: Connection) -> int:
        credential = await find_credential(tx, client_id)
        if credential is None:
            raise NotFound(f"There is no credential {client_id}. Check the client id.")
        return credential.owner_id

    return find


def _find_merchant_of_token(token: str) -> FindMerchant:
    async def find(tx: Connection) -> int:
        merchant_id = await find_token_owner(tx, hash_secret(token))
        if merchant_id is None:
            raise NotFound("There is no such access token; it may have expired. Nothing changed.")
        return merchant_id

    return find
