"""Real processes on a host with a wrong clock (Debian's libfaketime): a worker and a web process do
nothing that depends on the time, and report the two clocks that differ."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from dunwell.accounts.merchants.credentials.tokens import (
    SECRET_RANDOM_BYTES,
    IssuedToken,
    issue_token_with_limit,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.resources import Resources
from tests.servers.debian import find_port, need_program
from tests.support.api import a_credential, form_of
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.processes import complete_environment

_CLAIMS = 96
_SECONDS = 60
# Longer than several passes of every loop.
_LET_RUN_SECONDS = 4
_LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
# A reminder at any hour, a wait of a week, and then a fee.
_PROCESS = a_definition(
    steps=[{**DOCUMENT["steps"][0], "send": "IMMEDIATE"}, *DOCUMENT["steps"][1:]]
)
_FEES = "SELECT FROM items WHERE merchant_id = $1 AND type = 'DUNNING_FEE'"
_TOKENS = "SELECT FROM access_tokens WHERE $1 > 0"
_ALERTS = "SELECT kind, figures FROM alerts WHERE $1 > 0 AND ended_at IS NULL"


class Running:
    """A `dunwell` command and its standard error."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self.process, self._log = process, log

    def read_log(self) -> str:
        return self._log.read_text()

    async def wait_for(self, words: str) -> None:
        async with asyncio.timeout(_SECONDS):
            while words not in self.read_log():
                assert self.process.poll() is None, self.read_log()
                await asyncio.sleep(0.1)


@contextmanager
def running(
    settings: Settings, log: Path, *arguments: str, ahead: str, **more: str
) -> Iterator[Running]:
    """Run the command. `ahead` is an offset in the format of libfaketime, such as "+8d",
    or empty if `more` names a file that contains the offset."""
    need_program("faketime", "faketime")
    environment = complete_environment(
        {
            "DUNWELL_DATA_DIR": str(settings.data_dir),
            "DUNWELL_DATABASE_URL": str(settings.database_url),
        }
    )
    environment |= {"LD_PRELOAD": _LIBRARY, "FAKETIME_DONT_FAKE_MONOTONIC": "1", **more}
    environment |= {"FAKETIME": ahead} if ahead else {}
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "dunwell", *arguments],
            env=environment, stderr=errors, stdout=errors,
        )  # fmt: skip
    try:
        yield Running(process, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=30)
        finally:
            process.kill()
            process.wait()


@pytest.fixture
async def harness(resources: Resources) -> Harness:
    """A merchant with 96 claims whose fee is due in a week."""
    clock = MovableClock(datetime.now(UTC))
    harness = await a_harness(replace(resources, clock=clock), clock, _PROCESS)
    await harness.create(*(f"INV-{number}" for number in range(_CLAIMS)))
    await harness.run()
    return harness


@pytest.fixture
async def token(harness: Harness) -> str:
    """A token that is valid for an hour."""
    credential, resources = await a_credential(harness), harness.resources
    async with resources.database.transaction() as tx:
        issued = await issue_token_with_limit(
            tx, credential, now=datetime.now(UTC), visitor=b"visitor",
            randomness=os.urandom(SECRET_RANDOM_BYTES), ids=resources.ids,
        )  # fmt: skip
    assert isinstance(issued, IssuedToken)
    return issued.access_token


async def test_a_worker_eight_days_ahead_charges_no_fee_and_deletes_no_token(
    harness: Harness, token: str, tmp_path: Path
) -> None:
    settings = harness.resources.settings
    with running(settings, tmp_path / "log", "worker", ahead="+8d") as worker:
        await worker.wait_for("clocks differ, work is suspended")
        await asyncio.sleep(_LET_RUN_SECONDS)
        assert len(await harness.rows(_FEES)) == 0
        assert len(await harness.rows(_TOKENS)) == 1
        [alert] = await harness.rows(_ALERTS)
    assert alert["kind"] == "CLOCKS_APART"
    host, database = (
        datetime.fromisoformat(alert["figures"][name]) for name in ("hostClock", "databaseClock")
    )
    assert (host - database).days in {7, 8}
    assert token
    log = worker.read_log()
    assert '"host_clock"' in log
    assert '"database_clock"' in log
    # The failure is logged once a minute for all loops together.
    assert log.count('"event": "round failed"') == 1


