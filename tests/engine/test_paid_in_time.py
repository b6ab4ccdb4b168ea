"""Payments while the workflow is running, with the real engine and dispatcher."""

import asyncio
from datetime import timedelta

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import ChannelSetup
from dunwell.cases.payments.provider import CheckoutState, CheckoutStatus
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.contacts.dispatch import MessageDispatcher
from dunwell.contact.escalation.engine import Engine
from dunwell.contact.sending.channel import Message, Outcome, Permanent, Temporary
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import ScriptedChannel
from tests.support.payments import PAYING, PaymentHarness, a_paid_checkout, a_payment_harness

_CONTACTS = """
SELECT state, place, attempts FROM communications WHERE merchant_id = $1 ORDER BY step_id, place
"""
DAY = timedelta(days=1)


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def contacts(payments: PaymentHarness) -> list[tuple[str, int, int]]:
    return [tuple(row) for row in await payments.harness.rows(_CONTACTS)]


async def pay(payments: PaymentHarness, number: str = "psp-1") -> None:
    started = await payments.start()
    payments.pays(number=number)
    await payments.settle(started.request_id)


async def reverse_all(payments: PaymentHarness) -> None:
    rows = await payments.harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1 AND reversed_at IS NULL"
    )
    for row in rows:
        async with payments.harness.work() as work:
            await reverse_payment(work, payments.claim_id, row["payment_id"])


