"""`dunwell key`: the versions of the installation's secret key (docs/operator/keys.md)."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import TypeVar

import click

from dunwell.interfaces.cli.database import provide_database
from dunwell.interfaces.cli.options import data_dir_option, read_settings
from dunwell.interfaces.cli.output import confirm, echo_json, render_table
from dunwell.operations.keys.reseal import list_sealed_values
from dunwell.operations.keys.versions import (
    AuditStamp,
    KeyVersionState,
    abandon_version,
    find_next_version,
    list_version_states,
    retire_version,
)
from dunwell.platform.clock import SystemClock
from dunwell.platform.config import Settings
from dunwell.platform.config.secret_key import (
    FILE_NAME,
    generate_key,
    render_version,
    save_versions,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.embedded.folder_lock import FolderLock
from dunwell.platform.errors import InvalidState
from dunwell.platform.ids import RandomIds
from dunwell.platform.key_versions import find_key_mismatch, load_versions

_COMMAND = "key"
_NEXT_STEPS = """\
This is version {version}. It is not stored anywhere: keep a copy apart from database backups.
One host: insert the line at the beginning of DUNWELL_SECRET_KEY (or of the file named in
DUNWELL_SECRET_KEY_FILE), and restart every process.
Several hosts: add it at the end, and restart every process; then move it to the beginning, and
restart every process. Keep the existing lines. See docs/operator/keys.md."""

_Result = TypeVar("_Result")
_UseCase = Callable[[Connection, KeyRing], Awaitable[_Result]]


@click.group(_COMMAND, no_args_is_help=False)
def command() -> None:
    """Generate a new version of the secret key, show what depends on old versions, and retire
    them."""


@command.command("rotate")
@data_dir_option
def rotate(data_dir: str | None) -> None:
    """Generate a new version of the secret key.

    In development it is added to secret.key in the data folder. Where DUNWELL_SECRET_KEY is set,
    the line to add there is printed, with instructions on standard error.
    """
    settings = read_settings(_COMMAND, data_dir=data_dir)
    version, key = _run_with_database(settings, _find_next), generate_key()
    if "DUNWELL_SECRET_KEY" in os.environ or "DUNWELL_SECRET_KEY_FILE" in os.environ:
        click.echo(render_version(version, key))
        click.echo(_NEXT_STEPS.format(version=version), err=True)
        return
    path = settings.data_dir / FILE_NAME
    with ExitStack() as closing:
        # No other process may be running: it could not read what is sealed with a version that it
        # has not loaded.
        closing.callback(FolderLock.acquire(settings.data_dir, f"{_COMMAND}-rotate").release)
        save_versions(path, {version: key, **settings.secret_key})
    click.echo(f"Version {version} is used from the next start. It is the first line of {path}.")


@command.command("status")
@data_dir_option
@click.option("--json", "is_json", is_flag=True, help="Print JSON.")
def status(data_dir: str | None, is_json: bool) -> None:
    """Show the versions of the secret key, and how many values are sealed or digested with each."""
    settings = read_settings(_COMMAND, data_dir=data_dir)

    async def use(tx: Connection, keys: KeyRing) -> list[KeyVersionState]:
        return await list_version_states(tx, keys, list_sealed_values(settings))

    states = _run_with_database(settings, use)
    if is_json:
        echo_json(states)
    else:
        click.echo(_render(states))


@command.command("retire")
@data_dir_option
@click.argument("version", type=click.IntRange(1))
@click.option(
    "--lost", "is_lost", is_flag=True, help="The key is lost; give up the values that need it."
)
@click.option("--yes", "is_sure", is_flag=True, help="Do not ask for confirmation.")
def retire(data_dir: str | None, version: int, *, is_lost: bool, is_sure: bool) -> None:
    """Allow VERSION to be removed from the settings, if nothing depends on it any more."""
    settings = read_settings(_COMMAND, data_dir=data_dir)
    if is_lost:
        confirm(f"Give up all values that need version {version}?", is_sure=is_sure)
    end_version = abandon_version if is_lost else retire_version

    async def use(tx: Connection, keys: KeyRing) -> None:
        stamp = AuditStamp(SystemClock().now(), RandomIds())
        await end_version(
            tx, keys, kinds=list_sealed_values(settings), version=version, stamp=stamp
        )

    _run_with_database(settings, use)
    click.echo(f"Version {version} is retired. It can be removed from the settings.")


async def _find_next(tx: Connection, keys: KeyRing) -> int:
    mismatch = find_key_mismatch(keys, await load_versions(tx))
    if mismatch is not None:
        raise InvalidState(mismatch)
    return await find_next_version(tx, keys)


def _run_with_database(settings: Settings, use: _UseCase[_Result]) -> _Result:
    """Run `use` even if the key does not fit the database, because these commands repair that."""

    async def run(url: str) -> _Result:
        database = await Database.open(url, application=f"dunwell {_COMMAND}")
        try:
            async with database.transaction() as tx:
                return await use(tx, KeyRing(settings.secret_key))
        finally:
            await database.close()

    with provide_database(settings, _COMMAND) as url:
        return asyncio.run(run(url))


def _render(states: list[KeyVersionState]) -> str:
    kinds = list(states[0].sealed)
    digests = list(states[0].digests)
    heads = ["VERSION", "STATE", "SINCE", *map(str.upper, kinds), *map(str.upper, digests)]
    rows = [
        [
            str(each.version),
            each.state,
            f"{each.recorded_at:%Y-%m-%d}" if each.recorded_at else "not yet",
            *(f"{each.sealed[name]:,}" for name in kinds),
            *(f"{each.digests[name]:,}" for name in digests),
        ]
        for each in states
    ]
    return render_table(heads, rows, right=heads[3:])