async def test_a_worker_whose_clock_jumps_while_running_charges_no_fee(
    harness: Harness, token: str, tmp_path: Path
) -> None:
    """libfaketime reads its file at each reading of the clock."""
    (tmp_path / "time").write_text("+0d")
    from_file = {"FAKETIME_TIMESTAMP_FILE": str(tmp_path / "time"), "FAKETIME_NO_CACHE": "1"}
    settings = harness.resources.settings
    log = tmp_path / "log"
    with running(settings, log, "worker", ahead="", **from_file) as worker:
        await worker.wait_for("ready, worker")
        await asyncio.sleep(1)
        (tmp_path / "time").write_text("+8d")
        await worker.wait_for("clocks differ, work is suspended")
        await asyncio.sleep(_LET_RUN_SECONDS)
        assert len(await harness.rows(_FEES)) == 0
        assert len(await harness.rows(_TOKENS)) == 1
        (tmp_path / "time").write_text("+0d")
        await worker.wait_for("clocks agree again")
        # As a control, the worker now works again and charges what is due.
        harness.clock.move_to(datetime.now(UTC) - timedelta(days=8))
        await harness.create("INV-old", email="old@example.org")
        await harness.run()
        async with asyncio.timeout(_SECONDS):
            while not await harness.rows(_FEES):  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0.1)
        assert len(await harness.rows(_FEES)) == 1
    assert token


@pytest.mark.parametrize("ahead", ["+8d", "-8d"])
async def test_a_web_process_with_a_wrong_clock_answers_503(
    harness: Harness, token: str, tmp_path: Path, ahead: str
) -> None:
    port = str(find_port())
    found = re.search(r"/q/[0-9A-Za-z_-]+", harness.channels[0].sent[0].body_text)
    assert found is not None
    link = found[0]
    settings = harness.resources.settings
    with running(settings, tmp_path / "log", "web", "--port", port, ahead=ahead) as web:
        await web.wait_for("clocks differ, work is suspended")
        origin, path = f"http://127.0.0.1:{port}", f"/api/merchants/{harness.merchant.merchant_id}"
        async with httpx.AsyncClient(base_url=origin, timeout=_SECONDS) as http:
            await _until_up(http)
            ready = await http.get("/readyz")
            answers = [
                await http.get(f"{path}/claims", headers={"Authorization": f"Bearer {token}"}),
                await http.get(f"{path}/claims", headers={"Authorization": "Bearer of-nobody"}),
                await http.post("/api/token", data={**form_of(await a_credential(harness, "two"))}),
                await http.get("/portal", headers={"Cookie": "dunwell-portal=" + "a" * 43}),
                await http.get(link),
            ]
            metrics = (await http.get("/metrics")).text
    assert ready.status_code == 503
    assert "this host's clock says" in ready.text
    assert "the database's says" in ready.text
    assert [each.status_code for each in answers] == [503] * 5
    assert all(int(each.headers["Retry-After"]) > 0 for each in answers)
    assert "Location" not in answers[3].headers  # No user is redirected to sign in again.
    assert 'dunwell_clock_ahead_seconds{clock="host",reference="database"}' in metrics


async def test_a_command_with_a_wrong_clock_is_refused_and_names_both_clocks(
    harness: Harness, tmp_path: Path
) -> None:
    """It also changes nothing: a credential revoked eight days in the future would still work
    today."""
    credential, settings, log = (
        await a_credential(harness),
        harness.resources.settings,
        tmp_path / "log",
    )
    arguments = ("credential", "revoke", credential.client_id)
    with running(settings, log, *arguments, ahead="+8d") as command:
        assert await asyncio.to_thread(command.process.wait, _SECONDS) == 1
    assert "this host's clock says" in command.read_log()
    assert "the database's says" in command.read_log()
    revoked = "SELECT FROM credentials WHERE merchant_id = $1 AND revoked_at IS NOT NULL"
    assert await harness.rows(revoked) == []


async def _until_up(http: httpx.AsyncClient) -> None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            assert (await http.get("/healthz")).status_code == 200
        except httpx.ConnectError:
            await asyncio.sleep(0.1)
        else:
            return
    pytest.fail("the web process does not answer")
