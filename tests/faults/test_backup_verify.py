"""`dunwell backup verify` restores a backup into a temporary server, reports its contents, and
leaves nothing behind however it ends. Also full disks, during verify and during a backup."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dunwell.operations.recovery.verify_backup import remove_abandoned_folders
from dunwell.platform.embedded.folder_lock import FolderLock
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.faults.installation import plain_environment, wait_until
from tests.support.backups import forge_claims, read_claims
from tests.support.clusters import ClusterMerchant
from tests.support.command_line import CommandLine, Done
from tests.support.small_disk import SmallDisk, a_small_disk
from tests.support.webhooks import an_outbox

_AWAY = "postgresql://postgres@127.0.0.1:1/postgres"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "var"
    (made / "outbox").mkdir(parents=True)
    (made / "outbox" / "message").write_text("a message")
    return made


@pytest.fixture
async def backup(
    tmp_path: Path, folder: Path, postgres: EmbeddedPostgres, resources: Resources
) -> Path:
    """The backup of an installation with three claims, one of them without a debtor."""
    await ClusterMerchant(await an_outbox(resources)).work(claims=2)
    made = tmp_path / "backup"
    done = await asyncio.to_thread(CommandLine(folder, postgres.url).run, "backup", str(made))
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture
def scratch(tmp_path: Path) -> Iterator[Path]:
    """The folder for temporary folders. The server's user must be able to reach it."""
    made = tmp_path / "tmp"
    made.mkdir()
    for each in (made, *made.parents):
        if each.owner() == "root" and not each.stat().st_mode & 0o001:
            each.chmod(0o755)
    yield made
    for process in list_servers(made):
        process.kill()


