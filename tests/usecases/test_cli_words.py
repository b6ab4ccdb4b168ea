"""The command line in general: commands, exit codes, and one line per fault."""

from dataclasses import replace
from pathlib import Path

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import Installation
from dunwell.accounts.installation.store import save_untrusted_proxies
from dunwell.platform.clock import SystemClock
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.support.command_line import CommandLine


def test_config_shows_settings_without_secrets(dunwell: CommandLine) -> None:
    done = dunwell.run("config", DUNWELL_SECRET_KEY="c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3I=")
    assert done.returncode == 0
    assert "DUNWELL_SECRET_KEY=(set)" in done.stdout.splitlines()
    assert "DUNWELL_DATABASE_URL=(set)" in done.stdout.splitlines()
    assert "c2VjcmV0" not in done.stdout + done.stderr


def test_faulty_settings_are_reported_line_by_line(dunwell: CommandLine) -> None:
    done = dunwell.run("config", DUNWELL_PORT="x", DUNWELL_LOG_LEVEL="loud")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        "dunwell: DUNWELL_PORT: 'x' is not a port; use 1 to 65535.",
        "dunwell: DUNWELL_LOG_LEVEL: 'loud' is not one of debug, info, warning, error.",
    ]


@pytest.mark.parametrize("words", [["dance"], ["up", "--workers", "none"], ["apply"], []])
def test_wrong_usage_is_reported_in_one_line_and_exits_with_2(
    dunwell: CommandLine, words: list[str]
) -> None:
    done = dunwell.run(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("dunwell: ")
    assert done.stderr.count("\n") == 1


def test_help_lists_every_command(dunwell: CommandLine) -> None:
    done = dunwell.run_in_new_process("--help")
    words = ["up", "web", "worker", "mail", "channel", "migrate", "apply", "workflow"]
    words += ["rules", "scenario"]
    words += [
        "switch",
        "credential",
        "user",
        "webhook",
        "explain",
        "suppression",
        "communications",
        "statements",
        "debits",
        "outbox",
        "verify-ledger",
        "audit",
        "key",
        "backup",
        "restore",
        "archive",
        "doctor",
        "config",
    ]
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.split("Commands:\n")[1].splitlines()] == words


def test_doctor_finds_no_fault_in_a_complete_installation(dunwell: CommandLine) -> None:
    done = dunwell.run("doctor")
    # The remedy of a note is below it.
    lines = [line for line in done.stdout.splitlines() if not line.startswith(" ")]
    subjects = [line.split()[:2] for line in lines]
    assert subjects == [
        ["ok", "settings"],
        ["ok", "database"],
        ["ok", "metrics"],
        ["ok", "database"],
        ["ok", "pooler"],
        ["ok", "clock"],
        ["ok", "migrations"],
        ["ok", "proxies"],
        ["ok", "secret"],
        ["ok", "restore"],
        ["note", "operator"],
        ["note", "alerts"],
        ["note", "alerts"],
        ["ok", "workflows"],
        ["ok", "uploads"],
        ["ok", "webhooks"],
        ["ok", "backup"],
        ["ok", "verify"],
        ["ok", "storage"],
        ["ok", "disk"],
        ["ok", "folders"],
        ["note", "fonts"],
        ["ok", "confinement"],
    ]
    assert done.returncode == 0


def test_doctor_says_what_to_do_when_the_database_is_unavailable(dunwell: CommandLine) -> None:
    away = "postgresql://postgres@127.0.0.1:1/postgres"
    done = dunwell.run("doctor", DUNWELL_DATABASE_URL=away)
    assert done.returncode == 1
    assert "FAULT database" in done.stdout
    assert "correct DUNWELL_DATABASE_URL" in done.stdout
    assert "Traceback" not in done.stderr


async def test_migrate_creates_the_schema_in_an_empty_database(
    dunwell: CommandLine, postgres: EmbeddedPostgres, database: Database
) -> None:
    async with database.connection() as connection:
        await connection.execute("DROP DATABASE IF EXISTS empty")
        await connection.execute("CREATE DATABASE empty TEMPLATE template0")
    empty = postgres.url.replace("/postgres?", "/empty?")
    found = dunwell.run("doctor", DUNWELL_DATABASE_URL=empty)
    assert "Run: dunwell migrate" in found.stdout
    assert found.stderr == ""
    early = dunwell.run("credential", "create", "nordwind", "erp", DUNWELL_DATABASE_URL=empty)
    assert early.returncode == 1
    assert "run: dunwell migrate" in early.stderr
    for _ in range(2):
        assert dunwell.run("migrate", DUNWELL_DATABASE_URL=empty).returncode == 0
    assert dunwell.run("doctor", DUNWELL_DATABASE_URL=empty).returncode == 0
    async with database.connection() as connection:
        await connection.execute("DROP DATABASE empty")


async def test_doctor_ignores_a_proxy_that_was_trusted_since(
    dunwell: CommandLine, resources: Resources
) -> None:
    real = replace(resources, clock=SystemClock())
    await apply_installation(real, Installation(trusted_proxies=["10.1.0.0/16"]))
    async with resources.database.transaction() as tx:
        await save_untrusted_proxies(tx, ["10.1.2.3", "10.2.2.3"], real.clock.now())
    assert "10.2.2.3 forwards requests and is not trusted" in dunwell.run("doctor").stdout
    await apply_installation(real, Installation(trusted_proxies=["10.1.0.0/16", "10.2.2.3"]))
    done = dunwell.run("doctor")
    assert "no untrusted proxy was seen" in done.stdout
    # It is no longer trusted after it was removed from the file.
    await apply_installation(real, Installation(trusted_proxies=["10.2.2.3"]))
    assert "10.1.2.3 forwards requests" in dunwell.run("doctor").stdout


def test_verifying_a_backup_needs_its_folder(
    dunwell: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    done = dunwell.run("backup", "verify")

    assert done.returncode == 2
    assert "Missing argument 'FOLDER'" in done.stderr
    assert list(tmp_path.iterdir()) == []
