"""Convert exceptions to error messages and exit codes.

Expected errors are printed as one line each. Errors of usage and settings exit with 2, an abort by
the user with 130, and others with 1.
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
    """Return the lines to print and the exit code. There are no lines if the error was not
    expected."""
    if isinstance(error, InvalidSettings):
        return error.faults, 2
    if isinstance(error, click.ClickException):
        return [f"{error.format_message()} See: dunwell --help"], error.exit_code
    if isinstance(error, click.Abort):
        return ["aborted."], 130
    return _describe_fault(error), 1


def _describe_fault(error: Exception) -> list[str]:
    if isinstance(error, ValidationError):
        return [f"{fault.path or '/'}: {fault.message}" for fault in error.faults]
    if isinstance(error, Refusal | PostgresFailed | FolderInUse | OSError | SubprocessError):
        return [str(error)]
    if isinstance(error, asyncpg.UndefinedTableError | asyncpg.UndefinedColumnError):
        return [NotMigrated().message]
    if isinstance(error, asyncpg.PostgresError | asyncpg.InterfaceError):
        return [f"The database reported an error: {error}"]
    return []
