"""`dunwell user`: manage the users of the portal."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import TypeVar

import click

from dunwell.accounts.merchants.actor import build_operator_actor
from dunwell.accounts.merchants.credentials.store import find_merchant_id_by_key
from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.manage_users import (
    RANDOM_BYTES,
    Invitation,
    deactivate_user,
    invite_first_admin,
    invite_user,
    reset_user,
    set_break_glass,
    sign_out_user,
)
from dunwell.accounts.users.single_sign_on.identities import link_identity
from dunwell.accounts.users.store import find_user, list_named_merchants, list_users
from dunwell.accounts.users.user import LANGUAGES, NewUser, User, UserRoles
from dunwell.accounts.users.user_work import UserWork
from dunwell.interfaces.cli.database import provide_database
from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.interfaces.cli.output import confirm, render_table
from dunwell.platform.config import Settings
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import open_resources

_COMMAND = "user"
_ROLES = {role.lower().replace("_", "-"): role for role in Role}
_Result = TypeVar("_Result")
_UseCase = Callable[[UserWork], Awaitable[_Result]]


@click.group("user", no_args_is_help=False)
def command() -> None:
    """Create users of the portal, reset their sign-in, and deactivate them."""


@command.command("create")
@data_dir_option
@click.argument("email")
@click.option("--name", required=True, help="The name that colleagues see.")
@click.option("--role", type=click.Choice([*_ROLES]), required=True)
@click.option(
    "--merchant",
    "merchants",
    multiple=True,
    help="The key of a merchant; can be repeated. Default: all merchants.",
)
@click.option("--language", type=click.Choice(LANGUAGES), default="en", show_default=True)
@click.option(
    "--break-glass",
    is_flag=True,
    help="An admin who can sign in when single sign-on is unavailable.",
)
def create(  # noqa: PLR0913, PLR0917 - one parameter for each option
    data_dir: str | None, email: str, name: str, role: str, merchants: tuple[str, ...],
    language: str, break_glass: bool,
) -> None:  # fmt: skip
    """Create a user with this EMAIL and print the one-time link for creating the account."""

    async def do(work: UserWork) -> Invitation:
        roles = await _build_roles(work, _ROLES[role], merchants)
        new = NewUser(
            email, name, "de" if language == "de" else "en", roles, is_break_glass=break_glass
        )
        return await invite_user(work, new, secrets.token_bytes(RANDOM_BYTES))

    _print_link(*_run(data_dir, do))


@command.command("reset")
@data_dir_option
@click.argument("email")
def reset(data_dir: str | None, email: str) -> None:
    """End the password, second factors and sessions of EMAIL, and print a one-time link to set new
    ones."""

    async def do(work: UserWork) -> Invitation:
        user = await _get_user(work, email)
        return await reset_user(work, user.user_id, secrets.token_bytes(RANDOM_BYTES))

    _print_link(*_run(data_dir, do))


@command.command("break-glass")
@data_dir_option
@click.argument("email")
@click.option("--off", is_flag=True, help="Remove the emergency access.")
def break_glass(data_dir: str | None, email: str, off: bool) -> None:
    """Give the admin EMAIL emergency access: sign-in without single sign-on."""

    async def do(work: UserWork) -> None:
        user = await _get_user(work, email)
        await set_break_glass(work, user.user_id, is_on=not off)

    _run(data_dir, do)
    click.echo(f"{email} {'no longer has' if off else 'now has'} emergency access")


@command.command("link")
@data_dir_option
@click.argument("email")
@click.option("--provider", required=True, help="The provider's name in the installation file.")
@click.option("--subject", required=True, help='The user in the provider\'s tokens: "sub".')
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def link(data_dir: str | None, email: str, provider: str, subject: str, yes: bool) -> None:
    """Let EMAIL sign in only by single sign-on from now on. The user's password and sessions end at
    once."""
    confirm(f"Link {email} to {subject} of {provider}?", is_sure=yes)

    async def do(work: UserWork) -> None:
        user = await _get_user(work, email)
        await link_identity(work, user.user_id, provider, subject)

    _run(data_dir, do)
    click.echo(f"linked {email}")


@command.command("end")
@data_dir_option
@click.argument("email")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def end(data_dir: str | None, email: str, yes: bool) -> None:
    """Deactivate the user with this EMAIL and end all their sessions, at once."""
    confirm(f"Deactivate {email}?", is_sure=yes)

    async def do(work: UserWork) -> None:
        user = await _get_user(work, email)
        await deactivate_user(work, user.user_id)

    _run(data_dir, do)
    click.echo(f"deactivated {email}")


@command.command("sign-out")
@data_dir_option
@click.argument("email")
def sign_out(data_dir: str | None, email: str) -> None:
    """End all sessions of EMAIL, at once. The user can sign in again."""

    async def do(work: UserWork) -> int:
        user = await _get_user(work, email)
        return await sign_out_user(work, user.user_id)

    ended, _ = _run(data_dir, do)
    click.echo(f"signed out {email}: {ended} {'session' if ended == 1 else 'sessions'}")


@command.command("list")
@data_dir_option
def list_all(data_dir: str | None) -> None:
    """List all users and their roles."""

    async def do(work: UserWork) -> list[tuple[str, ...]]:
        keys = {each.merchant_id: each.key for each in await list_named_merchants(work.tx)}
        return [_render_row(user, keys) for user in await list_users(work.tx)]

    rows, _ = _run(data_dir, do)
    click.echo(render_table(("e-mail", "name", "role", "state"), rows))


def create_first_admin_link(settings: Settings) -> str | None:
    """Invite the first admin, and return the link with which they create their account. An earlier
    link stops working. Return None if a user has joined already, or single sign-on is required."""

    async def do(work: UserWork) -> Invitation | None:
        return await invite_first_admin(work, secrets.token_bytes(RANDOM_BYTES))

    invitation = asyncio.run(_run_in_transaction(settings, do))
    return None if invitation is None else _render_link(settings, invitation)


def _run(data_dir: str | None, do: _UseCase[_Result]) -> tuple[_Result, Settings]:
    settings = read_settings(_COMMAND, data_dir=data_dir)
    with provide_database(settings, _COMMAND):
        return asyncio.run(_run_in_transaction(settings, do)), settings


async def _run_in_transaction(settings: Settings, do: _UseCase[_Result]) -> _Result:
    async with (
        open_resources(settings, _COMMAND) as resources,
        resources.database.transaction() as tx,
    ):
        return await do(UserWork.open(resources, tx, build_operator_actor("command line")))


async def _build_roles(work: UserWork, role: Role, merchants: tuple[str, ...]) -> UserRoles:
    """Return the role at these merchants, or at all merchants if none is named. Raises NotFound."""
    if not merchants:
        return UserRoles(role)
    ids = {key: await find_merchant_id_by_key(work.tx, key) for key in merchants}
    missing = [key for key, merchant_id in ids.items() if merchant_id is None]
    if missing:
        raise NotFound(f"There is no merchant {missing[0]}. Check the key.")
    return UserRoles(
        None, {merchant_id: role for merchant_id in ids.values() if merchant_id is not None}
    )


async def _get_user(work: UserWork, email: str) -> User:
    """Return the user. Raises NotFound."""
    user = await find_user(work.tx, email)
    if user is None:
        raise NotFound(f"There is no user {email}. See: dunwell user list")
    return user


def _render_row(user: User, keys: dict[int, str]) -> tuple[str, ...]:
    roles = [] if user.roles.global_role is None else [user.roles.global_role.lower()]
    for merchant_id, role in sorted(user.roles.memberships.items()):
        roles.append(f"{role.lower().replace('_', '-')} of {keys.get(merchant_id, merchant_id)}")
    if user.provider is not None:
        roles.append(f"by {user.provider}")
    if user.is_break_glass:
        roles.append("emergency access")
    state = "deactivated" if user.ended_at else "active" if user.joined_at else "invited"
    return user.email, user.name, ", ".join(roles), state


def _print_link(invitation: Invitation, settings: Settings) -> None:
    click.echo(_render_link(settings, invitation))
    click.echo("Valid once, for 72 hours. Give it only to this user.", err=True)


def _render_link(settings: Settings, invitation: Invitation) -> str:
    return f"{settings.public_url}/portal/invitation/{invitation.secret}"
