"""Check whether this host can back up the database, restore a backup, and verify one."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import asyncpg
import msgspec

from dunwell.interfaces.cli.findings.finding import DoctorFinding
from dunwell.platform.config import Settings
from dunwell.platform.database.migrate import list_own_tables
from dunwell.platform.database.pool import OpenConnection, connect
from dunwell.platform.embedded.postgres import PostgresFailed, get_binaries_folder

_PROGRAMS = ("initdb", "postgres")
# The owner of the tables can read all of them. A role with individual grants may not.
_LOAD = """
SELECT current_user, current_setting('server_version') AS server,
    has_schema_privilege('public', 'CREATE') AS may_create,
    pg_database_size(current_database()) AS size,
    ARRAY(
        SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'S')
            AND NOT CASE relkind WHEN 'S' THEN has_sequence_privilege(oid, 'SELECT')
                ELSE has_table_privilege(oid, 'SELECT') END
        ORDER BY relname
    ) AS unreadable,
    ARRAY(
        SELECT relname::text FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
        ORDER BY relname
    ) AS tables
"""


class BackupPrerequisites(msgspec.Struct, frozen=True, gc=False):
    """The facts about the database that backup and restore depend on. `size` is in bytes."""

    role: str
    server: str
    may_create: bool
    size: int
    unreadable: Sequence[str]
    tables: Sequence[str]


async def check_backups(url: str, settings: Settings) -> list[DoctorFinding]:
    """Check that the database can be backed up and restored, and a backup verified on this host."""
    connection = await connect(url, OpenConnection, timeout=10, statement_cache_size=0)
    try:
        prerequisites = BackupPrerequisites(*await connection.fetchrow(_LOAD))
    except asyncpg.InsufficientPrivilegeError as error:
        return [
            DoctorFinding(
                "backup",
                f"cannot be taken: {error}",
                "Make Dunwell's role the owner of its tables.",
            )
        ]
    finally:
        await connection.close()
    folder = Path(tempfile.gettempdir())
    free = shutil.disk_usage(folder).free
    return [
        *describe_prerequisites(prerequisites),
        describe_verification(settings, prerequisites.size, folder, free),
    ]


def describe_prerequisites(prerequisites: BackupPrerequisites) -> Iterator[DoctorFinding]:
    """Report whether the role may back up and restore the tables. The version of the server and the
    PostgreSQL programs on this host do not matter."""
    if prerequisites.unreadable:
        tables = ", ".join(prerequisites.unreadable)
        words = f"cannot be taken: {prerequisites.role} may not read {tables}"
        yield DoctorFinding(
            "backup",
            words,
            f"Make {prerequisites.role} the owner of the tables, or GRANT SELECT on them.",
        )
    elif not prerequisites.may_create:
        words = f"can be taken, but not restored here: {prerequisites.role} may not create tables"
        remedy = f"As the database's owner: GRANT CREATE ON SCHEMA public TO {prerequisites.role}"
        yield DoctorFinding("backup", words, remedy)
    else:
        yield DoctorFinding(
            "backup", f"can be taken and restored, PostgreSQL {prerequisites.server}"
        )
    others = sorted(set(prerequisites.tables) - list_own_tables())
    if others:
        words = f"would not include {', '.join(others)} in the schema public"
        remedy = "These tables are not Dunwell's. Back them up separately."
        yield DoctorFinding("backup", words, remedy, is_note=True)


def describe_verification(settings: Settings, size: int, folder: Path, free: int) -> DoctorFinding:
    """Report whether `dunwell backup verify` can run here. The verification starts a separate
    server, and needs disk space in `folder` for the restored data. `size` and `free` are in bytes.
    """
    try:
        binaries = get_binaries_folder(settings.pg_bin)
    except PostgresFailed as error:
        return DoctorFinding("verify", "no backup can be verified here", str(error), is_note=True)
    missing = [name for name in _PROGRAMS if not (binaries / name).is_file()]
    if missing:
        words = f"no backup can be verified here: {binaries} has no {' and no '.join(missing)}"
        remedy = "Unset DUNWELL_PG_BIN to use the installed package, or set another folder."
        return DoctorFinding("verify", words, remedy, is_note=True)
    if free < size:
        available = _render_mebibytes(free)
        words = f"needs about {_render_mebibytes(size)}, and {folder} has {available} free"
        return DoctorFinding(
            "verify", words, "Set TMPDIR to a folder with enough space.", is_note=True
        )
    return DoctorFinding(
        "verify",
        f"{folder} has enough space: {_render_mebibytes(free)} for about {_render_mebibytes(size)}",
    )


def _render_mebibytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MiB"
