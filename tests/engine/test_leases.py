"""Leases last for seconds: a running worker keeps its work, and that of a killed one is taken
over."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.contacts.prepare_contacts import SetLimits, prepare_contacts
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.letters.letter_files import LetterFiles
from dunwell.contact.messages.letters.printer import LetterPrinter
from dunwell.contact.notices.sender import NoticeSender
from dunwell.contact.notices.store import lease_notices, renew_notice
from dunwell.platform.clock import MovableClock
from dunwell.platform.heartbeat import LEASE, start_lease
from dunwell.platform.resources import Resources
from tests.support.channels import REACHABLE, a_harness_with_channels
from tests.support.delivery_providers import plan_texts
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.harness import Harness, ScriptedChannel
from tests.support.notices import a_notice_harness

BEAT = 0.02
# Longer than half a lease and shorter than a whole one.
_PART_OF_LEASE = timedelta(seconds=10)
_CONTACTS = "SELECT state, lease_until AS until FROM communications WHERE merchant_id = $1"
_HANDED_OVER = """
SELECT communication_id FROM communications WHERE merchant_id = $1 AND state = 'HANDED_OVER'
"""
_LOCK = "SELECT FROM communications WHERE communication_id = $1 FOR UPDATE"
_TAKE_OVER = """
UPDATE communications SET lease_id = $3 WHERE merchant_id = $1 AND communication_id = $2
"""
# The number of concurrent calls of a channel in one batch.
_CONCURRENT_CALLS = 50
_NOTICES = "SELECT state, due_at AS until FROM debtor_notices WHERE merchant_id = $1"


async def wait_until_called(sent_messages: SentMessages) -> None:
    async with asyncio.timeout(20):
        while not sent_messages.calls:  # noqa: ASYNC110 - the channel has no event to wait for
            await asyncio.sleep(0)


async def wait_until_renewed(harness: Harness, select: str) -> None:
    """Wait until all leases are as long as if they had just been taken."""
    async with asyncio.timeout(20):
        while {row["until"] for row in await harness.rows(select)} != {harness.clock.now() + LEASE}:
            pass


async def states(harness: Harness, select: str) -> list[Any]:
    return [row["state"] for row in await harness.rows(select)]


async def plan_one(resources: Resources, clock: MovableClock, channel: Channel) -> Harness:
    harness = await a_harness_with_channels(resources, clock, channel)
    await harness.create(**REACHABLE)
    await Engine(resources).run_once()
    return harness


@pytest.mark.parametrize("channel", ["EMAIL", "SMS"])
async def test_a_worker_keeps_the_lease_of_a_contact_whose_channel_is_slow(
    resources: Resources, clock: MovableClock, channel: Channel
) -> None:
    harness = await plan_one(resources, clock, channel)
    sent_messages, gate = SentMessages(), asyncio.Event()
    worker = MessageDispatcher(
        resources, [GatedChannel(sent_messages, channel, gate)], heartbeat_seconds=BEAT
    )
    other = MessageDispatcher(resources, [GatedChannel(sent_messages, channel, gate)])
    sending = asyncio.create_task(worker.run_merchant(harness.merchant.merchant_id))
    await wait_until_called(sent_messages)
    for _ in range(3):
        clock.advance(_PART_OF_LEASE)
        await wait_until_renewed(harness, _CONTACTS)
        assert await other.run_merchant(harness.merchant.merchant_id) == 0
    gate.set()
    assert await sending == 1
    assert await states(harness, _CONTACTS) == ["ACCEPTED"]
    assert sent_messages.calls.total() == 1


async def test_the_contacts_of_a_cancelled_worker_are_taken_over_after_its_lease(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await plan_one(resources, clock, "EMAIL")
    sent_messages = SentMessages()
    worker = MessageDispatcher(resources, [GatedChannel(sent_messages, "EMAIL", asyncio.Event())])
    sending = asyncio.create_task(worker.run_merchant(harness.merchant.merchant_id))
    await wait_until_called(sent_messages)
    sending.cancel()
    await asyncio.wait([sending])
    clock.advance(timedelta(seconds=20))
    channel = ScriptedChannel()
    await MessageDispatcher(resources, [channel]).run_merchant(harness.merchant.merchant_id)
    assert await states(harness, _CONTACTS) == ["ACCEPTED"]
    assert [each.communication_id for each in channel.sent] == list(sent_messages.calls)


class SlowPrinter(LetterPrinter):
    """A printer that sets `begun` when it starts and waits until it is released."""

    def __init__(self) -> None:
        super().__init__(1)
        self.begun, self.gate = asyncio.Event(), asyncio.Event()

    async def print_sheet(self, sheet: bytes) -> bytes:
        self.begun.set()
        await self.gate.wait()
        return sheet


async def test_a_worker_keeps_the_lease_of_a_letter_that_is_slow_to_render(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await plan_one(resources, clock, "LETTER")
    own = LetterFiles.open(resources)
    printer = SlowPrinter()
    letters = LetterFiles(own.storage, printer, resources.keys)
    preparing = asyncio.create_task(
        prepare_contacts(
            resources,
            letters,
            harness.merchant,
            start_lease(resources),
            limits=SetLimits("LETTER", 1),
            heartbeat_seconds=BEAT,
        )
    )
    await printer.begun.wait()
    for _ in range(3):
        clock.advance(_PART_OF_LEASE)
        await wait_until_renewed(harness, _CONTACTS)
        lease = start_lease(resources)
        taken = await prepare_contacts(
            resources, own, harness.merchant, lease, limits=SetLimits("LETTER", 1)
        )
        assert taken.handed_over == ()
    printer.gate.set()
    assert len((await preparing).handed_over) == 1
    [row] = await harness.rows(_CONTACTS)
    assert tuple(row) == ("HANDED_OVER", clock.now() + LEASE)


async def test_a_worker_keeps_the_lease_of_a_notice_whose_channel_is_slow(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request(channel="SMS")
    sent_messages, gate = SentMessages(), asyncio.Event()
    worker = NoticeSender(
        resources, [GatedChannel(sent_messages, "SMS", gate)], heartbeat_seconds=BEAT
    )
    other = NoticeSender(resources, [GatedChannel(sent_messages, "SMS", gate)])
    while not sent_messages.calls:
        await worker.run_once()
    for _ in range(3):
        clock.advance(_PART_OF_LEASE)
        await wait_until_renewed(notice_harness.harness, _NOTICES)
        assert await other.run_once() == 0
        assert other.is_idle
    gate.set()
    await worker.close()
    assert await states(notice_harness.harness, _NOTICES) == ["ACCEPTED"]
    assert sent_messages.calls.total() == 1


async def test_renewing_a_lease_of_a_notice_succeeds_only_for_its_holder(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await a_notice_harness(resources, clock)
    await notice_harness.request(channel="SMS")
    lease, until = start_lease(resources), clock.now() + timedelta(minutes=1)
    async with resources.database.transaction() as tx:
        [leased] = await lease_notices(tx, clock.now(), lease, Counter(), channel_limit=1, limit=1)
        held = [await renew_notice(tx, leased, each, until) for each in (lease.lease_id, uuid4())]
    assert held == [True, False]


async def test_a_retry_is_due_after_its_delay_and_not_after_the_lease(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await plan_one(resources, clock, "EMAIL")
    channel = ScriptedChannel([ConnectionResetError()])
    worker = MessageDispatcher(resources, [channel], heartbeat_seconds=0)
    await worker.run_merchant(harness.merchant.merchant_id)
    [row] = await harness.rows(_CONTACTS)
    first, last = clock.now() + timedelta(seconds=5), clock.now() + timedelta(seconds=6.25)
    assert row["state"] == "HANDED_OVER"
    assert first <= row["until"] <= last


async def list_unsent(harness: Harness, sent_messages: SentMessages) -> list[UUID]:
    marked = [row["communication_id"] for row in await harness.rows(_HANDED_OVER)]
    return [each for each in marked if each not in sent_messages.calls]


async def test_only_a_message_whose_own_lease_was_renewed_is_sent(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five contacts wait for a free call: another transaction has locked one, and another worker
    has leased one."""
    trusted_seconds = 2.0
    monkeypatch.setattr("dunwell.platform.heartbeat._TRUSTED_SECONDS", trusted_seconds)
    harness = await plan_texts(resources, clock, _CONCURRENT_CALLS + 5)
    sent_messages, gate = SentMessages(), asyncio.Event()
    dispatcher = MessageDispatcher(
        resources, [GatedChannel(sent_messages, "SMS", gate)], heartbeat_seconds=0.05
    )
    sending = asyncio.create_task(dispatcher.run_merchant(harness.merchant.merchant_id))
    async with asyncio.timeout(20):
        while sent_messages.calls.total() < _CONCURRENT_CALLS:  # noqa: ASYNC110 - the channel has no event to wait for
            await asyncio.sleep(0.01)
    locked, taken, *renewed = await list_unsent(harness, sent_messages)
    async with resources.database.transaction() as tx:
        await harness.rows(_TAKE_OVER, taken, uuid4())
        await tx.execute(_LOCK, locked)
        await asyncio.sleep(trusted_seconds + 0.3)
        gate.set()
        async with asyncio.timeout(20):
            while not set(renewed) <= sent_messages.calls.keys():  # noqa: ASYNC110 - the channel has no event to wait for
                await asyncio.sleep(0.01)
    await sending
    await dispatcher.close()
    assert sent_messages.calls.total() == _CONCURRENT_CALLS + len(renewed)
    assert not {locked, taken} & sent_messages.calls.keys()
    # The locked contact was released; the other belongs to its new holder.
    assert Counter(await states(harness, _CONTACTS)) == {
        "ACCEPTED": 53,
        "PLANNED": 1,
        "HANDED_OVER": 1,
    }
