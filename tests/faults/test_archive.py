"""The archive of the embedded database: a past moment is restored exactly, an impossible restore is
refused and leaves nothing behind, and the service never waits for the archive."""

import asyncio
import contextlib
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import httpx
import pytest

from dunwell.operations.recovery import wal_file
from dunwell.operations.recovery.archive import (
    WalArchive,
    check_archive,
    load_archive_status,
    load_reach,
    load_server_log,
    open_embedded,
)
from dunwell.operations.recovery.keep_archive import ArchiveKeeper
from dunwell.operations.recovery.point_in_time import restore_to_moment
from dunwell.platform.config import Settings, load_settings
from dunwell.platform.embedded.postgres import get_embedded_postgres, stop_server
from dunwell.platform.resources import Resources
from tests.faults.installation import Installation, find_free_port, kill_all, wait_until
from tests.support.clusters import (
    Cluster,
    ClusterMerchant,
    Servers,
    a_cluster_merchant,
    an_outbox_on,
    load_rows,
    wait_until_written,
    write_until_cancelled,
)
from tests.support.operator_pages import Follow

_SECTION = "Any moment of the embedded database"
_FIGURES = (
    "dunwell_archive_reaches_until_timestamp_seconds",
    "dunwell_archive_newest_base_timestamp_seconds",
)
# The longest wait for a moment at which nothing is written.
_STILL_SECONDS = 90
_TABLES = ("claims", "debtors", "items", "events", "deliveries", "audit_log", "merchants")


def read_folder(data_dir: Path, archive: Path | None = None) -> Settings:
    given = {"DUNWELL_DATA_DIR": str(data_dir)}
    return load_settings(
        given if archive is None else given | {"DUNWELL_ARCHIVE_DIR": str(archive)}
    )


async def load_tables(cluster: Cluster) -> dict[str, set[str]]:
    return {table: await load_rows(cluster, table) for table in _TABLES}


async def find_still_moment(cluster: Cluster) -> tuple[datetime, dict[str, set[str]]]:
    """Return a moment around which nothing was written, and the rows at that moment."""
    async with asyncio.timeout(_STILL_SECONDS):
        while True:
            before = await load_tables(cluster)
            moment = await cluster.run_sql("SELECT clock_timestamp()")
            if await load_tables(cluster) == before:
                assert isinstance(moment, datetime)
                return moment, before


async def find_still_claims(
    served: ClusterMerchant, cluster: Cluster
) -> tuple[Sequence[int], datetime, dict[str, set[str]]]:
    """Return the claims, a moment at which there were exactly these, and the rows at that moment.
    A request that was cancelled may still create claims."""
    async with asyncio.timeout(_STILL_SECONDS):
        while True:
            claims = (await served.look()).claims
            moment, rows = await find_still_moment(cluster)
            if (await served.look()).claims == claims:
                return claims, moment, rows


async def work_on(served: ClusterMerchant, written_at: dict[str, datetime], count: int) -> None:
    working = asyncio.create_task(write_until_cancelled(served, written_at))
    await wait_until_written(written_at, len(written_at) + count, working)
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


async def test_a_database_is_restored_to_a_moment_between_two_claims(
    installation: Installation, resources: Resources, servers: Servers, tmp_path: Path,
    follow: Follow,
) -> None:  # fmt: skip
    archive = tmp_path / "a disk's 100%" / "archive"
    installation.environment["DUNWELL_ARCHIVE_DIR"] = str(archive)
    installation.start_ready()
    wait_until(lambda: WalArchive(archive).list_bases(), "a base backup")
    (installation.data_dir / "files" / "7").mkdir(parents=True)
    (installation.data_dir / "files" / "7" / "upload").write_bytes(b"as it was uploaded")
    here = Cluster(get_embedded_postgres(read_folder(installation.data_dir)))
    outbox = await an_outbox_on(here, resources)
    written_at: dict[str, datetime] = {}
    async with a_cluster_merchant(outbox, here.url) as served:
        await work_on(served, written_at, 20)
        first, moment, rows = await find_still_claims(served, here)
        await served.work(events=2, claims=1)
        later = await served.look()
        await work_on(served, written_at, 20)
    variables: dict[str, object] = {
        "DUNWELL_DATA_DIR": installation.data_dir,
        "DUNWELL_ARCHIVE_DIR": archive,
    }
    assert "reaches until" in await asyncio.to_thread(follow, _SECTION, 0, **variables)
    assert await asyncio.to_thread(installation.stop) == 0
    variables = {"DUNWELL_DATA_DIR": tmp_path / "new", "SAFE": installation.data_dir,
                 "ARCHIVE": archive, "TIME": moment.isoformat()}  # fmt: skip

    printed = await asyncio.to_thread(follow, _SECTION, 1, **variables)

    assert "The worker does nothing until" in printed
    there = servers.keep(Cluster(get_embedded_postgres(read_folder(tmp_path / "new"))))
    await there.start()
    assert await there.run_sql("SELECT taken_at FROM restores WHERE resumed_at IS NULL") == moment
    assert await load_tables(there) == rows
    assert (tmp_path / "new" / "files" / "7" / "upload").read_bytes() == b"as it was uploaded"
    async with a_cluster_merchant(outbox, there.url) as served:
        assert (await served.look()).claims == first
        assert first == later.claims[1:]
        new_events = await served.work()
        assert await served.list_events(later.cursor) == new_events