def start_verify(folder: Path, backup: Path, scratch: Path) -> subprocess.Popen[str]:
    """Start the command in a new Python process, which has not chosen its temporary folder yet. The
    database of the installation is down, because it is not needed."""
    environment = {
        "TMPDIR": str(scratch), "DUNWELL_DATA_DIR": str(folder), "DUNWELL_DATABASE_URL": _AWAY,
    }  # fmt: skip
    return subprocess.Popen(
        [sys.executable, "-m", "dunwell", "backup", "verify", str(backup)], text=True,
        env=plain_environment() | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def verify(folder: Path, backup: Path, scratch: Path) -> Done:
    verifying = start_verify(folder, backup, scratch)
    stdout, stderr = verifying.communicate(timeout=60)
    return Done(verifying.args, verifying.returncode, stdout, stderr)


def is_empty(folder: Path) -> bool:
    return list(folder.iterdir()) == []


def list_servers(scratch: Path) -> list[psutil.Process]:
    return [
        each
        for each in psutil.process_iter(["name", "cmdline"])
        if each.info["name"] == "postgres" and str(scratch) in " ".join(each.info["cmdline"] or ())
    ]


async def test_verify_counts_the_rows_of_a_backup(
    folder: Path, backup: Path, scratch: Path
) -> None:
    done = await asyncio.to_thread(verify, folder, backup, scratch)
    assert done.returncode == 0, done.stderr
    *lines, summary = done.stdout.splitlines()
    counted = {name: int(rows) for rows, name in (line.split() for line in lines)}
    manifest = json.loads((backup / "manifest.json").read_text())
    assert (counted["claims"], counted["debtors"], counted["merchants"]) == (3, 2, 1)
    assert summary == (
        f"restored as of {manifest['takenAt'].replace('Z', '+00:00')}, complete: "
        f"{sum(counted.values())} rows in {len(manifest['tables'])} tables, 1 files"
    )
    assert is_empty(scratch)
    assert (folder / "outbox" / "message").exists()


async def test_verify_refuses_a_backup_with_changed_rows(
    folder: Path, backup: Path, scratch: Path
) -> None:
    forge_claims(backup, read_claims(backup).replace(b"EUR", b"USD"), rows=3)
    done = await asyncio.to_thread(verify, folder, backup, scratch)
    assert done.returncode == 1
    assert "claims has different content after the restore than when the backup was" in done.stderr
    assert is_empty(scratch)


async def test_verify_refuses_a_backup_with_missing_rows(
    folder: Path, backup: Path, scratch: Path
) -> None:
    forge_claims(backup, read_claims(backup), rows=4)
    done = await asyncio.to_thread(verify, folder, backup, scratch)
    assert done.returncode == 1
    assert "claims took 3 rows; the backup has 4" in done.stderr
    assert is_empty(scratch)


async def test_verify_refuses_a_damaged_backup_before_it_starts_a_server(
    folder: Path, backup: Path, tmp_path: Path
) -> None:
    (backup / "database" / "events.copy.gz").write_bytes(b"damaged")
    done = await asyncio.to_thread(verify, folder, backup, tmp_path / "nowhere")
    assert done.returncode == 1
    assert "database/events.copy.gz has been changed or damaged" in done.stderr


@pytest.mark.parametrize("kind", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
async def test_an_interrupted_verify_leaves_no_folder_and_no_server(
    folder: Path, backup: Path, scratch: Path, kind: signal.Signals
) -> None:
    verifying = start_verify(folder, backup, scratch)
    wait_until(lambda: list_servers(scratch), "the scratch server runs")
    assert not is_empty(scratch)
    verifying.send_signal(kind)
    verifying.communicate(timeout=30)
    wait_until(lambda: is_empty(scratch), "the folder is removed")
    wait_until(lambda: not list_servers(scratch), "the server has ended")


def test_only_abandoned_scratch_folders_of_the_same_user_are_removed(
    scratch: Path, tmp_path: Path
) -> None:
    abandoned, running = (scratch / f"dunwell-scratch-{name}" for name in ("a", "b"))
    lock = FolderLock.acquire(running, "backup verify")
    FolderLock.acquire(abandoned, "backup verify").release()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (scratch / "dunwell-scratch-link").symlink_to(theirs)
    others = scratch / "dunwell-scratch-c"
    if os.geteuid() == 0:
        others.mkdir()
        os.chown(others, 12345, 12345)
    remove_abandoned_folders(scratch)
    assert (abandoned.exists(), running.exists(), theirs.exists()) == (False, True, True)
    assert others.exists() == (os.geteuid() == 0)
    lock.release()


def test_verify_reports_too_little_space_for_a_database(
    folder: Path, backup: Path, scratch: Path
) -> None:
    with a_small_disk(scratch / "disk", megabytes=24) as disk:
        check_full(start_verify(folder, backup, disk.folder), disk)


def test_verify_reports_too_little_space_for_the_rows(
    folder: Path, backup: Path, scratch: Path
) -> None:
    with a_small_disk(scratch / "disk", megabytes=80) as disk:
        verifying = start_verify(folder, backup, disk.folder)
        wait_until(lambda: list_servers(scratch), "the scratch server runs")
        disk.fill()
        check_full(verifying, disk)


def check_full(verifying: "subprocess.Popen[str]", disk: SmallDisk) -> None:
    _, stderr = verifying.communicate(timeout=60)
    assert verifying.returncode == 1
    assert f"{disk.folder} has too little space for the restored database" in stderr
    assert "set TMPDIR" in stderr
    assert list(disk.folder.glob("dunwell-*")) == []


async def test_a_backup_to_a_full_disk_leaves_nothing_behind(
    folder: Path, backup: Path, scratch: Path, postgres: EmbeddedPostgres
) -> None:
    with a_small_disk(scratch / "disk", megabytes=1) as disk:
        disk.fill()
        (disk.folder / "filler").write_bytes(b"x" * 900_000)
        target = disk.folder / "backup"
        command = CommandLine(folder, postgres.url)
        done = await asyncio.to_thread(command.run, "backup", str(target))
        assert done.returncode == 1
        assert f"{target} cannot be written: No space left on device" in done.stderr
        assert disk.list_files() == []
        assert not target.with_name("backup.draft").exists()


def test_the_error_for_an_older_backup_format_names_the_version_to_use(
    folder: Path, tmp_path: Path, scratch: Path
) -> None:
    shutil.rmtree(folder / "outbox")
    old = tmp_path / "old"
    old.mkdir()
    (old / "manifest.json").write_text('{"format": 1, "dunwell": "0.0.9", "files": []}')
    done = verify(folder, old, scratch)
    assert done.returncode == 1
    assert "has format 1, not 2. Restore it with Dunwell 0.0.9" in done.stderr
