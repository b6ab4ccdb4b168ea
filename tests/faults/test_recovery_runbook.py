"""Follows the operator's pages literally: the commands are those that the pages print, run on
Debian's PostgreSQL with an ordinary role."""

import asyncio
import contextlib
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg
import pytest

from dunwell.accounts.installation.installation_file import check_installation
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.embedded.postgres import PostgresFailed
from dunwell.platform.key_versions import register_keys_at
from dunwell.platform.resources import Resources
from dunwell.platform.text.yaml_document import parse_yaml
from tests.faults.installation import Installation, find_free_port, wait_until
from tests.servers.debian import PRODUCTION
from tests.support.certificates import write_certificate
from tests.support.clusters import (
    Cluster,
    Servers,
    a_cluster_merchant,
    an_outbox_on,
    give_to_server,
    let_server_reach,
)
from tests.support.command_line import CommandLine
from tests.support.merchant_ids import FIRST_MERCHANT_IDS
from tests.support.operator_pages import Follow, read_blocks, read_section
from tests.support.postgres_versions import find_binaries_of
from tests.support.webhooks import Outbox, an_outbox

_OWN_SERVER = "A point in time of a server of your own"


def test_an_installation_is_backed_up_while_it_runs_and_restored_on_another_host(
    installation: Installation, tmp_path: Path, follow: Follow
) -> None:
    backups = tmp_path / "backups"
    installation.start_ready()
    here = {"DUNWELL_DATA_DIR": installation.data_dir, "BACKUPS": backups}
    assert "backed up as of" in follow("A backup", **here)
    assert "ok    backup" in follow("A backup", 1, **here)
    assert ", complete: " in follow("Verifying a backup", **here)
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
        output = subprocess.run(doctor, capture_output=True, text=True, check=False).stdout
        assert "waits to be resumed: nothing is sent" in output
        assert "resumed; 0 claims" in follow("Before anything is sent again", **there)
        assert other.stop() == 0
    finally:
        other.end()


def list_statements() -> list[str]:
    """Return the statements that a superuser executes once according to running.md."""
    [block] = read_blocks("On many hosts", "running.md", "sql")
    return [each for each in block.split(";\n") if each]


async def an_ordinary_role(superuser: Cluster) -> Cluster:
    """Return the same server accessed as the role that running.md creates, with a migrated
    database."""
    for statement in list_statements():
        await superuser.run_sql(statement)
    ordinary = replace(superuser, role="dunwell", database="dunwell")
    await asyncio.to_thread(migrate, ordinary.url)
    await ordinary.run_sql(
        f"ALTER TABLE merchants ALTER merchant_id RESTART WITH {next(FIRST_MERCHANT_IDS)}"
    )
    return ordinary


async def wait_for_moment(cluster: Cluster) -> str:
    """Return a time in the page's format that is after everything done so far and before everything
    that follows."""
    moment = await cluster.run_sql("SELECT date_trunc('second', clock_timestamp()) + '1 s'")
    assert isinstance(moment, datetime)
    await cluster.run_sql("SELECT pg_sleep(2)")
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


@dataclass
class ServerOfYourOwn:
    """An administrator who follows the page: a server that archives its log, and its copy."""

    origin: Cluster
    copy: Cluster
    outbox: Outbox
    follow: Follow
    variables: dict[str, object]

    async def run(self, place: int) -> str:
        return await asyncio.to_thread(self.follow, _OWN_SERVER, place, **self.variables)

    async def stop(self) -> None:
        """Stop the server once the archive contains everything."""
        await self.superuser.run_sql("SELECT pg_switch_wal()")
        await self.superuser.stop()

    async def make_copy(self) -> None:
        self.copy.postgres.folder.mkdir()
        await self.run(2)
        give_to_server(self.copy.postgres.folder)

    @property
    def superuser(self) -> Cluster:
        return replace(self.origin, role="postgres", database="postgres")

    async def hold(self) -> Cluster:
        """Wait until the copy accepts writes, and hold it as the page says."""
        await self.copy.wait_for("SELECT NOT pg_is_in_recovery()")
        restored = replace(self.copy, role="dunwell", database="dunwell")
        self.variables["DUNWELL_DATABASE_URL"] = restored.url
        assert "The worker does nothing until" in await self.run(3)
        return restored