def test_an_interrupted_base_backup_is_not_used(installation: Installation, tmp_path: Path) -> None:
    archive = WalArchive(tmp_path / "archive")
    installation.environment["DUNWELL_ARCHIVE_DIR"] = str(archive.folder)
    up = installation.start()
    wait_until(lambda: list(archive.bases.glob("*")), "a base backup begins")
    kill_all(installation.find_processes())
    up.wait()
    # None if the copying process saw the server die first and removed its own backup.
    left = set(archive.bases.iterdir())
    assert archive.list_bases() == []
    installation.start_ready()
    wait_until(archive.list_bases, "another one")
    assert left.isdisjoint(archive.bases.iterdir())
    assert installation.stop() == 0


@dataclass
class Archived:
    """An installation with an archive, and the first and last moment that the archive covers."""

    settings: Settings
    archive: WalArchive
    begins_at: datetime
    ends_at: datetime


@pytest.fixture(scope="module")
def archived(used_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archived]:
    """The database still runs, without the processes that would write."""
    folder = tmp_path_factory.mktemp("archived")
    folder.chmod(0o755)
    subprocess.run(["cp", "-a", used_folder, folder / "var"], check=True)
    settings = read_folder(folder / "var", folder / "archive")
    archive = WalArchive(folder / "archive")
    server = open_embedded(settings).start()
    try:
        asyncio.run(mark(settings, archive))
        [(_, base)] = archive.list_bases()
        until = load_archive_status(archive).until
        assert until is not None
        yield Archived(settings, archive, base.ended_at, until)
    finally:
        stop_server(server)


async def mark(settings: Settings, archive: WalArchive) -> None:
    """Write a mark, and a second one if a base backup was taken meanwhile."""
    keeper = ArchiveKeeper(settings, archive, get_embedded_postgres(settings))
    await keeper.archive_once()
    if keeper.base_backup is not None:
        await keeper.base_backup
        await keeper.archive_once()


async def end_segment(settings: Settings) -> None:
    """End the log segment as the server itself does after a minute."""
    server = Cluster(get_embedded_postgres(settings))
    await server.run_sql("SELECT pg_current_xact_id()")
    await server.run_sql("SELECT pg_switch_wal()")


def test_an_unavailable_archive_blocks_nothing_and_resumes_later(
    archived: Archived,
) -> None:
    here, away = archived.archive.folder, archived.archive.folder.with_name("away")
    url = get_embedded_postgres(archived.settings).url
    here.rename(away)
    here.mkdir()
    try:
        asyncio.run(mark(archived.settings, archived.archive))
        asyncio.run(end_segment(archived.settings))
        wait_until(
            lambda: asyncio.run(load_server_log(url)).is_failing, "the server notices", seconds=5
        )
        finding = asyncio.run(check_archive(here, url))
        assert "it is still empty" in str(finding)
        assert "Check that DUNWELL_ARCHIVE_DIR exists" in str(finding)
        # Nothing is written into the mount point of an unmounted disk.
        assert list(here.iterdir()) == []
    finally:
        shutil.rmtree(here)
        away.rename(here)
    asyncio.run(mark(archived.settings, archived.archive))
    status = load_archive_status(archived.archive)
    assert status.until is not None
    assert status.until > archived.ends_at
    finding = asyncio.run(check_archive(here, url))
    assert finding == (f"reaches until {status.until}, by 1 base backups", None)


def test_metrics_show_the_end_of_the_archive_and_the_time_of_its_base(
    installation: Installation, tmp_path: Path
) -> None:
    """The metrics have the names that the page documents."""
    archive = WalArchive(tmp_path / "archive")
    bind = f"127.0.0.1:{find_free_port()}"
    installation.environment |= {
        "DUNWELL_ARCHIVE_DIR": str(archive.folder), "DUNWELL_OPERATOR_BIND": bind,
    }  # fmt: skip
    installation.start_ready()

    def read() -> tuple[float, ...]:
        text = httpx.get(f"http://{bind}/metrics", timeout=30).text
        found = (re.search(rf"^{name} (\S+)$", text, re.MULTILINE) for name in _FIGURES)
        return tuple(float(each[1]) for each in found if each)

    def stand() -> tuple[float, ...]:
        there = load_archive_status(archive)
        return tuple(at.timestamp() for at in (there.until, there.newest_base_at) if at is not None)

    wait_until(lambda: len(stand()) == 2 and read() == stand(), "the figures say as it is")
    page = (Path(__file__).parents[2] / "docs" / "operator" / "recovery.md").read_text()
    assert all(f"`{name}`" in page for name in _FIGURES)
    assert installation.stop() == 0


