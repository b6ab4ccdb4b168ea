"""Follows docs/operator/running.md literally, apart from the parts about many hosts: its commands
are read from the page and run."""

import asyncio
import json
import re
import shutil
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import asyncpg
import httpx
import pytest

from tests.faults.installation import Installation, find_free_port, wait_until
from tests.support.clusters import Cluster, Servers
from tests.support.operator_pages import Follow, read_blocks, read_commands, read_section
from tests.support.pooler import Pooler, a_pooler
from tests.support.web_processes import a_web

_PAGE = "running.md"
_POOLER = "Behind pgBouncer"
_EXAMPLES = Path(__file__).parents[2] / "examples"
_CREDENTIAL = re.compile(r"^client_id\s+(\S+)\nclient_secret\s+(\S+)$", re.MULTILINE)


def test_up_starts_everything_on_one_host(
    bare_installation: Installation, run_printed: Follow
) -> None:
    [command] = read_commands("On one host", _PAGE)
    port = bare_installation.port
    output = run_printed(command, DUNWELL_DATA_DIR=bare_installation.data_dir, DUNWELL_PORT=port)
    assert output == f"ready http://127.0.0.1:{port}\n"


@dataclass
class Operator:
    """An operator at a shell on the host of an installation."""

    installation: Installation
    follow: Follow
    # Client id and secret of each credential that was shown.
    shown: list[tuple[str, str]] = field(default_factory=list)

    def run(self, command: str) -> str:
        output = self.follow(command, DUNWELL_DATA_DIR=self.installation.data_dir)
        self.shown += _CREDENTIAL.findall(output)
        return output

    def obtain_token(self, client_id: str, secret: str) -> httpx.Response:
        form = {"grant_type": "client_credentials", "client_id": client_id, "client_secret": secret}
        address = f"http://127.0.0.1:{self.installation.port}/api/token"
        return httpx.post(address, data=form, timeout=30)

    def may_read(self, token: str, merchant_id: str) -> int:
        """Return the status of a request with the token."""
        address = f"http://127.0.0.1:{self.installation.port}/api/merchants/{merchant_id}/claims"
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.get(address, headers=headers, timeout=30).status_code


def write_merchant_files(folder: Path) -> str:
    """Write the example of merchant-file.md as nordwind.yaml with the files that it names. Return
    the address of its webhook."""
    [document] = read_blocks("An example", "merchant-file.md", "yaml")
    (folder / "nordwind.yaml").write_text(document.replace("key: teekontor", "key: nordwind"))
    for name in ("teekontor.svg", "friendly-reminders.yaml"):
        shutil.copy(_EXAMPLES / name, folder)
    [url] = re.findall(r"- url: (\S+)", document)
    return str(url)


def test_merchants_and_credentials_are_managed_as_documented(
    installation: Installation, tmp_path: Path, run_printed: Follow
) -> None:
    url = write_merchant_files(tmp_path)
    installation.start_ready()
    operator = Operator(installation, run_printed)
    [block] = read_blocks("Merchants and credentials", _PAGE)
    commands = iter(block.splitlines())

    def follow(beginning: str, **names: str) -> str:
        """Run the next command of the page. `names` replaces its placeholders."""
        command = next(commands)
        assert command.startswith(beginning), command
        for name, value in names.items():
            assert name in command
            command = command.replace(name, value)
        return operator.run(command)

    assert "would be published" in follow("dunwell apply")
    follow("dunwell apply")
    applied = json.loads(operator.run("dunwell apply nordwind.yaml --json"))
    merchant_id = applied["merchantId"]
    operator.run(f"dunwell apply {_EXAMPLES / 'demo-merchant.yaml'} --publish")
    operator.shown.clear()
    follow("dunwell credential create")
    follow("dunwell credential create")
    (shop, secret), (bookkeeping, _) = operator.shown
    listed = follow("dunwell credential list")
    assert re.search(rf"{bookkeeping}.*MONEY", listed), listed

    follow("dunwell credential rotate", CLIENT_ID=shop)
    renewed = operator.shown[-1]
    assert operator.obtain_token(shop, secret).status_code == 200
    follow("dunwell credential end-old-secret", CLIENT_ID=shop)
    assert operator.obtain_token(shop, secret).status_code == 401
    follow("dunwell credential revoke", CLIENT_ID=bookkeeping)
    token = operator.obtain_token(*renewed).json()["access_token"]
    (tmp_path / "token.txt").write_text(token)
    assert operator.may_read(token, merchant_id) == 200
    follow("dunwell credential revoke-token")
    assert operator.may_read(token, merchant_id) == 401
    follow("dunwell credential allow", CLIENT_ID=shop, MERCHANT="teekontor-demo")
    follow("dunwell credential disallow", CLIENT_ID=shop, MERCHANT="teekontor-demo")
    assert "whsec_" in follow("dunwell webhook rotate", MERCHANT="nordwind", URL=url)
    assert list(commands) == []


async def test_an_upgrade_works_as_documented(
    debian: Cluster, tmp_path: Path, run_printed: Follow
) -> None:
    """The upgrade starts from an empty database, because no older version was released. A web
    process that starts first waits for the migrations."""
    backup, *_ = read_commands("Backup", _PAGE)
    migrate, mail, doctor = read_commands("An upgrade", _PAGE)
    data_dir = tmp_path / "var"
    run = partial(run_printed, DUNWELL_DATABASE_URL=debian.url, DUNWELL_DATA_DIR=data_dir)

    def upgrade() -> None:
        with a_web(data_dir, debian.url) as web:
            asked = partial(httpx.get, f"{web.origin}/readyz", timeout=30)
            wait_until(lambda: asked().status_code == 503, "it waits for the migrations")
            run(migrate)
            wait_until(lambda: asked().status_code == 200, "it has them")
            run(backup.replace("FOLDER", str(tmp_path / "backup")))
            run(migrate)
        for restarted in (
            "dunwell web",
            "dunwell worker",
            f"{mail} --lmtp 127.0.0.1:{find_free_port()}",
        ):
            assert run(restarted, DUNWELL_PORT=find_free_port()).startswith("ready")
        assert "FAULT" not in run(doctor)

    await asyncio.to_thread(upgrade)


