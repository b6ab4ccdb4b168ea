"""Web processes and the database are killed with SIGKILL while requests share commits: nothing
acknowledged is lost, nothing is created twice, and no response is wrong (promise 1)."""

import asyncio
import itertools
import random
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.embedded.postgres import EmbeddedPostgres, get_binaries_folder
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.faults.installation import ROUNDS
from tests.support.api import a_credential
from tests.support.claims import a_claim
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.web_processes import Web, a_web

# Kills per round. `make test` has one round, `make faults` ten, hence a hundred kills of each kind.
_KILLS = 3 if len(ROUNDS) == 1 else 10
_CALLERS = 24
_CREATED_BETWEEN_KILLS = 60
_STORED = """
SELECT reference_number, claim_id,
       (SELECT count(*) FROM debtors WHERE (merchant_id, claim_id) = ($1, c.claim_id)) AS debtors,
       (SELECT count(*) FROM items WHERE (merchant_id, claim_id) = ($1, c.claim_id)) AS items
FROM claims c WHERE merchant_id = $1
"""
_AUDITED = """
SELECT jsonb_array_elements(details->'claimIds')::bigint AS claim_id FROM audit_log
WHERE merchant_id = $1 AND action = 'claims.create'
"""


class Server:
    """A PostgreSQL server for this test, which is killed."""

    def __init__(self, folder: Path) -> None:
        self.postgres = EmbeddedPostgres(folder, get_binaries_folder(None))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = self.postgres.start()

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait(timeout=10)


@dataclass
class ReferenceAttempts:
    """The responses to all requests with one reference."""

    # The ids of claims that a response reported as created.
    acknowledged: list[int] = field(default_factory=list)
    # The ids that a response reported as existing, and whether an earlier request may have created
    # them.
    duplicates: list[tuple[int, bool]] = field(default_factory=list)
    in_progress: int = 0
    # Whether any request with this reference ended without a conclusive response.
    is_in_doubt: bool = False


@dataclass
class Callers:
    """Callers that each create one claim after the other at any running process, and retry until
    they get a response. Some references are used by two callers at once."""

    harness: Harness
    token: str
    webs: list[Web]
    # Processes that are started live longer than the callers.
    closing: AsyncExitStack
    attempts: dict[str, ReferenceAttempts] = field(default_factory=dict)
    is_over: bool = False
    numbers: Iterator[int] = field(default_factory=itertools.count)
    progress: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def acknowledged(self) -> int:
        return sum(bool(each.acknowledged) for each in self.attempts.values())

    async def call(self, http: httpx.AsyncClient) -> None:
        while not self.is_over:
            number = next(self.numbers)
            reference = f"R-{number - 1 if number % 8 == 1 else number}"
            attempts = self.attempts.setdefault(reference, ReferenceAttempts())
            while True:
                if await self._try(http, reference, attempts):
                    break
                await asyncio.sleep(0.02)

    async def wait_for_progress(self) -> None:
        """Wait until some more claims have been acknowledged."""
        goal = self.acknowledged + _CREATED_BETWEEN_KILLS
        async with asyncio.timeout(120):
            while self.acknowledged < goal:
                self.progress.clear()
                await self.progress.wait()

    async def _try(
        self, http: httpx.AsyncClient, reference: str, attempts: ReferenceAttempts
    ) -> bool:
        path = f"/api/merchants/{self.harness.merchant.merchant_id}/claims"
        attempts.in_progress += 1
        attempts.is_in_doubt |= attempts.in_progress > 1
        try:
            origin = random.choice(self.webs).origin
            headers = {"Authorization": f"Bearer {self.token}"}
            answer = await http.post(f"{origin}{path}", json=[a_claim(reference)], headers=headers)
        except httpx.TransportError:
            attempts.is_in_doubt = True
            return False
        finally:
            attempts.in_progress -= 1
        if answer.status_code != 200:
            assert answer.status_code == 503, answer.text
            attempts.is_in_doubt = True
            return False
        [result] = answer.json()["result"]
        assert result["referenceNumber"] == reference
        if result["error"] is None:
            attempts.acknowledged.append(result["id"])
            self.progress.set()
        else:
            assert result["error"]["type"] == "DuplicateReferenceNumber"
            was_there = attempts.is_in_doubt or bool(attempts.acknowledged)
            attempts.duplicates.append((result["error"]["details"]["claimId"], was_there))
        return True