def change_nothing(_archive: WalArchive, _data_dir: Path) -> None:
    pass


def find_last_needed(archive: WalArchive) -> Path:
    """Return the file with the end of the archive. The server may have added others since then,
    without which the restore succeeds."""
    reach = load_reach(archive.list_bases()[-1][0])
    assert reach is not None
    return archive.log / f"{reach.segment}.gz"


def lose_log(archive: WalArchive, _data_dir: Path) -> None:
    find_last_needed(archive).unlink()


def damage_log(archive: WalArchive, _data_dir: Path) -> None:
    find_last_needed(archive).write_bytes(b"\x1f\x8b damaged")


def lose_manifest(archive: WalArchive, _data_dir: Path) -> None:
    [manifest] = archive.bases.glob("*/manifest.json")
    manifest.unlink()


def create_another_key(_archive: WalArchive, data_dir: Path) -> None:
    (data_dir / "secret.key").unlink()


def leave_a_file(_archive: WalArchive, data_dir: Path) -> None:
    (data_dir / "files").mkdir()
    (data_dir / "files" / "mine").touch()


def leave_a_database(_archive: WalArchive, data_dir: Path) -> None:
    (data_dir / "postgres" / "data").mkdir(parents=True)


@pytest.mark.parametrize(
    ("spoil", "seconds", "words"),
    [
        (change_nothing, -60, "The archive begins at"),
        (change_nothing, 3600, "From there the archive reaches until"),
        (lose_log, 0, "The archive has a gap"),
        (damage_log, 0, "recovery ended before configured recovery target was reached"),
        (lose_manifest, 0, "contains no base backup"),
        (create_another_key, 0, "differs from the one in use when this backup was taken"),
        (leave_a_file, 0, "A backup can only be restored into an empty installation"),
        (leave_a_database, 0, "A point in time can only be restored into an empty"),
    ],
)
def test_an_impossible_point_in_time_restore_is_refused_and_leaves_nothing(
    archived: Archived, tmp_path: Path, spoil: Callable[[WalArchive, Path], None], seconds: int,
    words: str,
) -> None:  # fmt: skip
    subprocess.run(["cp", "-a", archived.archive.folder, tmp_path / "archive"], check=True)
    data_dir, archive = tmp_path / "new", WalArchive(tmp_path / "archive")
    data_dir.mkdir()
    shutil.copy2(archived.settings.data_dir / "secret.key", data_dir)
    ends_at = load_archive_status(archive).until
    assert ends_at is not None
    spoil(archive, data_dir)
    before = {*data_dir.rglob("*")}
    until = archived.begins_at if seconds < 0 else ends_at
    with pytest.raises(Exception, match=words):
        restore_to_moment(read_folder(data_dir), archive, until + timedelta(seconds=seconds))
    assert {*data_dir.rglob("*")} - before <= {data_dir / "dunwell.lock", data_dir / "secret.key"}


def test_a_second_database_cannot_use_the_same_archive_folder(
    archived: Archived, tmp_path: Path
) -> None:
    with pytest.raises(Exception, match="is the archive of another database"):
        open_embedded(read_folder(tmp_path / "new", archived.archive.folder))


def limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def put(folder: Path, source: Path, *, is_full: bool = False) -> int:
    command = [sys.executable, "-I", "-S", wal_file.__file__, "put", str(folder), str(source)]
    return subprocess.run(
        command, capture_output=True, check=False, preexec_fn=limit_files if is_full else None
    ).returncode


def test_a_log_file_is_archived_completely_or_not_at_all_and_never_replaced(tmp_path: Path) -> None:
    folder, source = tmp_path / "log", tmp_path / "000000010000000000000001"
    source.write_bytes(os.urandom(100_000))
    assert put(folder, source) == 1  # The folder is missing, as when its disk is not mounted.
    folder.mkdir()
    assert put(folder, source, is_full=True) == 1
    assert list(folder.iterdir()) == []
    assert [put(folder, source), put(folder, source)] == [0, 0]
    [kept] = folder.iterdir()
    content = kept.read_bytes()
    source.write_bytes(b"another")
    assert put(folder, source) == 1
    assert kept.read_bytes() == content
