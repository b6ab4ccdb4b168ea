"""Rate limits of a delivery provider: concurrent calls, and calls per second."""

from datetime import timedelta

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Message, Outcome
from dunwell.contact.sending.store import lock_send_rate, save_used_rate
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.house import House, ScriptedLine
from tests.support.lines import a_house_with_a_line

_HANDED_OVER = """
SELECT count(*) AS n FROM communications WHERE merchant_id = $1 AND state = 'HANDED_OVER'
"""


class CountingLine(ScriptedLine):
    """A provider that records how many contacts were handed over at each call."""

    house: House
    most: int = 0

    async def send(self, message: Message) -> Outcome:
        [row] = await self.house.rows(_HANDED_OVER)
        self.most = max(self.most, row["n"])
        return await super().send(message)


async def test_concurrent_calls_stay_within_the_limit_of_the_provider(
    resources: Resources, clock: MovableClock
) -> None:
    line = CountingLine(pace=ProviderPace(at_once=3))
    line.house = house = await a_house_with_a_line(resources, clock, line)
    await house.create(*(f"INV-{number}" for number in range(10)))
    await house.run()
    assert (len(line.sent), line.most) == (10, 3)


async def test_calls_per_second_stay_within_the_limit_of_the_provider(
    resources: Resources, clock: MovableClock
) -> None:
    line = ScriptedLine(pace=ProviderPace(per_second=4.0))
    house = await a_house_with_a_line(resources, clock, line)
    await house.create(*(f"INV-{number}" for number in range(10)))
    await Engine(resources).run_once()
    dispatcher = MessageDispatcher(resources, house.channels, find_provider=house.lines.get)
    sent = []
    for _ in range(4):
        for _ in range(5):
            await dispatcher.run_once()
        sent.append(len(line.sent))
        clock.advance(timedelta(seconds=1))
    await dispatcher.close()
    assert sent == [4, 8, 10, 10]


async def test_two_workers_share_the_rate_limit_of_a_provider(
    resources: Resources, clock: MovableClock
) -> None:
    now = clock.now()
    rooms = []
    for _ in range(3):
        async with resources.database.transaction() as tx:
            rooms.append(await lock_send_rate(tx, "post", 10.0, now))
            await save_used_rate(tx, "post", 10.0, 4)
    assert rooms == [10, 6, 2]
    async with resources.database.transaction() as tx:
        assert await lock_send_rate(tx, "post", 10.0, now) == 0
        assert await lock_send_rate(tx, "post", 10.0, now + timedelta(hours=1)) == 10


async def test_a_contact_waits_for_a_provider_that_was_removed(
    resources: Resources, clock: MovableClock
) -> None:
    line = ScriptedLine()
    house = await a_house_with_a_line(resources, clock, line)
    house.lines.clear()
    await house.create()
    await house.run()
    [row] = await house.rows("SELECT state, attempts FROM communications WHERE merchant_id = $1")
    assert tuple(row) == ("PLANNED", 1)
    house.lines["post"] = line
    clock.advance(timedelta(minutes=4.99))
    await house.run()
    assert len(line.sent) == 0
    clock.advance(timedelta(minutes=0.01))
    await house.run()
    assert len(line.sent) == 1