async def test_a_backup_is_taken_verified_and_restored_as_documented(
    debian: Cluster, servers: Servers, tmp_path: Path, run_printed: Follow
) -> None:
    backup, restore, verify, *_ = [
        each.replace("FOLDER", str(tmp_path / "backup")) for each in read_commands("Backup", _PAGE)
    ]
    run = partial(asyncio.to_thread, run_printed, DUNWELL_DATA_DIR=tmp_path / "var")
    await run("dunwell migrate", DUNWELL_DATABASE_URL=debian.url)
    assert "backed up as of" in await run(backup, DUNWELL_DATABASE_URL=debian.url)
    assert ", complete: " in await run(verify)
    newer = await servers.start_new()
    run = partial(run, DUNWELL_DATABASE_URL=newer.url)
    assert "The worker does nothing until" in await run(restore)


async def test_the_documented_statement_starts_a_new_epoch(
    debian: Cluster, run_printed: Follow, tmp_path: Path
) -> None:
    [statement] = re.findall(r"`(UPDATE epochs [^`]+)`", read_section("Backup", _PAGE))
    run = partial(
        asyncio.to_thread, run_printed, "dunwell migrate", DUNWELL_DATA_DIR=tmp_path / "var",
        DUNWELL_DATABASE_URL=debian.url,
    )  # fmt: skip
    await run()
    assert await debian.run_sql("SELECT count(*) FROM epochs") == 1
    await debian.run_sql(statement)
    await run()
    assert await debian.run_sql("SELECT count(*) FROM epochs") == 2


def find_pooler(output: str) -> str:
    """Return what `dunwell doctor` prints about the pooler."""
    [line] = [each for each in output.splitlines() if each[6:].startswith("pooler ")]
    return line


@pytest.fixture
async def owned(debian: Cluster) -> Cluster:
    """The superuser's server with a role and its database, both named dunwell."""
    await debian.run_sql("CREATE ROLE dunwell LOGIN")
    await debian.run_sql("CREATE DATABASE dunwell OWNER dunwell")
    return debian


async def reconnect(pooler: Pooler, command: str) -> None:
    """Run a command in the console of pgBouncer."""
    console = pooler.unnamed.rpartition("/")[0] + "/pgbouncer"
    connection = await asyncpg.connect(console, statement_cache_size=0)
    await connection.execute(command)
    await connection.close()


async def test_pgbouncer_in_transaction_mode_works_as_documented(
    owned: Cluster, tmp_path: Path, run_printed: Follow
) -> None:
    text = read_section(_POOLER, _PAGE)
    [export] = read_blocks(_POOLER, _PAGE)
    [printed] = re.findall(r"'(postgresql://[^']*)'", export)
    assert printed.partition("?")[2] == "pooler=transaction&sslmode=require"
    [jit] = re.findall(r"`(ALTER ROLE [^`]+)`", text)
    [again] = re.findall(r"`(RECONNECT)`", text)
    run = partial(run_printed, DUNWELL_DATA_DIR=tmp_path / "var")

    def try_it() -> None:
        with a_pooler(owned.postgres, tmp_path, user="dunwell") as pooler:
            address = pooler.url_of("dunwell").replace("postgres@", "dunwell@")
            script = export.replace(printed, address)
            run(f"{script}dunwell migrate")
            output = find_pooler(run(f"{script}dunwell doctor || true"))
            assert "the database has jit enabled" in output
            asyncio.run(owned.run_sql(jit))
            asyncio.run(reconnect(pooler, again))
            output = find_pooler(run(f"{script}dunwell doctor || true"))
            assert output == "ok    pooler       there is one, and the database URL names it"

    await asyncio.to_thread(try_it)


async def test_pgbouncer_in_session_mode_needs_only_the_documented_setting(
    owned: Cluster, tmp_path: Path, run_printed: Follow
) -> None:
    text = read_section(_POOLER, _PAGE)
    [setting] = set(re.findall(r"`(ignore_startup_parameters = \w+)`", text))
    name, _, value = setting.partition(" = ")
    more = {"pool_mode": "session", name: value}
    run = partial(run_printed, DUNWELL_DATA_DIR=tmp_path / "var")

    def try_it() -> None:
        with a_pooler(owned.postgres, tmp_path, user="dunwell", settings=more) as pooler:
            address, _, _ = pooler.url_of("dunwell").replace("postgres@", "dunwell@").partition("?")
            assert "migrated to" in run("dunwell migrate", DUNWELL_DATABASE_URL=address)
            output = find_pooler(run("dunwell doctor || true", DUNWELL_DATABASE_URL=address))
            # This is not a fault, because the pooler passes the parameters that each connection
            # sets when it starts.
            assert output.startswith("note"), output

    await asyncio.to_thread(try_it)


def test_a_worker_serves_metrics_at_the_documented_address(
    installation: Installation, run_printed: Follow
) -> None:
    [command] = re.findall(
        r"`(DUNWELL_OPERATOR_BIND=\S+ dunwell worker)`", read_section("What to watch", _PAGE)
    )
    installation.start_ready()
    command = command.replace("9101", str(find_free_port()))
    assert run_printed(command, DUNWELL_DATA_DIR=installation.data_dir).startswith("ready")
