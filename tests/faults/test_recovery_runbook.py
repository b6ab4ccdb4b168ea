"""docs/operator/recovery.md, followed word for word: its commands are run as they stand there."""

import asyncio
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

from tests.faults.conftest import Follow
from tests.faults.installation import Installation, wait_until
from tests.support.clusters import Cluster, Servers, a_shop, give_to_server
from tests.support.webhooks import Outbox


def test_an_installation_is_backed_up_while_it_runs_and_restored_on_another_host(
    installation: Installation, tmp_path: Path, follow: Follow
) -> None:
    backups = tmp_path / "backups"
    installation.start_ready()
    here = {"DUNWELL_DATA_DIR": installation.data_dir, "BACKUPS": backups}
    assert "backed up as of" in follow("A backup", **here)
    assert "ok    backup" in follow("A backup", 1, **here)
    assert "everything is there" in follow("Verifying a backup", **here)
    assert installation.stop() == 0
    safe = tmp_path / "safe"
    safe.mkdir()
    shutil.copy2(installation.data_dir / "secret.key", safe)
    other = Installation(tmp_path / "other")
    there = {"DUNWELL_DATA_DIR": other.data_dir, "BACKUPS": backups, "SAFE": safe}
    try:
        assert "The worker does nothing until" in follow("Restoring it", **there)
        other.start_ready()
        wait_until(lambda: "held after a restore" in other.read_log(), "the worker says so")
        doctor = [sys.executable, "-m", "dunwell", "doctor", "--data-dir", str(other.data_dir)]
        told = subprocess.run(doctor, capture_output=True, text=True, check=False).stdout
        assert "is held: nothing is sent" in told
        assert "resumed; 0 claims" in follow("Before anything is sent again", **there)
        assert other.stop() == 0
    finally:
        other.end()


async def test_a_server_goes_back_to_a_point_in_time(
    servers: Servers, origin: Cluster, outbox: Outbox, tmp_path: Path, follow: Follow
) -> None:
    archive, copy = tmp_path / "archive", servers.keep(Cluster.on(servers.place()))
    archive.mkdir()
    give_to_server(archive)
    here = {"DUNWELL_DATABASE_URL": origin.url, "ARCHIVE": archive, "PGDATA": copy.data}
    await asyncio.to_thread(follow, "A point in time of a server of your own", 0, **here)
    await origin.stop()
    await origin.start()
    await asyncio.to_thread(follow, "A point in time of a server of your own", 1, **here)
    async with a_shop(outbox, origin.url) as served:
        kept = await served.work()
        moment = await origin.run_sql("SELECT clock_timestamp()")
        await served.work()
        seen = await served.look()
    await origin.run_sql("SELECT pg_switch_wal()")
    await origin.stop()
    copy.postgres.folder.mkdir()
    assert isinstance(moment, datetime)
    here["TIME"] = moment.isoformat()

    await asyncio.to_thread(follow, "A point in time of a server of your own", 2, **here)
    give_to_server(copy.postgres.folder)
    await copy.start()
    await copy.wait_for("SELECT NOT pg_is_in_recovery()")
    here |= {"DUNWELL_DATABASE_URL": copy.url, "DUNWELL_DATA_DIR": tmp_path / "var"}
    told = await asyncio.to_thread(follow, "A point in time of a server of your own", 3, **here)

    assert "The worker does nothing until" in told
    async with a_shop(outbox, copy.url) as served:
        assert await served.list_events() == kept
        new_events = await served.work()
        assert await served.list_events(seen.cursor) == new_events
    told = await asyncio.to_thread(follow, "Before anything is sent again", 0, **here)
    assert "resumed" in told