@asynccontextmanager
async def start_callers(server: Server, folder: Path) -> AsyncIterator[Callers]:
    """Run the callers with two processes."""
    server.start()
    url = server.postgres.url
    settings = load_settings(
        {"DUNWELL_DATA_DIR": str(folder / "data"), "DUNWELL_DATABASE_URL": url}
    )
    await asyncio.to_thread(migrate, url)
    clock = MovableClock(datetime.now(UTC))
    async with AsyncExitStack() as closing:
        closing.callback(server.kill)
        database = await Database.open(url)
        closing.push_async_callback(database.close)
        keys = KeyRing(settings.secret_key)
        resources = Resources(settings, database, clock, RandomIds(), keys)
        harness = await a_harness(resources, clock, a_definition())
        credential = await a_credential(harness, requests_per_minute=1_000_000)
        webs = [closing.enter_context(a_web(settings.data_dir, url)) for _ in range(2)]
        token = await asyncio.to_thread(webs[0].token_of, credential)
        yield Callers(harness, token, webs, closing)


async def kill_meanwhile(callers: Callers, server: Server, victim: str) -> None:
    """Kill the victim each time when some more claims have been acknowledged, and start it
    again."""
    for number in range(_KILLS):
        await callers.wait_for_progress()
        if victim == "database":
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        else:
            web = callers.webs[number % 2]
            web.process.kill()
            restarted = a_web(web.data_dir, server.postgres.url)
            callers.webs[number % 2] = callers.closing.enter_context(restarted)
    await callers.wait_for_progress()
    callers.is_over = True


def check(callers: Callers, stored: Sequence[Any], audited: Sequence[int]) -> None:
    by_reference = {row["reference_number"]: row["claim_id"] for row in stored}
    assert len(by_reference) == len(stored)
    assert {(row["debtors"], row["items"]) for row in stored} == {(1, 1)}
    assert Counter(audited) == Counter(by_reference.values())
    for reference, attempts in callers.attempts.items():
        assert attempts.acknowledged + attempts.duplicates, reference
        for claim_id in (*attempts.acknowledged, *(each for each, _ in attempts.duplicates)):
            assert claim_id == by_reference[reference], reference
        # At most one response reports the claim as created. It is reported as existing only if an
        # earlier request may have created it.
        assert len(attempts.acknowledged) <= 1, reference
        assert all(was_there for _, was_there in attempts.duplicates), reference


@pytest.mark.parametrize("_round", ROUNDS)
@pytest.mark.parametrize("victim", ["web", "database"])
async def test_acknowledged_claims_survive_kills_exactly_once(
    tmp_path: Path, victim: str, _round: int
) -> None:
    # When the tests run as root, the server's user must be able to reach the folder.
    for parent in (tmp_path, *tmp_path.parents):
        if parent.owner() == "root" and not parent.stat().st_mode & 0o001:
            parent.chmod(0o755)
    server = Server(tmp_path / "postgres")
    limits = httpx.Limits(max_connections=_CALLERS)
    async with (
        start_callers(server, tmp_path) as callers,
        httpx.AsyncClient(timeout=60, limits=limits) as http,
    ):
        async with asyncio.TaskGroup() as group:
            for _ in range(_CALLERS):
                group.create_task(callers.call(http))
            group.create_task(kill_meanwhile(callers, server, victim))
        stored = await callers.harness.rows(_STORED)
        audited = [row["claim_id"] for row in await callers.harness.rows(_AUDITED)]
    check(callers, stored, audited)
