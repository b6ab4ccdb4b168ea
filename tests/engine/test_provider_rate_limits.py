"""Rate limits of a delivery provider: concurrent calls, and calls per second."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.delivery_providers import ProviderPace
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.contacts.prepare_contacts import PreparedContacts, prepare_contacts
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Message, Outcome
from dunwell.contact.sending.store import lock_send_rate, save_used_rate
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.delivery_providers import a_harness_with_a_provider
from tests.support.harness import Harness, ScriptedDeliveryProvider

_HANDED_OVER = """
SELECT count(*) AS n FROM communications WHERE merchant_id = $1 AND state = 'HANDED_OVER'
"""


class CountingDeliveryProvider(ScriptedDeliveryProvider):
    """A provider that records how many contacts were handed over at each call."""

    harness: Harness
    most: int = 0

    async def send(self, message: Message) -> Outcome:
        [row] = await self.harness.rows(_HANDED_OVER)
        self.most = max(self.most, row["n"])
        return await super().send(message)


async def test_concurrent_calls_stay_within_the_limit_of_the_provider(
    resources: Resources, clock: MovableClock
) -> None:
    provider = CountingDeliveryProvider(pace=ProviderPace(at_once=3))
    provider.harness = harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create(*(f"INV-{number}" for number in range(10)))
    await harness.run()
    assert (len(provider.sent), provider.most) == (10, 3)


async def test_no_other_set_starts_while_a_set_prepares_its_next_part(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sets together would exceed the provider's limit of concurrent calls."""
    provider = ScriptedDeliveryProvider(pace=ProviderPace(at_once=2))
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create(*(f"INV-{number}" for number in range(6)))
    await Engine(resources).run_once()
    seconds, parts, may_continue = 0.0, 0, asyncio.Event()

    async def prepare_second_part_slowly(*values: Any, **named: Any) -> PreparedContacts:
        nonlocal seconds, parts
        parts += 1
        if parts == 2:
            seconds += 60
            await may_continue.wait()
        return await prepare_contacts(*values, **named)

    monkeypatch.setattr("dunwell.contact.sending.sender.monotonic", lambda: seconds)
    monkeypatch.setattr(
        "dunwell.contact.escalation.contacts.dispatch.prepare_contacts", prepare_second_part_slowly
    )
    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    while parts < 2:
        await dispatcher.run_once()
    for _ in range(3):
        await dispatcher.run_once()
    assert parts == 2
    may_continue.set()
    await dispatcher.close()
    await harness.run()
    assert len(provider.sent) == 6


async def test_calls_per_second_stay_within_the_limit_of_the_provider(
    resources: Resources, clock: MovableClock
) -> None:
    provider = ScriptedDeliveryProvider(pace=ProviderPace(per_second=4.0))
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await harness.create(*(f"INV-{number}" for number in range(10)))
    await Engine(resources).run_once()
    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    sent = []
    for _ in range(4):
        for _ in range(5):
            await dispatcher.run_once()
        sent.append(len(provider.sent))
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
    provider = ScriptedDeliveryProvider()
    harness = await a_harness_with_a_provider(resources, clock, provider)
    harness.delivery_providers.clear()
    await harness.create()
    await harness.run()
    [row] = await harness.rows("SELECT state, attempts FROM communications WHERE merchant_id = $1")
    assert tuple(row) == ("PLANNED", 1)
    harness.delivery_providers["post"] = provider
    clock.advance(timedelta(minutes=4.99))
    await harness.run()
    assert len(provider.sent) == 0
    clock.advance(timedelta(minutes=0.01))
    await harness.run()
    assert len(provider.sent) == 1