@pytest.fixture
async def own_server(
    servers: Servers, debian: Cluster, resources: Resources, tmp_path: Path, follow: Follow
) -> ServerOfYourOwn:
    origin = await an_ordinary_role(debian)
    outbox = await an_outbox_on(origin, resources)
    archive = tmp_path / "archive"
    copy = servers.keep(Cluster.on(servers.place(), debian.postgres.binaries))
    archive.mkdir()
    give_to_server(archive)
    variables: dict[str, object] = {
        "DUNWELL_DATABASE_URL": origin.url, "SUPERUSER_URL": debian.url, "ARCHIVE": archive,
        "PGDATA": copy.data, "DUNWELL_DATA_DIR": tmp_path / "var",
    }  # fmt: skip
    made = ServerOfYourOwn(origin, copy, outbox, follow, variables)
    await made.run(0)
    await debian.stop()
    await debian.start()
    origin.server = debian.server
    await made.run(1)
    return made


async def test_an_own_server_is_restored_to_a_point_in_time(own_server: ServerOfYourOwn) -> None:
    async with a_cluster_merchant(own_server.outbox, own_server.origin.url) as served:
        kept = await served.work()
        own_server.variables["TIME"] = await wait_for_moment(own_server.origin)
        await served.work()
        seen = await served.look()
    await own_server.stop()
    await own_server.make_copy()
    await own_server.copy.start()
    restored = await own_server.hold()
    async with a_cluster_merchant(own_server.outbox, restored.url) as served:
        assert await served.list_events() == kept
        new_events = await served.work()
        assert await served.list_events(seen.cursor) == new_events
    output = await asyncio.to_thread(
        own_server.follow, "Before anything is sent again", 0, **own_server.variables
    )
    assert "resumed" in output


async def test_a_recovery_time_after_the_archives_end_is_removed_as_documented(
    own_server: ServerOfYourOwn,
) -> None:
    async with a_cluster_merchant(own_server.outbox, own_server.origin.url) as served:
        kept = await served.work()
    await own_server.stop()
    own_server.variables["TIME"] = f"{datetime.now(UTC) + timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}"
    await own_server.make_copy()
    # The server may answer for a moment, until it has read the whole archive.
    with contextlib.suppress(PostgresFailed):
        await own_server.copy.start()
        assert own_server.copy.server is not None
        await asyncio.to_thread(own_server.copy.server.wait, 30)
    text = " ".join(read_section(_OWN_SERVER, "recovery.md").split())
    [log_line] = re.findall(r"`(recovery ended [^`]+)`", text)
    logs = own_server.copy.postgres.folder.rglob("*.log")
    assert any(log_line in path.read_text(errors="replace") for path in logs)
    await own_server.run(4)
    await own_server.copy.start()
    restored = await own_server.hold()
    async with a_cluster_merchant(own_server.outbox, restored.url) as served:
        assert await served.list_events() == kept


async def test_migrate_names_the_missing_grant(debian: Cluster, tmp_path: Path) -> None:
    await debian.run_sql("CREATE ROLE dunwell LOGIN")
    await debian.run_sql("CREATE DATABASE dunwell")
    command_line = CommandLine(
        tmp_path / "var", replace(debian, role="dunwell", database="dunwell").url
    )
    refused = await asyncio.to_thread(command_line.run, "migrate")
    assert refused.returncode == 1
    assert "GRANT USAGE, CREATE ON SCHEMA public TO dunwell" in refused.stderr
    assert "Traceback" not in refused.stderr
    database = replace(debian, database="dunwell")
    await database.run_sql("GRANT USAGE, CREATE ON SCHEMA public TO dunwell")
    done = await asyncio.to_thread(command_line.run, "migrate")
    assert done.returncode == 0, done.stderr


def list_addresses(page: str) -> list[str]:
    """Return every database address that the page tells an operator to export."""
    blocks = "".join(read_blocks("On many hosts", page))
    return re.findall(r"^export DUNWELL_DATABASE_URL='([^']*)'", blocks, re.MULTILINE)


def test_the_documented_production_settings_are_valid(tmp_path: Path) -> None:
    addresses = list_addresses("running.md")
    assert len(addresses) == 2
    exported = dict(
        re.findall(
            r"^export (\w+)=(\S+)", read_blocks("On many hosts", "running.md")[0], re.MULTILINE
        )
    )
    key_file = tmp_path / "key"
    key_file.write_text(b64encode(bytes(range(32))).decode())
    exported["DUNWELL_SECRET_KEY_FILE"] = str(key_file)
    for address in addresses:
        assert load_settings({**exported, "DUNWELL_DATABASE_URL": address}).profile == "production"