async def test_a_planned_message_of_a_claim_that_is_paid_is_cancelled(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await Engine(payments.resources).run_once()
    assert await contacts(payments) == [("PLANNED", 0, 0)]
    await pay(payments)
    clock.advance(timedelta(seconds=1))
    await payments.harness.run_until(clock.now() + 10 * DAY)
    assert payments.harness.channels[0].sent == []
    assert await contacts(payments) == [("CANCELLED", 0, 0)]
    assert await payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_concurrent_payments_and_messages_leave_each_contact_sent_or_cancelled(
    payments: PaymentHarness,
) -> None:
    claim_ids = await payments.harness.create(*(f"INV-3{n}" for n in range(40)))
    payment_harnesses = [
        PaymentHarness(payments.harness, payments.provider, claim_id) for claim_id in claim_ids
    ]
    requests = [(await each.start()).request_id for each in payment_harnesses]
    payments.provider.answers = {
        f"ref-{each}": a_paid_checkout(f"psp-{each}", 10240, "EUR", payments.now)
        for each in requests
    }
    await Engine(payments.resources).run_once()
    dispatcher = MessageDispatcher(payments.resources, payments.harness.channels)
    await asyncio.gather(dispatcher.run_once(), *(payments.settle(each) for each in requests))
    while not dispatcher.is_idle:
        await dispatcher.run_once()
    await dispatcher.close()
    await payments.harness.run()
    sent = {message.communication_id for message in payments.harness.channels[0].sent}
    rows = await payments.harness.rows(
        "SELECT communication_id, state FROM communications WHERE merchant_id = $1"
    )
    assert len(rows) == 41
    for row in rows:
        assert row["state"] == ("ACCEPTED" if row["communication_id"] in sent else "CANCELLED")
    assert await payments.count("payments") == 40


async def test_a_message_that_has_left_when_the_debtor_pays_is_the_last(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    await Engine(payments.resources).run_once()

    class MakesDebtorPay(ScriptedChannel):
        async def send(self, message: Message) -> Outcome:
            await payments.settle(started.request_id)
            return await super().send(message)

    payments.harness.channels[:] = [MakesDebtorPay()]
    await payments.harness.run_until(clock.now() + 30 * DAY)
    assert len(payments.harness.channels[0].sent) == 1
    claim = await payments.harness.read(payments.claim_id)
    assert (claim.status, claim.next_step_at) == (Status.COLLECTED, None)
    assert await payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED", "ESCALATED"]


async def test_no_contact_is_sent_while_a_payment_is_pending(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    await payments.settle(started.request_id)
    await payments.harness.run_until(clock.now() + 4 * DAY)
    assert payments.harness.channels[0].sent == []
    payments.provider.answer = CheckoutState(CheckoutStatus.FAILED)
    await payments.settle(started.request_id)
    await payments.harness.run()
    assert len(payments.harness.channels[0].sent) == 1


async def test_the_hold_of_a_payment_that_never_completes_ends_after_five_days(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    await payments.settle(started.request_id)
    # From Monday to Saturday; the next contact hours are on the following Monday.
    await payments.harness.run_until(clock.now() + 6 * DAY)
    assert payments.harness.channels[0].sent == []
    await payments.harness.run_until(clock.now() + DAY)
    assert len(payments.harness.channels[0].sent) == 1


async def test_a_cancelled_contact_is_sent_under_its_id_after_a_reversal(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await Engine(payments.resources).run_once()
    await pay(payments)
    assert await contacts(payments) == [("CANCELLED", 0, 0)]
    clock.advance(DAY)
    await reverse_all(payments)
    await payments.harness.run()
    assert await contacts(payments) == [("ACCEPTED", 0, 1)]
    assert len(payments.harness.channels[0].sent) == 1
    assert (await payments.harness.read(payments.claim_id)).status is Status.IN_PROCESS


async def test_a_reversal_within_a_wait_lets_it_run_to_its_end(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.harness.run()
    await pay(payments)
    clock.advance(DAY)
    await reverse_all(payments)
    await payments.harness.run()
    assert (await payments.events())[-1] == "PAYMENT_COMPLETED"
    clock.advance(6 * DAY)
    await payments.harness.run()
    assert (await payments.events())[-2:] == ["FEE_ADDED", "CHECKPOINT_REACHED"]
    assert len(payments.harness.channels[0].sent) == 1


async def test_a_reversal_after_the_wait_runs_the_next_step_now(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.harness.run()
    await pay(payments)
    clock.advance(10 * DAY)
    await reverse_all(payments)
    await payments.harness.run()
    assert (await payments.events())[-2:] == ["FEE_ADDED", "CHECKPOINT_REACHED"]


async def test_a_claim_whose_payments_are_reversed_repeatedly_runs_each_step_once(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    for number in ("psp-1", "psp-2", "psp-3"):
        await Engine(payments.resources).run_once()
        await pay(payments, number)
        await reverse_all(payments)
    await payments.harness.run_until(clock.now() + 60 * DAY)
    events = await payments.events()
    assert events.count("ESCALATED") == len(payments.harness.channels[0].sent) == 1
    assert events.count("FEE_ADDED") == 1
    assert events[-1] == "ARCHIVED"


async def test_a_reversal_while_a_contact_is_unanswered_waits_for_the_answer(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    channel = ScriptedChannel([ConnectionResetError()], is_repeatable=True)
    payments.harness.channels[:] = [channel]
    await payments.harness.run()
    assert await contacts(payments) == [("HANDED_OVER", 0, 1)]
    await pay(payments)
    await reverse_all(payments)
    claim = await payments.harness.read(payments.claim_id)
    assert (claim.status, claim.next_step_at) == (Status.IN_PROCESS, None)
    clock.advance(timedelta(seconds=31))
    await payments.harness.run()
    assert [event for event in await payments.events() if event == "ESCALATED"] == ["ESCALATED"]
    assert len({message.communication_id for message in channel.sent}) == 1


async def test_the_workflow_continues_after_a_reversal_although_a_fallback_was_cancelled(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await _a_harness_with_fallback(resources, clock)
    await payments.harness.run()
    assert [state for state, *_ in await contacts(payments)] == ["FAILED", "PLANNED"]
    await pay(payments)
    assert [state for state, *_ in await contacts(payments)] == ["FAILED", "CANCELLED"]
    await reverse_all(payments)
    await payments.harness.run_until(clock.now() + 2 * DAY)
    assert await contacts(payments) == [("FAILED", 0, 1), ("ACCEPTED", 1, 1)]
    assert (await payments.events()).count("ESCALATED") == 1
    for channel in payments.harness.channels:
        assert len({message.communication_id for message in channel.sent}) == 1
    assert (await payments.harness.read(payments.claim_id)).next_step_at is not None


async def test_the_workflow_continues_after_a_reversal_although_the_channel_refused(
    resources: Resources, clock: MovableClock
) -> None:
    payments = await _a_harness_with_fallback(resources, clock)

    class RefusesOncePaid(ScriptedChannel):
        async def send(self, message: Message) -> Outcome:
            if not self.sent:
                await pay(payments)
            return await super().send(message)

    payments.harness.channels[0] = RefusesOncePaid(payments.harness.channels[0].answers)
    await payments.harness.run()
    assert await contacts(payments) == [("FAILED", 0, 1)]
    await reverse_all(payments)
    await payments.harness.run_until(clock.now() + 2 * DAY)
    assert await contacts(payments) == [("FAILED", 0, 1), ("ACCEPTED", 1, 2)]


async def _a_harness_with_fallback(resources: Resources, clock: MovableClock) -> PaymentHarness:
    """Return a harness whose e-mail is refused permanently; its SMS is refused temporarily
    at first."""
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
    return await a_payment_harness(
        resources,
        clock,
        definition=definition,
        configuration=msgspec.structs.replace(PAYING, channels=setups),
        channels=channels,
        debtor={"mobileNumber": "+4915112345678"},
    )
