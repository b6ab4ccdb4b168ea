"""Complete lifecycles of claims as lists of dates: Nordwind's process from the first reminder to
the end."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.disputes import ACCEPTED, REJECTED, answer, dispute
from tests.support.harness import ERP, Harness, a_harness

# A Monday, 10:00 in Berlin.
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
STEPS = [
    *DOCUMENT["steps"][:4],
    {**DOCUMENT["steps"][0], "id": 5, "name": "Second reminder"},
    {"id": 6, "name": "Last wait", "kind": "WAIT", "days": 14},
]


@dataclass
class ClaimLife:
    """One claim and the days since its creation."""

    harness: Harness
    claim_id: int

    async def run_until_day(self, day: int) -> list[str]:
        """Run until the end of that day's contact hours and return the types of all events so
        far."""
        await self.harness.run_until(START + timedelta(days=day, hours=7))
        return [event["type"] for event in await self.harness.events(self.claim_id)]

    async def sent(self) -> int:
        return len(self.harness.channels[0].sent)

    async def status(self) -> Status:
        return (await self.harness.read(self.claim_id)).status

    async def outstanding(self) -> int:
        return (await self.harness.read(self.claim_id)).balance.outstanding_cents


@pytest.fixture
async def life(resources: Resources, clock: MovableClock) -> ClaimLife:
    harness = await a_harness(resources, clock, a_definition(steps=STEPS))
    [claim_id] = await harness.create()
    return ClaimLife(harness, claim_id)


async def test_an_unpaid_claim_runs_through_all_steps(life: ClaimLife) -> None:
    assert await life.run_until_day(0) == ["ESCALATED"]
    assert await life.run_until_day(6) == ["ESCALATED"]
    assert await life.outstanding() == 10240
    reminded = ["ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED", "ESCALATED"]
    assert await life.run_until_day(7) == reminded
    assert await life.outstanding() == 10490
    assert await life.run_until_day(20) == reminded
    assert await life.status() is Status.IN_PROCESS
    assert await life.run_until_day(21) == [*reminded, "ARCHIVED"]
    assert await life.status() is Status.ARCHIVED
    assert await life.run_until_day(60) == [*reminded, "ARCHIVED"]
    assert await life.sent() == 2


async def test_steps_due_during_two_disputes_run_after_both_are_resolved(
    life: ClaimLife,
) -> None:
    harness, claim_id = life.harness, life.claim_id
    reminded = ["FEE_ADDED", "CHECKPOINT_REACHED", "ESCALATED"]
    assert await life.run_until_day(3) == ["ESCALATED"]
    amount = await dispute(harness, claim_id, "AMOUNT_WRONG")
    assert await life.run_until_day(5) == ["ESCALATED", "DISPUTED"]
    phoned = await dispute(harness, claim_id, "OTHER", "It is broken, she says.", actor=ERP)
    until_disputes = ["ESCALATED", "DISPUTED", "DISPUTED"]
    assert await life.run_until_day(10) == until_disputes
    await answer(harness, amount, REJECTED)
    assert await life.run_until_day(17) == until_disputes
    assert await life.outstanding() == 10240
    await answer(harness, phoned, ACCEPTED, end_claim=False)
    # After the answer, nothing happens for a week.
    assert await life.run_until_day(23) == until_disputes
    assert (await life.outstanding(), await life.sent()) == (10240, 5)
    # The fee of day 7, the checkpoint and the second reminder follow in order.
    assert await life.run_until_day(24) == [*until_disputes, *reminded]
    assert (await life.outstanding(), await life.sent()) == (10490, 6)
    assert await life.run_until_day(37) == [*until_disputes, *reminded]
    assert await life.run_until_day(38) == [*until_disputes, *reminded, "ARCHIVED"]


async def test_events_are_in_order_and_contain_the_facts_of_each_step(life: ClaimLife) -> None:
    await life.run_until_day(21)
    escalated, fee, checkpoint, _, archived = await life.harness.events(life.claim_id)
    assert escalated["date"] == "2026-03-02T09:00:00Z"
    assert escalated["actionStep"] == {"id": 1, "name": "First reminder"}
    assert fee["date"] == "2026-03-09T09:00:00Z"
    assert fee["claim"]["fee"]["type"] == "DUNNING_FEE"
    assert fee["claim"]["fee"]["value"] == "250"
    items = (await life.harness.read(life.claim_id)).items
    assert fee["claim"]["fee"]["id"] == items[1].item_id
    assert checkpoint["claim"]["details"] == {"offset": 14, "message": "fee window"}
    assert archived["source"] == "ESCALATION"
    assert "actionStep" not in archived
