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
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.processes import a_process

_PROMISED = timedelta(seconds=20)
_AT_ONCE = a_definition(steps=[{**DOCUMENT["steps"][0], "send": "IMMEDIATE"}])
# With this recipient the outbox accepts a message and never responds.
_HANGING = "erika+hang@example.org"
_HANDED_OVER = """
SELECT communication_id FROM communications WHERE merchant_id = $1 AND state = 'HANDED_OVER'
"""


@pytest.fixture
async def harness(resources: Resources) -> Harness:
    real = replace(resources, clock=SystemClock())
    harness = await a_harness(real, MovableClock(datetime.now(UTC)), _AT_ONCE)
    await harness.create(email=_HANGING)
    await Engine(real).run_once()
    return harness


@asynccontextmanager
async def _a_worker_with_a_contact_in_hand(harness: Harness) -> AsyncIterator[int]:
    """Start a worker, wait until it has handed over a message, and yield its process id."""
    with a_process(harness.resources.settings, "tests.support.worker_process", "0") as process:
        async with asyncio.timeout(30):
            while not await harness.rows(_HANDED_OVER):  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0.01)
        assert process.pid is not None
        yield process.pid


async def _work_until(harness: Harness, instant: datetime) -> list[object]:
    """Return the ids of the first messages that another worker sends before the instant."""
    channel = ScriptedChannel()
    dispatcher = MessageDispatcher(harness.resources, [channel])
    while datetime.now(UTC) < instant and not channel.sent:
        await dispatcher.run_merchant(harness.merchant.merchant_id)
        await asyncio.sleep(0.1)
    await dispatcher.close()
    return [each.communication_id for each in channel.sent]


async def test_messages_of_a_killed_worker_are_sent_within_twenty_seconds(harness: Harness) -> None:
    async with _a_worker_with_a_contact_in_hand(harness) as pid:
        [row] = await harness.rows(_HANDED_OVER)
        # The control: while the worker lives, another takes none of its messages.
        alive_until = datetime.now(UTC) + LEASE + timedelta(seconds=2)
        assert await _work_until(harness, alive_until) == []
        _kill(pid)
        killed_at = datetime.now(UTC)
        sent = await _work_until(harness, killed_at + _PROMISED)
    assert sent == [row["communication_id"]]


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
