"""Holds stop a claim's workflow, which continues when the last hold ends."""

from datetime import timedelta

import pytest

from dunwell.core.claims.claim_holds import lift_holds, open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

DAY = timedelta(days=1)


async def hold(harness: Harness, claim_id: int, kind: HoldKind, days: int | None = None) -> None:
    async with harness.work() as work:
        until = work.now + days * DAY if days else None
        await open_hold(work, claim_id, kind, until=until)


async def lift(harness: Harness, claim_id: int, kind: HoldKind) -> None:
    async with harness.work() as work:
        await lift_holds(work, claim_id, kind)


async def test_a_planned_contact_is_not_sent_under_a_hold_but_after_it(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await hold(harness, claim_id, HoldKind.DISPUTE)
    await harness.run_until(clock.now() + 2 * DAY)
    assert harness.channels[0].sent == []
    await lift(harness, claim_id, HoldKind.DISPUTE)
    await harness.run()
    assert len(harness.channels[0].sent) == 1


async def test_the_workflow_continues_when_the_last_hold_ends(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await hold(harness, claim_id, HoldKind.DISPUTE)
    await hold(harness, claim_id, HoldKind.PAUSE)
    await lift(harness, claim_id, HoldKind.DISPUTE)
    await harness.run()
    assert harness.channels[0].sent == []
    assert [each.kind for each in (await harness.read(claim_id)).holds] == [HoldKind.PAUSE]
    await lift(harness, claim_id, HoldKind.PAUSE)
    await harness.run()
    assert len(harness.channels[0].sent) == 1


async def test_a_hold_with_an_end_ends_automatically(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await hold(harness, claim_id, HoldKind.PAUSE, days=3)
    await harness.run_until(clock.now() + 2 * DAY)
    assert harness.channels[0].sent == []
    await harness.run_until(clock.now() + DAY)
    assert len(harness.channels[0].sent) == 1
    assert (await harness.read(claim_id)).holds == []


async def test_an_ended_claim_cannot_be_held(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    await harness.pay(claim_id, 10240)
    with pytest.raises(InvalidState):
        await hold(harness, claim_id, HoldKind.PAUSE)
    assert await harness.rows("SELECT FROM holds WHERE merchant_id = $1") == []
