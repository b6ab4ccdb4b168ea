"""A merchant at a glance: which messages and which money are of late."""

from datetime import UTC, date, datetime, timedelta

from dunwell.explanation.read_overview import Overview, read_overview
from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from tests.support.durations import JUST
from tests.support.house import House, a_house

_SENT = """
INSERT INTO communications (merchant_id, communication_id, claim_id, run, step_id, place, channel,
                            state, not_before, planned_at)
VALUES ($1, gen_random_uuid(), $2, 7, 1, 0, 'EMAIL', 'UNKNOWN', $3, $3)
RETURNING 1
"""


async def look(house: House) -> Overview:
    async with house.work() as work:
        return await read_overview(work)


async def test_messages_are_those_of_seven_days(resources: Resources, clock: MovableClock) -> None:
    house = await a_house(resources, clock)
    [claim_id] = await house.create()
    await house.rows(_SENT, claim_id, clock.now())
    clock.advance(timedelta(days=7))
    assert (await look(house)).contacts == {"EMAIL": {"UNKNOWN": 1}}
    clock.advance(JUST)
    assert (await look(house)).contacts == {}


async def test_money_is_of_today_and_the_thirteen_days_before(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock)
    [claim_id] = await house.create()
    await house.pay(claim_id, 240)
    # The end of the 15th, in Berlin.
    clock.move_to(datetime(2026, 3, 15, 23, tzinfo=UTC) - JUST)
    [paid] = (await look(house)).paid
    assert (paid.day, paid.currency, paid.cents, paid.number) == (date(2026, 3, 2), "EUR", 240, 1)
    clock.advance(JUST)
    assert (await look(house)).paid == []
