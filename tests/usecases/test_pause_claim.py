"""A merchant's pause: one at a time, until its end or until it is resumed."""

from datetime import datetime, timedelta

import pytest

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.core.claims.claim_holds import open_hold, pause_claim, resume_claim
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

DAY = timedelta(days=1)
DEBTOR = build_debtor_actor("session-1")


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def pause(
    harness: Harness, claim_id: int, until: datetime | None = None, reason: str | None = None
) -> None:
    async with harness.work() as work:
        await pause_claim(work, claim_id, until=until, reason=reason)


async def resume(harness: Harness, claim_id: int) -> None:
    async with harness.work() as work:
        await resume_claim(work, claim_id)


async def holds(
    harness: Harness, claim_id: int
) -> list[tuple[HoldKind, datetime | None, str | None]]:
    return [(each.kind, each.until, each.reason) for each in (await harness.read(claim_id)).holds]


async def test_a_paused_claim_does_not_continue_until_it_is_resumed(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    await pause(harness, claim_id, reason="In talks")
    await harness.run_until(clock.now() + 3 * DAY)
    assert harness.channels[0].sent == []
    assert await holds(harness, claim_id) == [(HoldKind.PAUSE, None, "In talks")]
    await resume(harness, claim_id)
    await harness.run()
    assert len(harness.channels[0].sent) == 1
    assert await holds(harness, claim_id) == []


async def test_pausing_again_moves_the_end(harness: Harness, clock: MovableClock) -> None:
    [claim_id] = await harness.create()
    await pause(harness, claim_id, clock.now() + DAY)
    later = clock.now() + 3 * DAY
    await pause(harness, claim_id, later)
    assert await holds(harness, claim_id) == [(HoldKind.PAUSE, later, None)]
    await harness.run_until(clock.now() + 2 * DAY)
    assert harness.channels[0].sent == []
    await harness.run_until(later)
    assert len(harness.channels[0].sent) == 1


async def test_the_same_pause_again_changes_nothing(harness: Harness, clock: MovableClock) -> None:
    [claim_id] = await harness.create()
    until = clock.now() + DAY
    await pause(harness, claim_id, until)
    before = await harness.read(claim_id)
    clock.advance(timedelta(hours=1))
    await pause(harness, claim_id, until)
    assert await harness.read(claim_id) == before
    assert len(await harness.rows("SELECT FROM holds WHERE merchant_id = $1")) == 1


async def test_a_debtors_pause_is_separate_and_resuming_ends_both(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    async with harness.work(DEBTOR) as work:
        await open_hold(work, claim_id, HoldKind.PAUSE, until=clock.now() + 7 * DAY)
    await pause(harness, claim_id)
    assert len(await holds(harness, claim_id)) == 2
    await pause(harness, claim_id, clock.now() + DAY)
    assert len(await holds(harness, claim_id)) == 2
    await resume(harness, claim_id)
    assert await holds(harness, claim_id) == []


async def test_other_holds_outlive_the_pause(harness: Harness) -> None:
    [claim_id] = await harness.create()
    async with harness.work() as work:
        await open_hold(work, claim_id, HoldKind.DISPUTE)
    await pause(harness, claim_id)
    await resume(harness, claim_id)
    await harness.run()
    assert [kind for kind, *_ in await holds(harness, claim_id)] == [HoldKind.DISPUTE]
    assert harness.channels[0].sent == []


async def test_resuming_a_claim_that_is_not_paused_changes_nothing(harness: Harness) -> None:
    [claim_id] = await harness.create()
    before = await harness.read(claim_id)
    await resume(harness, claim_id)
    assert await harness.read(claim_id) == before


async def test_an_end_in_the_past_is_refused(harness: Harness, clock: MovableClock) -> None:
    [claim_id] = await harness.create()
    await pause(harness, claim_id, clock.now() + DAY)
    clock.advance(DAY)
    with pytest.raises(ValidationError) as refused:
        await pause(harness, claim_id, clock.now())
    assert [each.path for each in refused.value.faults] == ["/until"]


async def test_an_ended_claim_cannot_be_paused(harness: Harness) -> None:
    [claim_id] = await harness.create()
    async with harness.work() as work:
        await withdraw_claim(work, claim_id)
    with pytest.raises(InvalidState):
        await pause(harness, claim_id)
    assert await holds(harness, claim_id) == []
