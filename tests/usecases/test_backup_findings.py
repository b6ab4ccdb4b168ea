"""Findings of `dunwell doctor` about backups, and refusals because of missing rights or other
versions."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import asyncpg
import pytest

from dunwell.interfaces.cli.findings.backups import check_backups, describe_verification
from dunwell.operations.recovery.backup_set import restored_files
from dunwell.platform.config import Settings
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder
from tests.support.command_line import CommandLine

_GIB = 1 << 30


@dataclass(frozen=True)
class Visitor:
    """A role that owns nothing, and a new database of the server's superuser."""

    role: str
    url: str
    empty_url: str


@pytest.fixture
async def visitor(postgres: EmbeddedPostgres, database: Database) -> AsyncIterator[Visitor]:
    name = f"visitor_{secrets.token_hex(4)}"
    async with database.connection() as connection:
        await connection.execute(f"CREATE ROLE {name} LOGIN")
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE template0")
    url = postgres.url.replace("//postgres@", f"//{name}@")
    yield Visitor(name, url, url.replace("/postgres?", f"/{name}?"))
    async with database.connection() as connection:
        await connection.execute(f"DROP DATABASE {name}")
        await connection.execute(f"DROP OWNED BY {name}")
        await connection.execute(f"DROP ROLE {name}")


async def test_the_doctor_names_tables_that_the_role_may_not_read(
    visitor: Visitor, database: Database, settings: Settings
) -> None:
    role = visitor.role
    async with database.connection() as connection:
        await connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
        await connection.execute(f"GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO {role}")
        await connection.execute(f"REVOKE SELECT ON claims, claims_claim_id_seq FROM {role}")
    found, *_ = await check_backups(visitor.url, settings)
    assert (found.mark, found.subject) == ("FAULT", "backup")
    assert found.words == f"cannot be taken: {role} may not read claims, claims_claim_id_seq"
    assert found.remedy == f"Make {role} the owner of the tables, or GRANT SELECT on them."


async def test_the_doctor_reports_a_missing_right_to_restore_a_backup(
    visitor: Visitor, settings: Settings
) -> None:
    found, *_ = await check_backups(visitor.empty_url, settings)
    assert (found.mark, found.subject) == ("FAULT", "backup")
    assert "not restored here" in found.words
    assert found.remedy == (
        f"As the database's owner: GRANT CREATE ON SCHEMA public TO {visitor.role}"
    )


async def test_foreign_tables_are_named_by_the_doctor_and_by_the_backup(
    dunwell: CommandLine, database: Database, settings: Settings, postgres: EmbeddedPostgres,
    tmp_path: Path,
) -> None:  # fmt: skip
    async with database.connection() as connection:
        await connection.execute("CREATE TABLE theirs (a integer)")
    try:
        _, note, _ = await check_backups(postgres.url, settings)
        done = await asyncio.to_thread(dunwell.run, "backup", str(tmp_path / "backup"))
    finally:
        async with database.connection() as connection:
            await connection.execute("DROP TABLE theirs")
    assert (note.mark, note.words) == ("note", "would not include theirs in the schema public")
    assert "not included, because they are not Dunwell's: the tables theirs" in done.stderr
    assert not (tmp_path / "backup" / "database" / "theirs.copy.gz").exists()


def test_the_doctor_says_whether_a_backup_can_be_verified_here(
    settings: Settings, tmp_path: Path
) -> None:
    bare = replace(settings, pg_bin=str(tmp_path))
    found = describe_verification(bare, _GIB, tmp_path, free=2 * _GIB)
    assert found.mark == "note"
    assert found.words.endswith(f"{tmp_path} has no initdb and no postgres")
    assert "DUNWELL_PG_BIN" in str(found.remedy)
    usual = replace(settings, pg_bin=str(get_binaries_folder(None)))
    assert describe_verification(usual, _GIB, tmp_path, free=2 * _GIB).mark == "ok"
    found = describe_verification(usual, _GIB, tmp_path, free=_GIB - 1)
    assert (found.mark, found.remedy) == ("note", "Set TMPDIR to a folder with enough space.")


async def test_a_restore_without_the_right_to_create_tables_says_so_and_leaves_nothing(
    dunwell: CommandLine, visitor: Visitor, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    done = await asyncio.to_thread(dunwell.run, "backup", str(backup))
    assert done.returncode == 0, done.stderr
    done = await asyncio.to_thread(
        dunwell.run, "restore", str(backup), DUNWELL_DATABASE_URL=visitor.empty_url
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "permission denied for schema public. Let it own the database" in done.stderr
    assert "GRANT USAGE, CREATE ON SCHEMA public" in done.stderr
    assert "Traceback" not in done.stderr


async def test_a_database_that_a_newer_dunwell_migrated_is_not_backed_up_in_part(
    dunwell: CommandLine, database: Database, tmp_path: Path
) -> None:
    async with database.connection() as connection:
        await connection.execute("INSERT INTO schema_migrations VALUES ('9999', 'newer')")
    try:
        done = await asyncio.to_thread(dunwell.run, "backup", str(tmp_path / "backup"))
    finally:
        async with database.connection() as connection:
            await connection.execute("DELETE FROM schema_migrations WHERE revision = '9999'")
    assert done.returncode == 1
    assert "has the schema 9999, which this Dunwell does not know" in done.stderr
    assert not (tmp_path / "backup").exists()
    assert not (tmp_path / "backup.draft").exists()


async def test_a_backup_of_a_newer_schema_is_refused_and_names_its_version(
    dunwell: CommandLine, visitor: Visitor, tmp_path: Path
) -> None:
    backup = tmp_path / "backup"
    await asyncio.to_thread(dunwell.run, "backup", str(backup))
    manifest = json.loads((backup / "manifest.json").read_text())
    manifest |= {"schema": "9999", "dunwell": "9.0.0"}
    (backup / "manifest.json").write_text(json.dumps(manifest))
    for command in (("restore", str(backup)), ("backup", "verify", str(backup))):
        done = await asyncio.to_thread(
            dunwell.run, *command, DUNWELL_DATABASE_URL=visitor.empty_url
        )
        assert done.returncode == 1
        assert "is of Dunwell 9.0.0, which is newer. Install that first." in done.stderr
    connection = await asyncpg.connect(visitor.empty_url)
    assert await connection.fetchval("SELECT to_regclass('claims') IS NULL")
    await connection.close()


def _restore(settings: Settings, backup: Path) -> None:
    """Restore the files of a backup, but not its database."""
    with restored_files(settings, backup):
        assert (settings.data_dir / "second" / "file").read_text() == "second"
        raise OSError("no database")


def test_the_files_of_a_failed_restore_are_deleted_again(
    settings: Settings, tmp_path: Path
) -> None:
    for name in ("first", "second"):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / "data" / name / "file").write_text(name)
    restored = [settings.data_dir / name / "file" for name in ("first", "second")]

    with pytest.raises(OSError, match="no database"):
        _restore(settings, tmp_path)
    after_the_block = [path.exists() for path in restored]
    for folder in (path.parent for path in restored):
        folder.rmdir()
    # The second folder cannot be made.
    restored[1].parent.touch()
    with pytest.raises(FileExistsError):
        _restore(settings, tmp_path)
    restored[1].parent.unlink()

    assert after_the_block == [False, False]
    assert [path.exists() for path in restored] == [False, False]
