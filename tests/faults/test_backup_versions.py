"""Backups of every supported PostgreSQL version, restored into the same and into newer versions by
the documented commands: on separate servers as an ordinary role, and embedded.

`make faults` restores each into the same and into the newest version. With RESTORE_PAIRS=all it
also tests the versions between them.
"""

import asyncio
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import asyncpg
import pytest

from dunwell.platform.database.migrate import migrate
from dunwell.platform.resources import Resources
from tests.support.clusters import (
    NEWER,
    Cluster,
    Servers,
    a_cluster_merchant,
    an_outbox_on,
    load_rows,
)
from tests.support.command_line import CommandLine
from tests.support.postgres_versions import VERSIONS, find_binaries_of
from tests.support.webhooks import Outbox

_ROLE = "dunwell"
# Characters that COPY escapes, and a line that would end the rows if it were not escaped.
_AWKWARD = "Zoë\tO'Neil\\\n\\.\n\r\x01\u2028\N{WAVING HAND SIGN}"
_LIST_TABLES = "SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'public'"
_SEQUENCES = "SELECT jsonb_object_agg(sequencename, last_value)::text FROM pg_sequences"


def list_targets(source: int) -> Iterator[int]:
    for version in VERSIONS:
        is_wanted = version in (source, VERSIONS[-1]) or os.environ.get("RESTORE_PAIRS") == "all"
        if version >= source and is_wanted:
            yield version


async def start(servers: Servers, version: int) -> Cluster:
    """Start a server of that version with an empty database that an ordinary role owns."""
    cluster = await servers.start_new(find_binaries_of(version))
    await cluster.run_sql(f"CREATE ROLE {_ROLE} LOGIN")
    await cluster.run_sql(f"CREATE DATABASE {_ROLE} OWNER {_ROLE}")
    return replace(cluster, role=_ROLE, database=_ROLE)


async def run(cluster: Cluster, folder: Path, *words: str) -> str:
    done = await asyncio.to_thread(CommandLine(folder, cluster.url).run, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def fill(cluster: Cluster, outbox: Outbox) -> None:
    async with a_cluster_merchant(outbox, cluster.url) as served:
        await served.work()
    connection = await asyncpg.connect(cluster.url)
    await connection.execute("UPDATE debtors SET last_name = $1", _AWKWARD)
    await connection.close()


async def read_all(cluster: Cluster) -> dict[str, set[str]]:
    """Return the rows of every table as JSON, without the records of the restore and of its
    migrations."""
    tables = await cluster.run_sql(_LIST_TABLES)
    assert isinstance(tables, list)
    noted = {"restores", "schema_migrations"}
    return {name: await load_rows(cluster, name) for name in tables if name not in noted}


async def dump_schema(cluster: Cluster) -> list[str]:
    """Return the output of the newest pg_dump without the token that differs for each dump."""
    text = await cluster.run_tool("pg_dump", "--schema-only", "--no-owner")
    return [line for line in text.decode().splitlines() if not line.startswith("\\")]


@pytest.mark.parametrize("source", VERSIONS)
async def test_a_backup_restores_into_the_same_and_newer_versions_as_an_ordinary_role(
    servers: Servers, resources: Resources, tmp_path: Path, source: int
) -> None:
    folder, backup = tmp_path / "var", tmp_path / "backup"
    origin = await start(servers, source)
    await asyncio.to_thread(migrate, origin.url)
    outbox = await an_outbox_on(origin, resources)
    await fill(origin, outbox)

    assert f"can be taken and restored, PostgreSQL {source}" in await run(origin, folder, "doctor")
    await run(origin, folder, "backup", str(backup))
    assert ", complete: " in await run(origin, folder, "backup", "verify", str(backup))

    rows, sequences = await read_all(origin), await origin.run_sql(_SEQUENCES)
    assert (len(rows["debtors"]), len(rows["claims"])) == (2, 3)
    for version in list_targets(source):
        target = await start(servers, version)
        new_folder = tmp_path / f"new-{version}"
        new_folder.mkdir()
        shutil.copy2(folder / "secret.key", new_folder)
        await run(target, new_folder, "restore", str(backup))
        assert await read_all(target) == rows, version
        assert await target.run_sql(_SEQUENCES) == sequences
        async with a_cluster_merchant(outbox, target.url) as served:
            new_events = await served.work()
            assert (await served.list_events())[-3:] == new_events
        await target.stop()


async def test_a_restored_schema_equals_the_migrated_schema(
    servers: Servers, resources: Resources, tmp_path: Path
) -> None:
    folder, backup = tmp_path / "var", tmp_path / "backup"
    origin = await start(servers, VERSIONS[-1])
    await asyncio.to_thread(migrate, origin.url)
    await fill(origin, await an_outbox_on(origin, resources))
    await run(origin, folder, "backup", str(backup))
    await origin.run_sql("ALTER TABLE claims ADD theirs integer")
    migrated = await dump_schema(origin)
    await origin.run_sql("ALTER TABLE claims DROP theirs")
    # As a control, the comparison detects a difference.
    assert migrated != await dump_schema(origin)
    await replace(origin, role="postgres").run_sql(f"CREATE DATABASE restored OWNER {_ROLE}")
    restored = replace(origin, database="restored")

    await run(restored, folder, "restore", str(backup))

    assert await dump_schema(restored) == await dump_schema(origin)


@pytest.mark.parametrize("source", VERSIONS[:-1])
async def test_an_embedded_database_moves_to_the_packaged_version_by_backup_and_restore(
    tmp_path: Path, source: int
) -> None:
    older = {"DUNWELL_PG_BIN": str(find_binaries_of(source)), "DUNWELL_DATABASE_URL": ""}
    newer = {"DUNWELL_PG_BIN": str(NEWER), "DUNWELL_DATABASE_URL": ""}
    folder, new_folder, backup = (tmp_path / name for name in ("var", "new", "backup"))

    def run_embedded(data_dir: Path, settings: dict[str, str], *words: str) -> str:
        done = CommandLine(data_dir, "").run(*words, **settings)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    await asyncio.to_thread(run_embedded, folder, older, "migrate")
    await asyncio.to_thread(run_embedded, folder, older, "backup", str(backup))
    new_folder.mkdir()
    shutil.copy2(folder / "secret.key", new_folder)

    await asyncio.to_thread(run_embedded, new_folder, newer, "restore", str(backup))

    output = await asyncio.to_thread(
        run_embedded, new_folder, newer, "backup", str(tmp_path / "again")
    )
    assert "backed up as of" in output
    assert (new_folder / "postgres/data/PG_VERSION").read_text() == f"{VERSIONS[-1]}\n"