async def test_web_worker_and_mail_start_as_documented(
    servers: Servers, tmp_path: Path, follow: Follow
) -> None:
    write_certificate(tmp_path, "db.internal")
    let_server_reach(tmp_path)
    give_to_server(tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(0o600)
    database_port = find_free_port()
    cluster = Cluster.on(servers.place(), find_binaries_of(15))
    tls = {
        "listen_addresses": "127.0.0.1", "port": str(database_port), "ssl": "on",
        "ssl_cert_file": str(tmp_path / "certificate.pem"),
        "ssl_key_file": str(tmp_path / "key.pem"),
    }  # fmt: skip
    cluster.postgres = replace(cluster.postgres, settings=tls)
    await servers.keep(cluster).start()
    superuser = await asyncpg.connect(
        f"postgresql://postgres@127.0.0.1:{database_port}/postgres?sslmode=require"
    )
    [statements] = read_blocks("On many hosts", "running.md", "sql")
    for statement in statements.split(";\n"):
        if statement.strip():
            await superuser.execute(statement)
    await superuser.close()
    (tmp_path / "key").write_text(b64encode(bytes(range(32))).decode())
    output = await asyncio.to_thread(
        follow, "On many hosts", 0, page="running.md",
        changes=[
            ("@db.internal/", f"@127.0.0.1:{database_port}/"),
            ("/run/secrets/dunwell-key", str(tmp_path / "key")),
            ("0.0.0.0", "127.0.0.1"),
            ("127.0.0.1:8024", f"127.0.0.1:{find_free_port()}"),
        ],
        DUNWELL_DATA_DIR=tmp_path / "var", DUNWELL_PORT=find_free_port(),
    )  # fmt: skip
    assert output.count("\nready") == 3, output


async def test_a_lost_rotated_or_leaked_key_is_handled_as_documented(
    debian: Cluster, resources: Resources, tmp_path: Path, follow: Follow
) -> None:
    ordinary = await an_ordinary_role(debian)
    here = {
        "DUNWELL_DATABASE_URL": ordinary.url, "DUNWELL_DATA_DIR": tmp_path / "var",
        "DUNWELL_SECRET_KEY_FILE": tmp_path / "key",
    }  # fmt: skip

    async def read(section: str, place: int) -> str:
        return await asyncio.to_thread(follow, section, place, page="keys.md", **here)

    (tmp_path / "key").write_text(b64encode(bytes(range(32))).decode())
    database = await Database.open(ordinary.url, size=1)
    settings = load_settings({name: str(value) for name, value in here.items()})
    first = replace(resources, database=database, keys=KeyRing(settings.secret_key))
    await register_keys_at(ordinary.url, first.keys)
    outbox = await an_outbox(first)
    await outbox.add_endpoint("https://erp.example.com/webhooks")
    await database.close()

    await read("The key is lost", 0)
    assert "version 2 is in use" in await read("The key is lost", 1)
    await read("The key is lost", 2)
    await read("The key is lost", 3)
    assert await ordinary.run_sql("SELECT key_version FROM suppressions") == 2
    await read("Rotate it", 0)
    assert "version 3 is in use, older versions: 2" in await read("Rotate it", 3)
    assert "DELETE 0" in await read("The key has leaked", 0)


def test_the_documented_delivery_providers_are_valid() -> None:
    blocks = "".join(
        read_blocks(section, "channels.md", "yaml")[0] for section in ("E-mail", "SMS")
    ).replace("deliveryProviders:\n", "")
    given = check_installation(parse_yaml(f"deliveryProviders:\n{blocks}"))
    assert list(given.delivery_providers or {}) == ["mail", "sms-kannel"]


def test_the_production_files_name_the_same_host() -> None:
    """Kannel and the proxy use the same host as DUNWELL_PUBLIC_URL."""
    [block, *_] = read_blocks("On many hosts", "running.md")
    [origin] = re.findall(r"^export DUNWELL_PUBLIC_URL=(\S+)$", block, re.MULTILINE)
    assert f'get-url = "{origin}/callbacks/' in (PRODUCTION / "kannel.conf").read_text()
    host = origin.removeprefix("https://")
    assert set(re.findall(r"server_name (\S+);", (PRODUCTION / "nginx.conf").read_text())) == {host}
