"""A web process is killed with SIGKILL at the commit of a POST: with the same Idempotency-Key the
request takes effect once and has one response (promise 11)."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.resources import Resources
from tests.faults.installation import ROUNDS
from tests.support.api import a_credential
from tests.support.claims import a_claim
from tests.support.commit_gate import CrashPoint, a_commit_gate
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.web_processes import Web, a_web

# Path, body, and the table that shows the effect.
EFFECTS: dict[str, tuple[str, Any, str]] = {
    "claims": ("/claims", [a_claim("INV-2"), a_claim("INV-3")], "claims"),
    "payment": (
        "/claims/{}/payments",
        {"amount": 100, "currency": "EUR", "transactionId": "t-1"},
        "payments",
    ),
    "dispute": ("/claims/{}/disputes", {"type": "DEFECTIVE"}, "disputes"),
}


@dataclass
class MerchantWithToken:
    """A merchant with a claim, and a web process that is not killed."""

    harness: Harness
    claim_id: int
    survivor: Web
    token: str

    async def count(self, table: str) -> int:
        rows = await self.harness.rows(f"SELECT count(*) FROM {table} WHERE merchant_id = $1")
        count: int = rows[0]["count"]
        return count

    async def post(self, web: Web, path: str, body: Any) -> httpx.Response:
        whole = f"/merchants/{self.harness.merchant.merchant_id}{path.format(self.claim_id)}"
        return await asyncio.to_thread(web.call, "POST", whole, self.token, "k-1", json=body)

    async def repeat(self, path: str, body: Any) -> httpx.Response:
        """Repeat the request as a client does, as long as the first is reported as in progress."""
        while True:
            answer = await self.post(self.survivor, path, body)
            if answer.status_code != 409:
                return answer
            assert answer.headers["Retry-After"] == "1"


@pytest.fixture
async def merchant(webs: Sequence[Web], resources: Resources) -> MerchantWithToken:
    harness = await a_harness(resources, MovableClock(datetime.now(UTC)), a_definition())
    [claim_id] = await harness.create()
    return MerchantWithToken(
        harness, claim_id, webs[0], webs[0].token_of(await a_credential(harness))
    )


@pytest.fixture
async def folder() -> AsyncIterator[Path]:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        yield Path(name)


@pytest.mark.parametrize("_round", ROUNDS)
@pytest.mark.parametrize("point", CrashPoint)
@pytest.mark.parametrize("effect", EFFECTS)
async def test_a_post_killed_at_its_commit_takes_effect_once_per_key(
    merchant: MerchantWithToken,
    postgres: EmbeddedPostgres,
    folder: Path,
    effect: str,
    point: CrashPoint,
    _round: int,
) -> None:
    path, body, table = EFFECTS[effect]
    before = await merchant.count(table)
    async with a_commit_gate(postgres, folder, point) as gate:
        with a_web(merchant.survivor.data_dir, gate.url) as web:
            gate.crash = web.process.kill
            with pytest.raises(httpx.TransportError):
                await merchant.post(web, path, body)
            assert gate.is_shut
    is_done = point is CrashPoint.AFTER
    created = len(body) if isinstance(body, list) else 1
    assert await merchant.count(table) == before + created * is_done
    assert await merchant.count("idempotency_keys") == int(is_done)

    first = await merchant.repeat(path, body)

    assert first.status_code == 200
    assert '"error":{' not in first.text
    assert (await merchant.repeat(path, body)).content == first.content
    assert await merchant.count(table) == before + created
    assert await merchant.count("idempotency_keys") == 1
