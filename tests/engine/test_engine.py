"""The engine and the dispatcher on the real database."""

import asyncio
from datetime import timedelta

from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition, a_document
from tests.support.harness import ScriptedChannel, a_harness

_STATES = "SELECT state, attempts, failure FROM communications WHERE merchant_id = $1"
_HISTORY = """
SELECT step_id, outcome, reason FROM step_history WHERE merchant_id = $1 ORDER BY at, step_id
"""


async def test_a_due_contact_is_sent_once_and_the_wait_begins(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await harness.run()
    [message] = harness.channels[0].sent
    assert (message.recipient, message.subject) == ("erika@example.org", "Erinnerung INV-1001")
    assert "\n\nGuten Tag Erika Mustermann,\n" in message.body_text
    claim = await harness.read(claim_id)
    assert claim.status is Status.IN_PROCESS
    assert claim.next_step_at == clock.now() + timedelta(days=7)
    [event] = await harness.events(claim_id)
    assert event["type"] == "ESCALATED"
    assert event["claim"]["communication"]["reference"] == str(message.communication_id)


async def test_a_planned_message_greets_by_the_salutation_that_was_patched(
    resources: Resources, clock: MovableClock
) -> None:
    document = a_document()
    document["templates"]["reminder"]["EMAIL"]["body"]["de"] = (
        "{{ snippet.greeting }},\n\n{{ outstanding }} {{ landing.url }}"
    )
    harness = await a_harness(resources, clock, a_definition(templates=document["templates"]))
    [claim_id] = await harness.create(salutation="MR")
    await Engine(resources).run_once()
    async with harness.work() as work:
        await change_contact_data(work, claim_id, {"salutation": "MS"})
    await harness.run()
    [message] = harness.channels[0].sent
    assert "\n\nSehr geehrte Frau Mustermann,\n" in message.body_text


async def test_a_paid_claim_gets_no_message_though_its_contact_was_planned(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await Engine(resources).run_once()
    recorded = await harness.pay(claim_id, 10240)
    assert recorded.status is Status.COLLECTED
    await harness.run_until(clock.now() + timedelta(days=2))
    assert harness.channels[0].sent == []
    assert [row["state"] for row in await harness.rows(_STATES)] == ["CANCELLED"]
    assert await harness.events(claim_id) == []


async def test_two_engines_and_two_dispatchers_run_each_step_once(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    claim_ids = await harness.create(*(f"INV-{n}" for n in range(120)))
    engines = [Engine(resources) for _ in range(3)]
    dispatchers = [MessageDispatcher(resources, harness.channels) for _ in range(3)]
    for _ in range(4):
        await asyncio.gather(*(engine.run_once() for engine in engines))
        await asyncio.gather(*(dispatcher.run_once() for dispatcher in dispatchers))
    # A round on a busy machine may end before the outcomes of its messages are recorded.
    await asyncio.gather(*(dispatcher.close() for dispatcher in dispatchers))
    await harness.run()
    recipients = [message.claim_id for message in harness.channels[0].sent]
    assert sorted(recipients) == sorted(claim_ids)
    events = await harness.rows("SELECT claim_id FROM events WHERE merchant_id = $1")
    assert sorted(row["claim_id"] for row in events) == sorted(claim_ids)


async def test_a_temporary_refusal_is_retried_after_a_delay(
    resources: Resources, clock: MovableClock
) -> None:
    channel = ScriptedChannel([Temporary(60), Temporary(0)])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    await harness.create()
    await harness.run()
    assert [tuple(row) for row in await harness.rows(_STATES)] == [("PLANNED", 1, None)]
    clock.advance(timedelta(seconds=59))
    await harness.run()
    assert len(channel.sent) == 1
    clock.advance(timedelta(seconds=1))
    await harness.run()
    clock.advance(timedelta(seconds=60))
    await harness.run()
    assert [tuple(row) for row in await harness.rows(_STATES)] == [("ACCEPTED", 3, None)]
    assert len({message.communication_id for message in channel.sent}) == 1


async def test_a_permanent_refusal_is_recorded_and_the_workflow_continues(
    resources: Resources, clock: MovableClock
) -> None:
    channel = ScriptedChannel([Permanent("mailbox gone")])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    [claim_id] = await harness.create()
    await harness.run()
    assert [tuple(row) for row in await harness.rows(_STATES)] == [("FAILED", 1, "mailbox gone")]
    assert [tuple(row) for row in await harness.rows(_HISTORY)][:1] == [
        (1, "FAILED", "NOBODY_REACHABLE")
    ]
    clock.advance(timedelta(days=7))
    await harness.run()
    assert (3, "SKIPPED", "NOBODY_REACHED") in [tuple(row) for row in await harness.rows(_HISTORY)]
    assert [event["type"] for event in await harness.events(claim_id)] == ["CHECKPOINT_REACHED"]


async def test_a_call_without_an_answer_on_a_non_repeatable_channel_stays_unknown(
    resources: Resources, clock: MovableClock
) -> None:
    channel = ScriptedChannel([ConnectionResetError()], is_repeatable=False)
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    [claim_id] = await harness.create()
    await harness.run_until(clock.now() + timedelta(days=1))
    assert [tuple(row) for row in await harness.rows(_STATES)] == [("UNKNOWN", 1, None)]
    assert len(channel.sent) == 1
    assert await harness.events(claim_id) == []
    assert (await harness.read(claim_id)).next_step_at is None


async def test_a_call_without_an_answer_on_a_repeatable_channel_is_repeated_unchanged(
    resources: Resources, clock: MovableClock
) -> None:
    channel = ScriptedChannel([ConnectionResetError()])
    harness = await a_harness(resources, clock, a_definition(), channels=[channel])
    [claim_id] = await harness.create()
    await harness.run()
    clock.advance(timedelta(seconds=31))
    await harness.run()
    first, second = channel.sent
    assert first == second
    assert [event["type"] for event in await harness.events(claim_id)] == ["ESCALATED"]


async def test_a_claim_with_an_unknown_step_does_not_stop_the_others(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    bad, good = await harness.create("INV-1", "INV-2")
    await harness.rows(
        "UPDATE claims SET next_step_id = 99, status = 'IN_PROCESS'"
        " WHERE merchant_id = $1 AND claim_id = $2",
        bad,
    )
    await harness.run()
    assert [message.claim_id for message in harness.channels[0].sent] == [good]
    assert (await harness.read(bad)).next_step_at == clock.now() + timedelta(hours=1)
