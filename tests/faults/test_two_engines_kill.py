"""Two engines and two dispatchers run at once and are repeatedly killed with SIGKILL while a minor
version is published: the outbox received what the ledger records, with no contact repeated or left
out (promise 12)."""

import asyncio
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import Guards
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.faults.installation import ROUNDS
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.ledgers import seal_and_verify
from tests.support.merchants import CONFIGURATION
from tests.support.process_variants import read_tag, tagged
from tests.support.processes import a_process

IS_SHORT = len(ROUNDS) == 1
CLAIMS = 600 if IS_SHORT else 10_000
# Both workers are killed in each turn.
TURNS = 3 if IS_SHORT else 20
# Makes sure that the leases of earlier workers have expired for the workers of a turn.
AHEAD_SECONDS = 200
TIMEOUT_SECONDS = 120 if IS_SHORT else 1800
_NOW = {"send": "IMMEDIATE"}
STEPS = [
    {**DOCUMENT["steps"][0], **_NOW},
    {**DOCUMENT["steps"][2], "id": 2},
    {**DOCUMENT["steps"][0], **_NOW, "id": 3, "name": "Second reminder"},
    {**DOCUMENT["steps"][3], "id": 4},
    {"id": 5, "name": "Wait", "kind": "WAIT", "days": 300},
]
MESSAGES = 2 * CLAIMS
_COUNT_CONTACTS = """
SELECT count(*) FILTER (WHERE state = 'ACCEPTED') AS accepted,
       count(*) FILTER (WHERE state <> 'PLANNED') AS handed_over
FROM communications WHERE merchant_id = $1
"""
_COUNT_ENDED = """
SELECT count(*) FROM step_history WHERE merchant_id = $1 AND step_id = 5
"""
_ACCEPTED = """
SELECT communication_id, claim_id, step_id FROM contact_ledger
WHERE merchant_id = $1 AND outcome = 'ACCEPTED'
"""
_HISTORY = """
SELECT claim_id, array_agg(step_id ORDER BY step_id) AS steps, bool_and(outcome = 'DONE') AS done
FROM step_history WHERE merchant_id = $1 GROUP BY claim_id
"""
_EVENTS = """
SELECT claim_id, array_agg(type ORDER BY sequence) AS types,
       array_agg(sequence ORDER BY sequence) AS sequences
FROM events WHERE merchant_id = $1 GROUP BY claim_id
"""
_VERSIONS = """
SELECT communication_id, minor FROM communications JOIN workflow_versions
    USING (merchant_id, version_id)
WHERE merchant_id = $1
"""


@dataclass
class KilledWorkerPairs:
    """Workers that start in pairs and are killed one after the other."""

    harness: Harness
    started: float = field(default_factory=time.monotonic)
    kills: int = 0

    async def work(self, *thresholds: int) -> None:
        """Run a pair of workers, and kill one of them whenever the number of messages that were
        handed over reaches the next threshold."""
        ahead = str(self.kills * AHEAD_SECONDS)
        settings = self.harness.resources.settings
        with ExitStack() as stack:
            workers = [
                stack.enter_context(a_process(settings, "tests.support.worker_process", ahead))
                for _ in range(2)
            ]
            for worker, wanted in zip(workers, thresholds, strict=True):
                await self._wait(workers, wanted)
                worker.kill()
                self.kills += 1

    async def _wait(self, workers: list[Any], wanted: int) -> None:
        while not await self._has(wanted):
            assert time.monotonic() - self.started < TIMEOUT_SECONDS, f"{wanted} took too long"
            assert any(worker.is_alive() for worker in workers), "the workers ended"
            await asyncio.sleep(0.005)

    async def _has(self, wanted: int) -> bool:
        """Return whether at least `wanted` messages were handed over. If `wanted` is more than all
        messages, return whether all claims have reached their last wait."""
        if wanted > MESSAGES:
            return bool((await self.harness.rows(_COUNT_ENDED))[0]["count"] >= CLAIMS)
        return bool((await self.harness.rows(_COUNT_CONTACTS))[0]["handed_over"] >= wanted)


async def a_harness_of_many(resources: Resources) -> Harness:
    """Return a merchant whose claims each have their own debtor, with contact limits that allow
    both messages of a day."""
    configuration = msgspec.structs.replace(CONFIGURATION, guards=Guards(5, 5))
    definition = a_definition(steps=STEPS, templates={"reminder": tagged("old")})
    clock = MovableClock(datetime.now(UTC))
    harness = await a_harness(resources, clock, definition, configuration=configuration)
    for first in range(0, CLAIMS, 500):
        await harness.create(*(f"INV-{n}" for n in range(first, min(first + 500, CLAIMS))))
    return harness


def read_outbox(harness: Harness) -> dict[str, str]:
    """Return the tag of every received message by its id."""
    folder: Path = harness.resources.settings.data_dir / "outbox"
    return {path.stem: read_tag(path.read_text()) for path in folder.rglob("*.eml")}


async def test_two_repeatedly_killed_workers_send_each_contact_once(
    resources: Resources, capsys: pytest.CaptureFixture[str]
) -> None:
    harness = await a_harness_of_many(resources)
    pairs = KilledWorkerPairs(harness)
    # Low enough that no turn waits for claims leased by a killed worker, which are 200 at most.
    step = MESSAGES // (3 * TURNS)
    for turn in range(TURNS):
        if turn == TURNS // 2:
            await harness.publish(a_definition(steps=STEPS, templates={"reminder": tagged("new")}))
        await pairs.work(max(1, 2 * turn * step), (2 * turn + 1) * step)
    await pairs.work(MESSAGES + 1, MESSAGES + 1)
    received = await asyncio.to_thread(read_outbox, harness)
    accepted = {str(row["communication_id"]): row for row in await harness.rows(_ACCEPTED)}
    contacts = Counter((row["claim_id"], row["step_id"]) for row in accepted.values())
    doubled = sum(times - 1 for times in contacts.values()) + len(received.keys() - accepted.keys())
    skipped = MESSAGES - len(contacts) + len(accepted.keys() - received.keys())
    with capsys.disabled():
        print(
            f"\n{CLAIMS} claims, {len(received)} messages, {pairs.kills} kills: {doubled} doubled,"
            f" {skipped} skipped, {time.monotonic() - pairs.started:.0f} s"
        )
    assert (doubled, skipped) == (0, 0)
    await check_texts(harness, received)
    await check_histories(harness)
    verdict = await seal_and_verify(harness)
    assert (verdict.findings, verdict.is_sound) == ((), True)


async def check_texts(harness: Harness, received: dict[str, str]) -> None:
    """Check that each message has the text of the version recorded for it, and that both versions
    were used."""
    minors = {str(row["communication_id"]): row["minor"] for row in await harness.rows(_VERSIONS)}
    assert Counter(zip(minors.values(), (received[key] for key in minors), strict=True)).keys() == {
        (0, "old"), (1, "new")
    }  # fmt: skip


async def check_histories(harness: Harness) -> None:
    """Check that every claim ran every step once and reported it once, in order."""
    histories = await harness.rows(_HISTORY)
    assert [tuple(row)[1:] for row in histories] == [([1, 2, 3, 4, 5], True)] * CLAIMS
    events = await harness.rows(_EVENTS)
    types = ["ESCALATED", "FEE_ADDED", "ESCALATED", "CHECKPOINT_REACHED"]
    assert [tuple(row)[1:] for row in events] == [(types, [1, 2, 3, 4])] * CLAIMS
