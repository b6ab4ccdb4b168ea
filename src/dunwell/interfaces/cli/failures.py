"""How what goes wrong with a command is told.

Expected failures are told in one line each: exit 2 for usage and settings, 1 for faults.
"""

from subprocess import SubprocessError

import asyncpg
import click

from dunwell.platform.config import InvalidSettings
from dunwell.platform.database.database import NotMigrated
from dunwell.platform.embedded.folder_lock import FolderInUse
from dunwell.platform.embedded.postgres import PostgresFailed
from dunwell.platform.errors import Refusal, ValidationError


def describe_failure(error: Exception) -> tuple[list[str], int]:
    """What to print and the exit code; no lines for what was not expected."""
    if isinstance(error, InvalidSettings):
        return error.faults, 2
    if isinstance(error, click.ClickException):
        return [f"{error.format_message()} See: dunwell --help"], error.exit_code
    if isinstance(error, click.Abort):
        return ["stopped."], 130
    return _describe_fault(error), 1


def _describe_fault(error: Exception) -> list[str]:
    if isinstance(error, ValidationError):
        return [f"{fault.path or '/'}: {fault.message}" for fault in error.faults]
    if isinstance(error, Refusal | PostgresFailed | FolderInUse | OSError | SubprocessError):
        return [str(error)]
    if isinstance(error, asyncpg.UndefinedTableError | asyncpg.UndefinedColumnError):
        return [NotMigrated().message]
    if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return [f"the database refuses: {error}"]
    return []
