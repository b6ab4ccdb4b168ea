"""`dunwell backup` while claims are submitted, and `dunwell restore` into an empty database:
everything acknowledged before the backup is restored row by row, and nothing is half restored."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from dunwell.platform.resources import Resources
from tests.support.backups import CLAIMS, forge_claims
from tests.support.clusters import (
    Cluster,
    Servers,
    a_cluster_merchant,
    load_rows,
    wait_until_written,
    write_until_cancelled,
)
from tests.support.command_line import CommandLine, Done
from tests.support.webhooks import Outbox

_TABLES = ("claims", "debtors", "items", "events", "deliveries", "audit_log", "merchants")


@pytest.fixture
def folder(tmp_path: Path, origin: Cluster) -> Path:
    """The data folder of the installation to back up, with a file in it."""
    made = tmp_path / "var"
    (made / "files" / "7").mkdir(parents=True)
    (made / "files" / "7" / "upload").write_bytes(b"as it was uploaded")
    (made / "outbox").mkdir()
    assert CommandLine(made, origin.url).run("config").returncode == 0  # This creates the key.
    return made


@pytest.fixture
async def backup(tmp_path: Path, folder: Path, origin: Cluster, outbox: Outbox) -> Path:
    async with a_cluster_merchant(outbox, origin.url) as served:
        await served.work()
    made = tmp_path / "backup"
    done = await asyncio.to_thread(CommandLine(folder, origin.url).run, "backup", str(made))
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
async def empty(servers: Servers) -> Cluster:
    return await servers.start_new()


def a_new_folder(tmp_path: Path, folder: Path) -> Path:
    """Return the data folder of an installation that contains only the key."""
    made = tmp_path / "new"
    made.mkdir()
    shutil.copy2(folder / "secret.key", made)
    return made


async def restore(folder: Path, target: Cluster, backup: Path) -> Done:
    return await asyncio.to_thread(CommandLine(folder, target.url).run, "restore", str(backup))


def read_all(folder: Path) -> str:
    return "".join(each.read_text("latin-1") for each in folder.rglob("*") if each.is_file())


async def test_everything_acknowledged_before_a_backup_is_restored(
    tmp_path: Path, folder: Path, origin: Cluster, outbox: Outbox, empty: Cluster
) -> None:
    written_at: dict[str, datetime] = {}
    async with a_cluster_merchant(outbox, origin.url) as served:
        working = asyncio.create_task(write_until_cancelled(served, written_at))
        await wait_until_written(written_at, 20, working)
        command = CommandLine(folder, origin.url)
        done = await asyncio.to_thread(command.run, "backup", str(tmp_path / "backup"))
        await wait_until_written(written_at, len(written_at) + 20, working)
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
    assert done.returncode == 0, done.stderr
    new_folder = a_new_folder(tmp_path, folder)

    restored = await restore(new_folder, empty, tmp_path / "backup")

    assert restored.returncode == 0, restored.stderr
    manifest = json.loads((tmp_path / "backup" / "manifest.json").read_text())
    taken_at = datetime.fromisoformat(manifest["takenAt"])
    for table in _TABLES:
        assert await load_rows(empty, table) <= await load_rows(origin, table), table
    there = {json.loads(row)["event_id"] for row in await load_rows(empty, "events")}
    before = {event_id for event_id, at in written_at.items() if at < taken_at}
    assert len(before) >= 20
    assert before <= there < written_at.keys()
    assert (new_folder / "files" / "7" / "upload").read_bytes() == b"as it was uploaded"
    async with a_cluster_merchant(outbox, empty.url) as served:
        new_events = await served.work()
        assert (await served.list_events())[-3:] == new_events


def corrupt_dump(backup: Path, _folder: Path) -> None:
    content = bytearray((backup / CLAIMS).read_bytes())
    content[-1] ^= 1
    (backup / CLAIMS).write_bytes(content)


def lose_upload(backup: Path, _folder: Path) -> None:
    (backup / "data" / "files" / "7" / "upload").unlink()


def lose_manifest(backup: Path, _folder: Path) -> None:
    (backup / "manifest.json").unlink()


def create_another_key(_backup: Path, folder: Path) -> None:
    (folder / "secret.key").unlink()


def leave_a_file(_backup: Path, folder: Path) -> None:
    (folder / "files").mkdir()
    (folder / "files" / "mine").touch()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (corrupt_dump, f"{CLAIMS} has been changed or damaged"),
        (lose_upload, "files/7/upload is missing"),
        (lose_manifest, "it is not a complete backup"),
        (create_another_key, "differs from the one in use when this backup was taken"),
        (leave_a_file, "A backup can only be restored into an empty installation"),
    ],
)
async def test_a_damaged_or_unsuitable_backup_is_refused_and_nothing_is_restored(
    tmp_path: Path, folder: Path, backup: Path, empty: Cluster,
    spoil: Callable[[Path, Path], None], words: str,
) -> None:  # fmt: skip
    new_folder = a_new_folder(tmp_path, folder)
    spoil(backup, new_folder)
    refused = await restore(new_folder, empty, backup)
    assert refused.returncode == 1
    assert words in refused.stderr
    assert await empty.run_sql("SELECT to_regclass('claims') IS NULL")
    assert not (new_folder / "files" / "7").exists()


@pytest.mark.parametrize("theirs", ["TABLE theirs (a integer)", "SEQUENCE items_item_id_seq"])
async def test_a_restore_into_a_database_with_tables_changes_nothing(
    tmp_path: Path, folder: Path, backup: Path, empty: Cluster, theirs: str
) -> None:
    await empty.run_sql(f"CREATE {theirs}")
    new_folder = a_new_folder(tmp_path, folder)
    refused = await restore(new_folder, empty, backup)
    assert (refused.returncode, "The database has tables" in refused.stderr) == (1, True)
    assert await empty.run_sql("SELECT to_regclass('claims') IS NULL")
    assert not (new_folder / "files").exists()


async def test_a_restore_that_fails_at_its_last_step_leaves_nothing_behind(
    tmp_path: Path, folder: Path, backup: Path, empty: Cluster
) -> None:
    # Debtors and items refer to claims, and their foreign keys are checked last.
    forge_claims(backup, b"", rows=0)
    new_folder = a_new_folder(tmp_path, folder)
    failed = await restore(new_folder, empty, backup)
    assert (failed.returncode, "violates foreign key constraint" in failed.stderr) == (1, True)
    assert await empty.run_sql("SELECT to_regclass('schema_migrations') IS NULL")
    assert read_all(new_folder / "files") == ""


async def test_a_backup_contains_no_key_and_never_replaces_another(
    folder: Path, backup: Path, origin: Cluster, resources: Resources
) -> None:
    key = (folder / "secret.key").read_text().strip().rpartition(":")[2]
    assert key not in read_all(backup)
    again = await asyncio.to_thread(CommandLine(folder, origin.url).run, "backup", str(backup))
    assert (again.returncode, "already exists" in again.stderr) == (1, True)
