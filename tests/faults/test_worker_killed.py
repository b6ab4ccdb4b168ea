"""A worker is killed with SIGKILL while it calls a channel: its messages are sent by others within
twenty seconds of real time. While it lives, no other worker takes them."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.house import House, ScriptedChannel, a_house
from tests.support.processes import a_process

_PROMISED = timedelta(seconds=20)
_AT_ONCE = a_definition(steps=[{**DOCUMENT["steps"][0], "send": "IMMEDIATE"}])
# With this recipient the outbox accepts a message and never responds.
_HANGING = "erika+hang@example.org"
_HANDED_OVER = """
SELECT communication_id FROM communications WHERE merchant_id = $1 AND state = 'HANDED_OVER'
"""


@pytest.fixture
async def house(resources: Resources) -> House:
    real = replace(resources, clock=SystemClock())
    house = await a_house(real, MovableClock(datetime.now(UTC)), _AT_ONCE)
    await house.create(email=_HANGING)
    await Engine(real).run_once()
    return house


@asynccontextmanager
async def _a_worker_with_a_contact_in_hand(house: House) -> AsyncIterator[int]:
    """Yield the id of its process."""
    with a_process(house.resources.settings, "tests.support.worker_process", "0") as process:
        async with asyncio.timeout(30):
            while not await house.rows(_HANDED_OVER):  # noqa: ASYNC110 - the database tells
                await asyncio.sleep(0.01)
        assert process.pid is not None
        yield process.pid


async def _work_until(house: House, instant: datetime) -> list[object]:
    """Return what another worker sends until then."""
    channel = ScriptedChannel()
    dispatcher = MessageDispatcher(house.resources, [channel])
    while datetime.now(UTC) < instant and not channel.sent:
        await dispatcher.run_merchant(house.merchant.merchant_id)
        await asyncio.sleep(0.1)
    await dispatcher.close()
    return [each.communication_id for each in channel.sent]


async def test_messages_of_a_killed_worker_are_sent_within_twenty_seconds(house: House) -> None:
    async with _a_worker_with_a_contact_in_hand(house) as pid:
        [row] = await house.rows(_HANDED_OVER)
        # The control: while the worker lives, another takes none of its messages.
        alive_until = datetime.now(UTC) + LEASE + timedelta(seconds=2)
        assert await _work_until(house, alive_until) == []
        _kill(pid)
        killed_at = datetime.now(UTC)
        sent = await _work_until(house, killed_at + _PROMISED)
    assert sent == [row["communication_id"]]


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
