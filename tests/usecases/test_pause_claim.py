"""A merchant's pause: one at a time, until its end or until it is resumed."""

from datetime import datetime, timedelta

import pytest

from dunwell.accounts.merchants.actor import debtor_actor
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.core.claims.claim_holds import open_hold, pause_claim, resume_claim
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.house import House, a_house

DAY = timedelta(days=1)
DEBTOR = debtor_actor("session-1")


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock, a_definition())


async def pause(
    house: House, claim_id: int, until: datetime | None = None, reason: str | None = None
) -> None:
    async with house.work() as work:
        await pause_claim(work, claim_id, until=until, reason=reason)


async def resume(house: House, claim_id: int) -> None:
    async with house.work() as work:
        await resume_claim(work, claim_id)


async def holds(house: House, claim_id: int) -> list[tuple[HoldKind, datetime | None, str | None]]:
    return [(each.kind, each.until, each.reason) for each in (await house.read(claim_id)).holds]


async def test_a_paused_claim_does_not_continue_until_it_is_resumed(
    house: House, clock: MovableClock
) -> None:
    [claim_id] = await house.create()
    await pause(house, claim_id, reason="In talks")
    await house.run_until(clock.now() + 3 * DAY)
    assert house.channels[0].sent == []
    assert await holds(house, claim_id) == [(HoldKind.PAUSE, None, "In talks")]
    await resume(house, claim_id)
    await house.run()
    assert len(house.channels[0].sent) == 1
    assert await holds(house, claim_id) == []


async def test_pausing_again_moves_the_end(house: House, clock: MovableClock) -> None:
    [claim_id] = await house.create()
    await pause(house, claim_id, clock.now() + DAY)
    later = clock.now() + 3 * DAY
    await pause(house, claim_id, later)
    assert await holds(house, claim_id) == [(HoldKind.PAUSE, later, None)]
    await house.run_until(clock.now() + 2 * DAY)
    assert house.channels[0].sent == []
    await house.run_until(later)
    assert len(house.channels[0].sent) == 1


async def test_the_same_pause_again_changes_nothing(house: House, clock: MovableClock) -> None:
    [claim_id] = await house.create()
    until = clock.now() + DAY
    await pause(house, claim_id, until)
    before = await house.read(claim_id)
    clock.advance(timedelta(hours=1))
    await pause(house, claim_id, until)
    assert await house.read(claim_id) == before
    assert len(await house.rows("SELECT FROM holds WHERE merchant_id = $1")) == 1


async def test_a_debtors_pause_is_separate_and_resuming_ends_both(
    house: House, clock: MovableClock
) -> None:
    [claim_id] = await house.create()
    async with house.work(DEBTOR) as work:
        await open_hold(work, claim_id, HoldKind.PAUSE, until=clock.now() + 7 * DAY)
    await pause(house, claim_id)
    assert len(await holds(house, claim_id)) == 2
    await pause(house, claim_id, clock.now() + DAY)
    assert len(await holds(house, claim_id)) == 2
    await resume(house, claim_id)
    assert await holds(house, claim_id) == []


async def test_other_holds_outlive_the_pause(house: House) -> None:
    [claim_id] = await house.create()
    async with house.work() as work:
        await open_hold(work, claim_id, HoldKind.DISPUTE)
    await pause(house, claim_id)
    await resume(house, claim_id)
    await house.run()
    assert [kind for kind, *_ in await holds(house, claim_id)] == [HoldKind.DISPUTE]
    assert house.channels[0].sent == []


async def test_resuming_a_claim_that_is_not_paused_changes_nothing(house: House) -> None:
    [claim_id] = await house.create()
    before = await house.read(claim_id)
    await resume(house, claim_id)
    assert await house.read(claim_id) == before


async def test_an_end_in_the_past_is_refused(house: House, clock: MovableClock) -> None:
    [claim_id] = await house.create()
    await pause(house, claim_id, clock.now() + DAY)
    clock.advance(DAY)
    with pytest.raises(ValidationError) as refused:
        await pause(house, claim_id, clock.now())
    assert [each.path for each in refused.value.faults] == ["/until"]


async def test_an_ended_claim_cannot_be_paused(house: House) -> None:
    [claim_id] = await house.create()
    async with house.work() as work:
        await withdraw_claim(work, claim_id)
    with pytest.raises(InvalidState):
        await pause(house, claim_id)
    assert await holds(house, claim_id) == []


async def test_a_claim_of_another_merchant_is_not_found(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_house(resources, clock, key="hansen")
    [claim_id] = await hansen.create()
    for deed in (pause, resume):
        with pytest.raises(NotFound):
            await deed(house, claim_id)
    assert await holds(hansen, claim_id) == []
