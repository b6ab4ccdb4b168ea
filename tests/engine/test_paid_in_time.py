"""Payments and the process at the same time, with the real engine and dispatcher."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.payments.provider import CheckoutFailed, CheckoutPending, CheckoutSucceeded
from dunwell.cases.payments.reverse_payment import reverse_payment
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Message, Outcome, Permanent, Temporary
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.house import ScriptedChannel
from tests.support.payments import PAYING, Till, a_till

_CONTACTS = """
SELECT state, place, attempts FROM communications WHERE merchant_id = $1 ORDER BY step_id, place
"""
DAY = timedelta(days=1)


@pytest.fixture
async def till(resources: Resources, clock: MovableClock) -> Till:
    return await a_till(resources, clock)


async def contacts(till: Till) -> list[tuple[str, int, int]]:
    return [tuple(row) for row in await till.house.rows(_CONTACTS)]


async def pay(till: Till, number: str = "psp-1") -> None:
    started = await till.start()
    till.pays(number=number)
    await till.settle(started.request_id)


async def reverse_all(till: Till) -> None:
    rows = await till.house.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1 AND reversed_at IS NULL"
    )
    for row in rows:
        async with till.house.work() as work:
            await reverse_payment(work, till.claim_id, row["payment_id"])


async def test_a_claim_paid_a_second_ago_gets_no_message(till: Till, clock: MovableClock) -> None:
    await Engine(till.resources).run_once()
    assert await contacts(till) == [("PLANNED", 0, 0)]
    await pay(till)
    clock.advance(timedelta(seconds=1))
    await till.house.run_until(clock.now() + 10 * DAY)
    assert till.house.channels[0].sent == []
    assert await contacts(till) == [("CANCELLED", 0, 0)]
    assert await till.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_concurrent_payments_and_messages_leave_each_contact_sent_or_cancelled(
    till: Till,
) -> None:
    claim_ids = await till.house.create(*(f"INV-3{n}" for n in range(40)))
    tills = [Till(till.house, till.provider, claim_id) for claim_id in claim_ids]
    requests = [(await each.start()).request_id for each in tills]
    till.provider.answers = {
        f"ref-{each}": CheckoutSucceeded(f"psp-{each}", 10240, "EUR", till.now) for each in requests
    }
    await Engine(till.resources).run_once()
    dispatcher = MessageDispatcher(till.resources, till.house.channels)
    await asyncio.gather(dispatcher.run_once(), *(till.settle(each) for each in requests))
    while not dispatcher.is_idle:
        await dispatcher.run_once()
    await dispatcher.close()
    await till.house.run()
    sent = {message.communication_id for message in till.house.channels[0].sent}
    rows = await till.house.rows(
        "SELECT communication_id, state FROM communications WHERE merchant_id = $1"
    )
    assert len(rows) == 41
    for row in rows:
        assert row["state"] == ("ACCEPTED" if row["communication_id"] in sent else "CANCELLED")
    assert await till.count("payments") == 40


async def test_a_message_that_has_left_when_the_debtor_pays_is_the_last(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    till.pays()
    await Engine(till.resources).run_once()

    class MakesDebtorPay(ScriptedChannel):
        async def send(self, message: Message) -> Outcome:
            await till.settle(started.request_id)
            return await super().send(message)

    till.house.channels[:] = [MakesDebtorPay()]
    await till.house.run_until(clock.now() + 30 * DAY)
    assert len(till.house.channels[0].sent) == 1
    claim = await till.house.read(till.claim_id)
    assert (claim.status, claim.next_step_at) == (Status.COLLECTED, None)
    assert await till.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED", "ESCALATED"]


async def test_no_contact_is_sent_while_a_payment_is_pending(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    till.provider.answer = CheckoutPending()
    await till.settle(started.request_id)
    await till.house.run_until(clock.now() + 4 * DAY)
    assert till.house.channels[0].sent == []
    till.provider.answer = CheckoutFailed()
    await till.settle(started.request_id)
    await till.house.run()
    assert len(till.house.channels[0].sent) == 1


async def test_the_hold_of_a_payment_that_never_completes_ends_after_five_days(
    till: Till, clock: MovableClock
) -> None:
    started = await till.start()
    till.provider.answer = CheckoutPending()
    await till.settle(started.request_id)
    # From Monday to Saturday; the next contact hours are on the following Monday.
    await till.house.run_until(clock.now() + 6 * DAY)
    assert till.house.channels[0].sent == []
    await till.house.run_until(clock.now() + DAY)
    assert len(till.house.channels[0].sent) == 1


async def test_a_cancelled_contact_is_sent_under_its_id_after_a_reversal(
    till: Till, clock: MovableClock
) -> None:
    await Engine(till.resources).run_once()
    await pay(till)
    assert await contacts(till) == [("CANCELLED", 0, 0)]
    clock.advance(DAY)
    await reverse_all(till)
    await till.house.run()
    assert await contacts(till) == [("ACCEPTED", 0, 1)]
    assert len(till.house.channels[0].sent) == 1
    assert (await till.house.read(till.claim_id)).status is Status.IN_PROCESS


async def test_a_reversal_within_a_wait_lets_it_run_to_its_end(
    till: Till, clock: MovableClock
) -> None:
    await till.house.run()
    await pay(till)
    clock.advance(DAY)
    await reverse_all(till)
    await till.house.run()
    assert (await till.events())[-1] == "PAYMENT_COMPLETED"
    clock.advance(6 * DAY)
    await till.house.run()
    assert (await till.events())[-2:] == ["FEE_ADDED", "CHECKPOINT_REACHED"]
    assert len(till.house.channels[0].sent) == 1


async def test_a_reversal_after_the_wait_runs_the_next_step_now(
    till: Till, clock: MovableClock
) -> None:
    await till.house.run()
    await pay(till)
    clock.advance(10 * DAY)
    await reverse_all(till)
    await till.house.run()
    assert (await till.events())[-2:] == ["FEE_ADDED", "CHECKPOINT_REACHED"]


async def test_paid_reversed_paid_and_reversed_again_does_each_step_once(
    till: Till, clock: MovableClock
) -> None:
    for number in ("psp-1", "psp-2", "psp-3"):
        await Engine(till.resources).run_once()
        await pay(till, number)
        await reverse_all(till)
    await till.house.run_until(clock.now() + 60 * DAY)
    events = await till.events()
    assert events.count("ESCALATED") == len(till.house.channels[0].sent) == 1
    assert events.count("FEE_ADDED") == 1
    assert events[-1] == "ARCHIVED"


async def test_a_reversal_while_a_contact_is_unanswered_waits_for_the_answer(
    till: Till, clock: MovableClock
) -> None:
    channel = ScriptedChannel([ConnectionResetError()], is_repeatable=True)
    till.house.channels[:] = [channel]
    await till.house.run()
    assert await contacts(till) == [("HANDED_OVER", 0, 1)]
    await pay(till)
    await reverse_all(till)
    claim = await till.house.read(till.claim_id)
    assert (claim.status, claim.next_step_at) == (Status.IN_PROCESS, None)
    clock.advance(timedelta(seconds=31))
    await till.house.run()
    assert [event for event in await till.events() if event == "ESCALATED"] == ["ESCALATED"]
    assert len({message.communication_id for message in channel.sent}) == 1


async def test_the_process_continues_after_a_reversal_although_a_fallback_was_cancelled(
    resources: Resources, clock: MovableClock
) -> None:
    till = await _a_till_with_fallback(resources, clock)
    await till.house.run()
    assert [state for state, *_ in await contacts(till)] == ["FAILED", "PLANNED"]
    await pay(till)
    assert [state for state, *_ in await contacts(till)] == ["FAILED", "CANCELLED"]
    await reverse_all(till)
    await till.house.run_until(clock.now() + 2 * DAY)
    assert await contacts(till) == [("FAILED", 0, 1), ("ACCEPTED", 1, 1)]
    assert (await till.events()).count("ESCALATED") == 1
    for channel in till.house.channels:
        assert len({message.communication_id for message in channel.sent}) == 1
    assert (await till.house.read(till.claim_id)).next_step_at is not None


async def test_the_process_continues_after_a_reversal_although_the_channel_refused(
    resources: Resources, clock: MovableClock
) -> None:
    till = await _a_till_with_fallback(resources, clock)

    class RefusesOncePaid(ScriptedChannel):
        async def send(self, message: Message) -> Outcome:
            if not self.sent:
                await pay(till)
            return await super().send(message)

    till.house.channels[0] = RefusesOncePaid(till.house.channels[0].answers)
    await till.house.run()
    assert await contacts(till) == [("FAILED", 0, 1)]
    await reverse_all(till)
    await till.house.run_until(clock.now() + 2 * DAY)
    assert await contacts(till) == [("FAILED", 0, 1), ("ACCEPTED", 1, 2)]


async def _a_till_with_fallback(resources: Resources, clock: MovableClock) -> Till:
    """Return a till whose e-mail is refused permanently and whose SMS is refused at first."""
    step = {**DOCUMENT["steps"][0], "fallbacks": ["SMS"]}
    reminder = DOCUMENT["templates"]["reminder"]
    texts = {"body": {"de": "Bitte zahlen: {{ landing.url }}", "en": "Pay: {{ landing.url }}"}}
    definition = a_definition(
        steps=[step, *DOCUMENT["steps"][1:]], templates={"reminder": {**reminder, "SMS": texts}}
    )
    setups = {**PAYING.channels, "SMS": ChannelSetup(adapter="outbox", sender="Nordwind")}
    channels = [
        ScriptedChannel([Permanent("mailbox gone"), Permanent("mailbox gone")]),
        ScriptedChannel([Temporary(3600)], channel="SMS"),
    ]
    return await a_till(
        resources,
        clock,
        definition=definition,
        configuration=msgspec.structs.replace(PAYING, channels=setups),
        channels=channels,
        debtor={"mobileNumber": "+4915112345678"},
    )
