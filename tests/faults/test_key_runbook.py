"""docs/operator/keys.md: its commands are executed exactly as documented."""

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dunwell.platform.clock import Clock, MovableClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.keys import open_first_connection, reseal_table
from tests.support.webhooks import Outbox, an_outbox

PAGE = Path(__file__).parents[2] / "docs" / "operator" / "keys.md"
URL = "https://erp.example.com/webhooks"
_TIMEOUT_SECONDS = 240
_DUNWELL = """\
#!/bin/sh
exec "{python}" -m dunwell "$@"
"""
# The part of psql that the page uses: -c STATEMENT at an address.
_PSQL = """\
#!{python}
import asyncio, sys, asyncpg
async def run(url, _, statement):
    connection = await asyncpg.connect(url)
    print(await connection.fetch(statement))
    await connection.close()
asyncio.run(run(*sys.argv[1:]))
"""
Follow = Callable[[str, int], str]


def read_block(section: str, place: int) -> str:
    """Return the commands of a block of the section."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    blocks: list[str] = re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return blocks[place]


def write_program(path: Path, text: str) -> None:
    path.write_text(text.format(python=sys.executable))
    path.chmod(0o755)


@pytest.fixture
def resources(
    postgres: EmbeddedPostgres, database: Database, clock: MovableClock, tmp_path: Path
) -> Resources:
    """Use a separate data folder, so that other tests do not find another key in theirs."""
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    return open_resources(str(data_dir), postgres.url, database, clock)


def open_resources(data_dir: str, url: str, database: Database, clock: Clock) -> Resources:
    """Open the resources of a process that starts now, with the current key file."""
    settings = load_settings({"DUNWELL_DATA_DIR": data_dir, "DUNWELL_DATABASE_URL": url})
    return Resources(settings, database, clock, RandomIds(), KeyRing(settings.secret_key))


@pytest.fixture
def follow(resources: Resources, tmp_path: Path) -> Follow:
    """Return a function that runs a block of the page and returns its output."""
    programs, working_folder = tmp_path / "programs", tmp_path / "desk"
    programs.mkdir()
    working_folder.mkdir()
    write_program(programs / "dunwell", _DUNWELL)
    write_program(programs / "psql", _PSQL)
    given = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "DUNWELL_DATA_DIR": str(resources.settings.data_dir),
        "DUNWELL_DATABASE_URL": str(resources.settings.database_url),
        "DUNWELL_SECRET_KEY_FILE": str(resources.settings.data_dir / "secret.key"),
    }

    def run(section: str, place: int) -> str:
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", read_block(section, place)],
            env=given, cwd=working_folder, capture_output=True, text=True,
            timeout=_TIMEOUT_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def restarted(resources: Resources) -> Resources:
    settings = resources.settings
    url = str(settings.database_url)
    return open_resources(str(settings.data_dir), url, resources.database, resources.clock)


async def an_installation(resources: Resources) -> Outbox:
    """Return an installation that has been used, with an encrypted endpoint secret."""
    await open_first_connection(resources)
    outbox = await an_outbox(resources)
    await outbox.add_endpoint(URL)
    return outbox


async def reseal(resources: Resources) -> None:
    await reseal_table(resources, "webhook_endpoints")


def is_private(resources: Resources) -> bool:
    return (resources.settings.data_dir / "secret.key").stat().st_mode & 0o077 == 0


async def test_the_documented_rotation_on_one_host_works(
    resources: Resources, follow: Follow
) -> None:
    await an_installation(resources)
    follow("Rotate it", 0)
    after = restarted(resources)
    assert after.keys.versions == (2, 1)
    assert after.keys.fingerprint(1) == resources.keys.fingerprint(1)
    assert is_private(resources)
    await open_first_connection(after)
    await reseal(after)
    output = follow("Rotate it", 3)
    assert "version 2 is in use, older versions: 1" in output
    [second, first] = [line.split() for line in output.splitlines() if line[:2] in ("2 ", "1 ")]
    assert (second[1], second[3]) == ("IN_USE", "1")
    assert (first[1], first[3]) == ("KEPT", "0")


async def test_the_documented_rotation_on_several_hosts_works(
    resources: Resources, follow: Follow
) -> None:
    await an_installation(resources)
    follow("Rotate it", 1)
    known = restarted(resources)
    assert known.keys.versions == (1, 2)
    await open_first_connection(known)
    follow("Rotate it", 2)
    used = restarted(resources)
    assert used.keys.versions == (2, 1)
    assert used.keys.fingerprint(2) == known.keys.fingerprint(2)
    assert is_private(resources)
    await open_first_connection(used)


async def test_the_documented_steps_after_a_lost_key_work(
    resources: Resources, follow: Follow
) -> None:
    outbox = await an_installation(resources)
    follow("The key is lost", 0)
    output = follow("The key is lost", 1)
    assert "version 2 is in use" in output
    follow("The key is lost", 2)
    follow("The key is lost", 3)
    after = restarted(resources)
    await open_first_connection(after)
    assert after.keys.versions == (2,)
    async with resources.database.connection() as connection:
        assert await connection.fetchval("SELECT key_version FROM suppressions") == 2
        secret = await connection.fetchval("SELECT secret_sealed FROM webhook_endpoints")
    assert outbox.merchant.key == "nordwind"
    assert secret.startswith(b"\xd5dunwell\0\2")


async def test_the_documented_steps_after_a_leaked_key_end_its_links(
    resources: Resources, follow: Follow
) -> None:
    outbox = await an_installation(resources)
    async with resources.database.connection() as connection:
        await connection.execute(
            "INSERT INTO debtor_links (merchant_id, token_hash, claim_id, created_at)"
            " SELECT merchant_id, 'x', claim_id, now() FROM claims WHERE merchant_id = $1",
            outbox.merchant.merchant_id,
        )
        assert await connection.fetchval("SELECT count(*) FROM debtor_links") == 1
        follow("The key has leaked", 0)
        assert await connection.fetchval("SELECT count(*) FROM debtor_links") == 0


async def test_a_key_version_in_use_is_not_retired(resources: Resources, follow: Follow) -> None:
    await an_installation(resources)
    follow("Rotate it", 0)
    await open_first_connection(restarted(resources))
    with pytest.raises(AssertionError, match="still encrypts 1 webhook secrets"):
        follow("Keep the old versions", 0)
