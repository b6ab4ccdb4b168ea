"""The database goes away and comes back: 503 with Retry-After meanwhile, and no restart after."""

import asyncio
import itertools
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from dunwell.config import load_settings
from dunwell.kit.clock import MovableClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.migrate import migrate
from dunwell.kit.postgres import EmbeddedPostgres, find_binaries
from dunwell.kit.resources import Resources
from tests.support.api import Api, an_api
from tests.support.claims import a_claim

_FIRST_MERCHANT_IDS = itertools.count(1_000_000, 100)


class Server:
    """A PostgreSQL of this test's own, to be stopped and started."""

    def __init__(self, folder: Path) -> None:
        self.postgres = EmbeddedPostgres(folder, find_binaries(None))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = self.postgres.start()

    def stop(self) -> None:
        assert self._process is not None
        self._process.send_signal(2)
        self._process.wait(timeout=10)


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    for parent in (tmp_path, *tmp_path.parents):  # as root, the server's user must reach it
        if parent.owner() == "root" and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    server = Server(tmp_path / "postgres")
    server.start()
    yield server
    server.stop()


@pytest.fixture
async def own(server: Server, tmp_path: Path, clock: MovableClock) -> AsyncIterator[Api]:
    """The application over that server."""
    url = server.postgres.url
    settings = load_settings({"DUNWELL_DATA_DIR": str(tmp_path), "DUNWELL_DATABASE_URL": url})
    await asyncio.to_thread(migrate, url)
    database = await Database.open(url, size=4)
    async with database.connection() as connection:
        # As in every test: no merchant id twice in a process.
        await connection.execute(
            f"ALTER TABLE merchants ALTER merchant_id RESTART WITH {next(_FIRST_MERCHANT_IDS)}"
        )
    keys = KeyRing(settings.secret_key)
    async with an_api(Resources(settings, database, clock, RandomIds(), keys), clock) as api:
        yield api
    await database.close()


async def test_it_says_when_to_try_again_and_recovers_by_itself(own: Api, server: Server) -> None:
    [claim_id] = await own.nordwind.create()
    server.stop()

    for answer in (
        await own.nordwind.get(f"/claims/{claim_id}"),
        await own.nordwind.post("/claims", [a_claim("A-2")], key="k"),
        await own.nordwind.http.get("/readyz"),
    ):
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
        assert answer.json()["error"]["type"] == "Unavailable"
    assert (await own.nordwind.http.get("/healthz")).status_code == 200

    server.start()
    assert (await own.nordwind.http.get("/readyz")).status_code == 200
    again = await own.nordwind.post("/claims", [a_claim("A-2")], key="k")
    assert again.json()["result"][0]["error"] is None


async def test_the_token_endpoint_says_so_in_its_own_words(own: Api, server: Server) -> None:
    server.stop()
    form = {"grant_type": "client_credentials", "client_id": "x", "client_secret": "y"}

    answer = await own.nordwind.send("POST", "/token", token="", data=form)

    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert answer.json()["error"] == "temporarily_unavailable"
    server.start()
