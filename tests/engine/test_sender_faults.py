"""A fault of one message does not affect others.

Tested are an answer that cannot be recorded and an adapter that ignores its cancellation.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg
import pytest
from structlog.testing import capture_logs

from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.sending.channel import Accepted, Message, Outcome, Permanent
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from tests.support.channels import a_harness_with_channels
from tests.support.delivery_providers import a_harness_with_a_provider, plan_texts
from tests.support.gated_channels import GatedChannel, SentMessages
from tests.support.harness import Harness, ScriptedChannel, ScriptedDeliveryProvider

_UNRECORDABLE = """
CREATE FUNCTION tests.refuse_to_record() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    RAISE EXCEPTION 'This answer cannot be recorded.';
END $body$;
CREATE TRIGGER unrecordable BEFORE UPDATE ON communications
FOR EACH ROW WHEN (NEW.state = 'FAILED') EXECUTE FUNCTION tests.refuse_to_record();
"""
_RECORDABLE = """
DROP TRIGGER unrecordable ON communications;
DROP FUNCTION tests.refuse_to_record();
"""
_STATES = "SELECT state FROM communications WHERE merchant_id = $1"
# The number of concurrent calls of a channel in one batch.
_CALLED_AT_ONCE = 50


@asynccontextmanager
async def failures_unrecordable(database: Database) -> AsyncIterator[None]:
    """Make the database refuse to record failed contacts within the block."""
    async with database.connection() as connection:
        await connection.execute(_UNRECORDABLE)
    try:
        yield
    finally:
        async with database.connection() as connection:
            await connection.execute(_RECORDABLE)


async def count_states(harness: Harness) -> Counter[str]:
    return Counter(row["state"] for row in await harness.rows(_STATES))


async def plan(harness: Harness, *references: str) -> None:
    await harness.create(*references)
    await Engine(harness.resources).run_once()


def has_failed_to_settle(logs: Sequence[Any]) -> bool:
    return "outcome not recorded" in {each["event"] for each in logs}


async def test_an_unrecordable_refusal_without_a_call_does_not_affect_other_calls(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_with_channels(resources, clock, "EMAIL")
    await plan(harness, "A", "B")
    async with harness.work() as work:
        await suppress(work, resources.keys, "EMAIL", "a@example.org", "DEBTOR")
    sent_messages, gate = SentMessages(), asyncio.Event()
    dispatcher = MessageDispatcher(resources, [GatedChannel(sent_messages, "EMAIL", gate)])
    async with failures_unrecordable(resources.database):
        sending = asyncio.create_task(dispatcher.run_merchant(harness.merchant.merchant_id))
        with capture_logs() as logs:
            while not sending.done() and not has_failed_to_settle(logs):  # noqa: ASYNC110 - no event signals this
                await asyncio.sleep(0.01)
        gate.set()
        with pytest.raises(asyncpg.RaiseError):
            await sending
        assert await count_states(harness) == {"ACCEPTED": 1, "PLANNED": 1}
    clock.advance(LEASE + timedelta(seconds=1))
    await dispatcher.run_merchant(harness.merchant.merchant_id)
    await dispatcher.close()
    assert await count_states(harness) == {"ACCEPTED": 1, "FAILED": 1}
    assert set(sent_messages.calls.values()) == {1}


async def test_an_unrecordable_answer_does_not_affect_simultaneous_answers(
    resources: Resources, clock: MovableClock
) -> None:
    provider = ScriptedDeliveryProvider([Accepted(), Permanent("no such user"), Accepted()])
    harness = await a_harness_with_a_provider(resources, clock, provider)
    await plan(harness, "A", "B", "C")
    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    async with failures_unrecordable(resources.database):
        with pytest.raises(asyncpg.RaiseError):
            await dispatcher.run_merchant(harness.merchant.merchant_id)
        assert await count_states(harness) == {"ACCEPTED": 2, "HANDED_OVER": 1}
    clock.advance(LEASE + timedelta(seconds=1))
    await dispatcher.run_merchant(harness.merchant.merchant_id)
    await dispatcher.close()
    # The answer is lost with its worker, and nothing in doubt is sent again.
    assert await count_states(harness) == {"ACCEPTED": 2, "UNKNOWN": 1}
    assert set(Counter(each.communication_id for each in provider.sent).values()) == {1}


class _LateChannel(ScriptedChannel):
    """A channel that has sent everything and answers only when it is cancelled."""

    async def send(self, message: Message) -> Outcome:
        self.sent.append(message)
        answer = Permanent("no such number") if len(self.sent) == 2 else Accepted()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return answer
        raise AssertionError


async def cancel_when_called(dispatcher: MessageDispatcher, sent: list[Any], count: int) -> None:
    """Close the dispatcher while `count` messages are at their channel, and cancel the closing."""
    await dispatcher.run_once()
    async with asyncio.timeout(20):
        while len(sent) < count:  # noqa: ASYNC110 - no event signals this
            await asyncio.sleep(0.01)
    closing = asyncio.create_task(dispatcher.close())
    await asyncio.sleep(0)
    closing.cancel()
    async with asyncio.timeout(20):
        await asyncio.wait([closing])


async def test_an_unrecordable_answer_does_not_affect_others_when_sending_is_interrupted(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A busy machine may take several seconds to log the failure.
    monkeypatch.setattr("dunwell.contact.sending.sender._BRIEF_RETRY_SECONDS", 60.0)
    harness = await plan_texts(resources, clock, 3)
    harness.channels[0] = late = _LateChannel(channel="SMS", is_repeatable=False)
    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    async with failures_unrecordable(resources.database):
        await cancel_when_called(dispatcher, late.sent, 3)
        assert await count_states(harness) == {"ACCEPTED": 2, "HANDED_OVER": 1}


class _StubbornChannel(ScriptedChannel):
    """A channel that ignores every cancellation until it may end."""

    async def send(self, message: Message) -> Outcome:
        self.sent.append(message)
        while not self.may_end.is_set():
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                continue
        return Accepted()

    may_end: asyncio.Event


async def test_an_adapter_that_ignores_its_cancellation_does_not_block_its_worker(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dunwell.contact.sending.sender._CANCEL_SECONDS", 0.2)
    harness = await plan_texts(resources, clock, _CALLED_AT_ONCE + 5)
    harness.channels[0] = stubborn = _StubbornChannel(channel="SMS", is_repeatable=False)
    stubborn.may_end = asyncio.Event()
    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    try:
        await cancel_when_called(dispatcher, stubborn.sent, _CALLED_AT_ONCE)
        # Messages that may have left stay marked; messages that were certainly not sent are free at
        # once.
        assert await count_states(harness) == {"HANDED_OVER": _CALLED_AT_ONCE, "PLANNED": 5}
    finally:
        stubborn.may_end.set()
    clock.advance(LEASE + timedelta(seconds=1))
    channel = ScriptedChannel(channel="SMS", is_repeatable=False)
    await MessageDispatcher(resources, [channel]).run_merchant(harness.merchant.merchant_id)
    assert await count_states(harness) == {"UNKNOWN": _CALLED_AT_ONCE, "ACCEPTED": 5}
    assert len({each.communication_id for each in channel.sent + stubborn.sent}) == 55


class _CancelledChannel(ScriptedChannel):
    """A channel whose library cancels the call, as some do when a connection breaks."""

    async def send(self, message: Message) -> Outcome:
        self.sent.append(message)
        raise asyncio.CancelledError


async def test_an_adapter_that_cancels_its_own_call_counts_as_unanswered(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await plan_texts(resources, clock, 3)
    harness.channels[0] = channel = _CancelledChannel(channel="SMS", is_repeatable=False)
    dispatcher = MessageDispatcher(
        resources, harness.channels, find_provider=harness.delivery_providers.get
    )
    await dispatcher.run_merchant(harness.merchant.merchant_id)
    assert await count_states(harness) == {"UNKNOWN": 3}
    assert len(channel.sent) == 3
    await dispatcher.close()
