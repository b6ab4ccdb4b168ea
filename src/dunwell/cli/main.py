"""The `dunwell` command: its words, and how what goes wrong is told.

A word's module is loaded when the word is used, so that none waits for another's libraries.
Expected failures are told in one line each: exit 2 for usage and settings, 1 for faults.
"""

import importlib
import sys
from collections.abc import Sequence
from subprocess import SubprocessError

import asyncpg
import click

from dunwell.config import SettingsFaulty
from dunwell.errors import Refusal, ValidationError
from dunwell.kit.folder_lock import FolderTaken
from dunwell.kit.postgres import PostgresFailed

_WORDS = (
    "up",
    "web",
    "worker",
    "migrate",
    "apply",
    "workflow",
    "rules",
    "scenario",
    "switch",
    "credential",
    "webhook",
    "explain",
    "suppression",
    "communications",
    "verify-ledger",
    "doctor",
    "config",
)


class _Words(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(_WORDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _WORDS:
            return None
        module = importlib.import_module(f"dunwell.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command


@click.group(
    cls=_Words, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]}
)
def dunwell() -> None:
    """Dunwell collects unpaid claims on behalf of merchants."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    try:
        code = dunwell.main(args=arguments, prog_name="dunwell", standalone_mode=False)
    except Exception as error:
        lines, code = describe_failure(error)
        if not lines:
            raise
        for line in lines:
            click.echo(f"dunwell: {line}", err=True)
    sys.exit(code if isinstance(code, int) else 0)


def describe_failure(error: Exception) -> tuple[list[str], int]:
    """What to print and the exit code; no lines for what was not expected."""
    if isinstance(error, SettingsFaulty):
        return error.faults, 2
    if isinstance(error, click.ClickException):
        return [f"{error.format_message()} See: dunwell --help"], error.exit_code
    if isinstance(error, click.Abort):
        return ["stopped."], 130
    return _describe_fault(error), 1


def _describe_fault(error: Exception) -> list[str]:
    if isinstance(error, ValidationError):
        return [f"{fault.path or '/'}: {fault.message}" for fault in error.faults]
    if isinstance(error, Refusal | PostgresFailed | FolderTaken | OSError | SubprocessError):
        return [str(error)]
    if isinstance(error, asyncpg.UndefinedTableError | asyncpg.UndefinedColumnError):
        return ["the database has not the tables of this version; run: dunwell migrate"]
    if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return [f"the database refuses: {error}"]
    return []
