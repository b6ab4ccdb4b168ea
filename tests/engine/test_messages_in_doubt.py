"""Messages that may have left without an answer are marked UNKNOWN without blocking others."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.clock import MovableClock
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from tests.support.delivery_providers import plan_texts
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.harness import Harness, ScriptedChannel

_STATES = "SELECT state FROM communications WHERE merchant_id = $1"
_OUTCOMES = "SELECT outcome FROM contact_ledger WHERE merchant_id = $1"
_HANDED_OVER = """
SELECT communication_id FROM communications WHERE merchant_id = $1 AND state = 'HANDED_OVER'
"""
_LOCK = "SELECT FROM communications WHERE communication_id = $1 FOR UPDATE"


async def count_states(harness: Harness) -> Counter[str]:
    return Counter(row["state"] for row in await harness.rows(_STATES))


async def die_after_sending(harness: Harness, count: int) -> MessageDispatcher:
    """Hand all SMS messages to their channel, let their worker die, and return another worker."""
    sent_messages = SentMessages()
    worker = MessageDispatcher(
        harness.resources, [GatedChannel(sent_messages, "SMS", asyncio.Event())]
    )
    sending = asyncio.create_task(worker.run_merchant(harness.merchant.merchant_id))
    async with asyncio.timeout(20):
        while sent_messages.calls.total() < count:  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0.01)
    sending.cancel()
    await asyncio.wait([sending])
    harness.clock.advance(LEASE + timedelta(seconds=1))
    return MessageDispatcher(
        harness.resources, [ScriptedChannel(channel="SMS", is_repeatable=False)]
    )


async def test_a_locked_message_in_doubt_does_not_hold_up_its_channel(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await plan_texts(resources, clock, 2)
    dispatcher = await die_after_sending(harness, 2)
    await harness.create("NEW", email=None, mobileNumber="+4915112345999")
    await Engine(resources).run_once()
    locked, _ = [row["communication_id"] for row in await harness.rows(_HANDED_OVER)]
    async with resources.database.transaction() as tx:
        await tx.execute(_LOCK, locked)
        async with asyncio.timeout(10):
            await dispatcher.run_merchant(harness.merchant.merchant_id)
        assert await count_states(harness) == {"HANDED_OVER": 1, "UNKNOWN": 1, "ACCEPTED": 1}
    await dispatcher.run_merchant(harness.merchant.merchant_id)
    await dispatcher.close()
    assert await count_states(harness) == {"UNKNOWN": 2, "ACCEPTED": 1}


async def test_messages_in_doubt_are_marked_in_batches_and_each_once(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = await plan_texts(resources, clock, 5)
    dispatcher = await die_after_sending(harness, 5)
    monkeypatch.setattr("dunwell.contact.escalation.contacts.dispatch.SET_SIZE", 2)
    marked = []
    for _ in range(3):
        await dispatcher.run_merchant(harness.merchant.merchant_id)
        marked.append((await count_states(harness))["UNKNOWN"])
    await dispatcher.close()
    assert marked == [2, 4, 5]
    assert [row["outcome"] for row in await harness.rows(_OUTCOMES)] == ["UNKNOWN"] * 5
