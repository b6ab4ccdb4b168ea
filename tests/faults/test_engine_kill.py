"""Workers are killed with SIGKILL in the middle of a batch and while sending: nothing is lost, and
no debtor is contacted twice."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.processes import a_process

CLAIMS = 1500
# Makes sure that the leases of a killed worker have expired for the next one.
AHEAD_SECONDS = 200
STEPS = [
    {**DOCUMENT["steps"][0], "send": "IMMEDIATE"},
    {**DOCUMENT["steps"][2], "id": 2},
    {**DOCUMENT["steps"][3], "id": 3},
    {"id": 4, "name": "Wait", "kind": "WAIT", "days": 30},
]
_STATES = """
SELECT state, count(*) FROM communications WHERE merchant_id = $1 GROUP BY state ORDER BY state
"""
_EVENTS = "SELECT type, count(*) FROM events WHERE merchant_id = $1 GROUP BY type ORDER BY type"
_FEES = """
SELECT count(*) AS fees, count(DISTINCT claim_id) AS claims FROM items
WHERE merchant_id = $1 AND type = 'DUNNING_FEE'
"""


@dataclass
class KilledWorkers:
    """Workers of one installation, one after the other."""

    harness: Harness
    letter_box: Path | None = None
    started: int = 0

    async def work_until(self, is_enough: Callable[[], Awaitable[bool]]) -> None:
        """Start a worker and kill it as soon as enough is done."""
        arguments = [str(self.started * AHEAD_SECONDS)]
        arguments += [str(self.letter_box)] if self.letter_box else []
        self.started += 1
        settings = self.harness.resources.settings
        with a_process(settings, "tests.support.worker_process", *arguments) as process:
            deadline = asyncio.get_running_loop().time() + 60
            while not await is_enough():
                assert asyncio.get_running_loop().time() < deadline
                assert process.is_alive()
                await asyncio.sleep(0.002)

    async def count(self, states: str) -> int:
        rows = await self.harness.rows(
            "SELECT count(*) FROM communications WHERE merchant_id = $1 AND state = ANY($2)",
            states.split(),
        )
        count: int = rows[0]["count"]
        return count


@pytest.fixture
async def harness(resources: Resources) -> Harness:
    clock = MovableClock(datetime.now(UTC))
    harness = await a_harness(resources, clock, a_definition(steps=STEPS))
    await harness.create(*(f"INV-{n}" for n in range(CLAIMS)))
    return harness


def at_least(workers: KilledWorkers, states: str, wanted: int) -> Callable[[], Awaitable[bool]]:
    async def is_enough() -> bool:
        return await workers.count(states) >= wanted

    return is_enough


async def work_off_with_kills(workers: KilledWorkers) -> None:
    """Kill workers while batches are decided, messages are sent and results are recorded."""
    planned = "PLANNED HANDED_OVER ACCEPTED UNKNOWN"
    for wanted in (1, 600):
        await workers.work_until(at_least(workers, planned, wanted))
    for wanted in (1, 300, 700, 1100):
        await workers.work_until(at_least(workers, "HANDED_OVER ACCEPTED UNKNOWN", wanted))
    await workers.work_until(at_least(workers, "ACCEPTED UNKNOWN", CLAIMS))


async def test_a_repeatable_channel_ends_with_one_message_for_each_claim(harness: Harness) -> None:
    workers = KilledWorkers(harness)
    await work_off_with_kills(workers)
    fees = [tuple(row) for row in await harness.rows(_FEES)]

    async def has_all_fees() -> bool:
        nonlocal fees
        fees = [tuple(row) for row in await harness.rows(_FEES)]
        return bool(fees[0][0] >= CLAIMS)

    await workers.work_until(has_all_fees)
    outbox = harness.resources.settings.data_dir / "outbox"
    sent = await asyncio.to_thread(lambda: sorted(outbox.rglob("*.eml")))
    assert len(sent) == CLAIMS
    assert [tuple(row) for row in await harness.rows(_STATES)] == [("ACCEPTED", CLAIMS)]
    assert [tuple(row) for row in await harness.rows(_EVENTS)] == [
        ("CHECKPOINT_REACHED", CLAIMS),
        ("ESCALATED", CLAIMS),
        ("FEE_ADDED", CLAIMS),
    ]
    assert fees == [(CLAIMS, CLAIMS)]


async def test_a_non_repeatable_channel_never_gets_a_message_twice(
    harness: Harness, tmp_path: Path
) -> None:
    letter_box = tmp_path / "letters"
    workers = KilledWorkers(harness, letter_box)
    await work_off_with_kills(workers)
    letters = (await asyncio.to_thread(letter_box.read_text)).split()
    assert len(letters) == len(set(letters))
    states = {row["state"]: row["count"] for row in await harness.rows(_STATES)}
    assert states["ACCEPTED"] + states.get("UNKNOWN", 0) == CLAIMS
    # A message with an unclear outcome never counts as sent, and is left to a person.
    assert states["ACCEPTED"] <= len(letters) <= CLAIMS
    escalated = {row["type"]: row["count"] for row in await harness.rows(_EVENTS)}["ESCALATED"]
    assert escalated == states["ACCEPTED"]
