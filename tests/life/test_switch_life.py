"""Two merchants have the same claims on the same dates; one of them is switched to workflows in the
middle."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

from dunwell.core.claims.claim_holds import lift_holds, open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.life.test_claim_life import START, STEPS
from tests.support.definitions import a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness

_POSITION = """
SELECT next_step_id, due_at, status, run
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
"""
_CONTACTS = """
SELECT run, step_id, place, channel, state, planned_at, handed_over_at, settled_at
FROM communications
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY planned_at, step_id
"""


@dataclass
class ObservedMerchant:
    """A merchant with scenarios, one claim in process without interruption and one that is
    disputed for some days."""

    harness: Harness
    plain: int
    disputed: int

    async def list_history(self) -> list[Any]:
        """Return everything that happened to both claims, without ids, which differ between
        merchants."""
        history: list[Any] = []
        for claim_id in (self.plain, self.disputed):
            history += [tuple(row) for row in await self.harness.rows(_POSITION, claim_id)]
            history += [tuple(row) for row in await self.harness.rows(_CONTACTS, claim_id)]
            history += [describe(event) for event in await self.harness.events(claim_id)]
        return history


def describe(event: dict[str, Any]) -> tuple[Any, ...]:
    claim = event["claim"]
    reference, fee = claim["referenceNumber"], claim.get("fee", {}).get("value")
    return (event["type"], event["date"], event["source"], event.get("actionStep"), reference, fee)


async def a_merchant_on_a_scenario(
    resources: Resources, clock: MovableClock, key: str
) -> ObservedMerchant:
    harness = await a_harness(
        resources, clock, a_definition(steps=STEPS), key=key, switched_to_workflows=False,
        channels=[ScriptedChannel()],
    )  # fmt: skip
    [plain] = await harness.create("PLAIN", email="erika@example.org")
    [disputed] = await harness.create("DISPUTED", email="max@example.org")
    return ObservedMerchant(harness, plain, disputed)


@pytest.fixture
async def both_merchants(
    resources: Resources, clock: MovableClock
) -> tuple[ObservedMerchant, ObservedMerchant]:
    """The merchant that will be switched, and the one that will not."""
    switched = await a_merchant_on_a_scenario(resources, clock, "nordwind")
    return switched, await a_merchant_on_a_scenario(resources, clock, "hansen")


async def run_until(both_merchants: tuple[ObservedMerchant, ObservedMerchant], day: int) -> None:
    """Run engines and dispatchers. They serve both merchants, so the channel of the first harness
    gets the messages of both."""
    await both_merchants[0].harness.run_until(START + timedelta(days=day))


async def dispute(both_merchants: tuple[ObservedMerchant, ObservedMerchant]) -> None:
    for each in both_merchants:
        async with each.harness.work() as work:
            await open_hold(work, each.disputed, HoldKind.DISPUTE)


async def lift_dispute(both_merchants: tuple[ObservedMerchant, ObservedMerchant]) -> None:
    for each in both_merchants:
        async with each.harness.work() as work:
            await lift_holds(work, each.disputed, HoldKind.DISPUTE)


@pytest.mark.parametrize("day", [0, 3, 7], ids=["day 0", "day 3", "day 7"])
async def test_claims_continue_unchanged_after_the_switch_to_workflows(
    both_merchants: tuple[ObservedMerchant, ObservedMerchant], day: int
) -> None:
    switched, stayed = both_merchants
    await run_until(both_merchants, day)
    await dispute(both_merchants)
    position = await switched.harness.rows(_POSITION, switched.plain)
    report = await switched.harness.switch()
    assert [each.active_claims for each in report.scenarios] == [2]
    assert await switched.harness.rows(_POSITION, switched.plain) == position
    await run_until(both_merchants, day + 2)
    await lift_dispute(both_merchants)
    await run_until(both_merchants, day + 24)
    assert await switched.list_history() == await stayed.list_history()
    types = [event["type"] for event in await switched.harness.events(switched.plain)]
    assert types == ["ESCALATED", "FEE_ADDED", "CHECKPOINT_REACHED", "ESCALATED", "ARCHIVED"]
    # Two messages for each of the two claims of both merchants.
    assert len(switched.harness.channels[0].sent) == 8
