"""Each action of a debtor and each payment is confirmed once, at once, by the first channel that
works."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.cases.modalities.answer_modality import request_modality
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.contact.messages.suppression import suppress
from dunwell.contact.notices.notice import MAX_PER_HOUR
from dunwell.contact.notices.notice_outcomes import (
    NOTICES_KEPT_FOR,
    report_notice_failure,
    sweep_notices,
)
from dunwell.contact.notices.occasions.facts import PauseFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.contact.sending.channel import Permanent, Temporary
from dunwell.interfaces.landing.notifications.send_occasions import send_due_occasions
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.harness import ERP, ScriptedChannel
from tests.support.modalities import DEFERMENT, OFFERED, PLAN
from tests.support.notice_sending import a_notice_writer, send_due_notices
from tests.support.notices import WITH_SMS
from tests.support.payments import DEBTOR, PaymentHarness, a_payment_harness
from tests.support.transfers import nordwind_with_account

MOBILE = {"mobileNumber": "+4915112345678"}
TODAY = date(2026, 3, 2)
TOLD = msgspec.structs.replace(
    nordwind_with_account(None), channels=WITH_SMS.channels, modalities=OFFERED
)


async def _open_dispute(payments: PaymentHarness) -> None:
    await dispute(payments.harness, payments.claim_id)


async def _pay(payments: PaymentHarness) -> None:
    await payments.harness.pay(payments.claim_id, 5000)


async def _announce_transfer(payments: PaymentHarness) -> None:
    async with payments.harness.work(DEBTOR) as work:
        sent = AnnouncedTransfer(PaymentChoice(PaymentChoiceKind.WHOLE, 10240), TODAY)
        await announce_transfer(work, payments.claim_id, sent)


async def _request_plan(payments: PaymentHarness) -> None:
    async with payments.harness.work(DEBTOR) as work:
        await request_modality(work, payments.claim_id, PLAN)


async def _request_deferral(payments: PaymentHarness) -> None:
    async with payments.harness.work(DEBTOR) as work:
        await request_modality(work, payments.claim_id, DEFERMENT)


@dataclass(frozen=True)
class Step:
    """An action, and parts of its confirmation in English and German."""

    do: Callable[[PaymentHarness], Awaitable[None]]
    says: dict[str, str]
    by_sms: dict[str, str]


STEPS = {
    "objection": Step(
        _open_dispute,
        {"en": "You will get a response by: 16 March 2026", "de": "keine Gebühren"},
        {"en": "will respond by 16 March 2026", "de": "Wir antworten bis zum 16. März 2026"},
    ),
    "payment": Step(
        _pay,
        {"en": "Still to pay: €52.40", "de": "Zahlungsnummer: tx-1"},
        {"en": "We have received €50.00 for INV-1001", "de": "sind eingegangen"},
    ),
    "transfer": Step(
        _announce_transfer,
        {"en": "Until the end of 5 March 2026", "de": "Bitte zahlen Sie nicht"},
        {"en": "You told us that you sent €102.40", "de": "Wir warten bis zum 5. März 2026"},
    ),
    "plan": Step(
        _request_plan,
        {
            "en": "We are checking your request and will respond by 5 March 2026.",
            "de": "16. April 2026",
        },
        {"en": "You asked to pay INV-1001 in instalments.", "de": "eine Ratenzahlung angefragt"},
    ),
    "deferment": Step(
        _request_deferral,
        {"en": "You asked for more time for INV-1001, until 31 March 2026", "de": "31. März 2026"},
        {"en": "You asked for more time for INV-1001", "de": "Zeit bis zum 31. März 2026"},
    ),
}


async def _a_notified_harness(
    resources: Resources, clock: MovableClock, **debtor: Any
) -> PaymentHarness:
    channels = [ScriptedChannel(), ScriptedChannel(channel="SMS")]
    return await a_payment_harness(
        resources, clock, configuration=TOLD, channels=channels, debtor=MOBILE | debtor
    )


def _sent(payments: PaymentHarness) -> list[tuple[str, str]]:
    return [
        (each.channel, " ".join(each.body_text.replace("\N{NO-BREAK SPACE}", " ").split()))
        for channel in payments.harness.channels
        for each in channel.sent
    ]


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await _a_notified_harness(resources, clock)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("step", STEPS)
async def test_each_step_is_confirmed_in_the_claims_language(
    resources: Resources, clock: MovableClock, step: str, language: str
) -> None:
    payments = await _a_notified_harness(resources, clock, language=language)
    await STEPS[step].do(payments)
    await send_due_notices(payments.harness)
    [(channel, text)] = _sent(payments)
    assert channel == "EMAIL"
    assert STEPS[step].says[language] in text


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_confirmation_is_sent_by_sms_when_email_is_suppressed(
    resources: Resources, clock: MovableClock, step: str, language: str
) -> None:
    payments = await _a_notified_harness(resources, clock, language=language)
    async with payments.harness.work() as work:
        await suppress(work, resources.keys, "EMAIL", "erika@example.org", "DEBTOR")
    await STEPS[step].do(payments)
    await send_due_notices(payments.harness)
    [(channel, text)] = _sent(payments)
    assert channel == "SMS"
    assert STEPS[step].by_sms[language] in text


async def test_no_confirmation_is_sent_when_every_channel_is_suppressed(
    payments: PaymentHarness, resources: Resources
) -> None:
    async with payments.harness.work() as work:
        await suppress(work, resources.keys, "EMAIL", "erika@example.org", "DEBTOR")
        await suppress(work, resources.keys, "SMS", MOBILE["mobileNumber"], "DEBTOR")
    await _pay(payments)
    await send_due_notices(payments.harness)
    assert _sent(payments) == []


async def test_a_receipt_is_sent_once_however_often_a_payment_is_recorded(
    payments: PaymentHarness,
) -> None:
    for _ in range(3):
        await _pay(payments)
        await send_due_notices(payments.harness)
    assert len(_sent(payments)) == 1


async def test_a_payment_reported_several_times_gets_one_receipt(payments: PaymentHarness) -> None:
    started = await payments.start()
    payments.pays()
    await asyncio.gather(*(payments.settle(started.request_id) for _ in range(3)))
    await payments.settle(started.request_id)
    await send_due_notices(payments.harness)
    [(_, text)] = _sent(payments)
    assert "- Bezahlt mit: Sandbox" in text
    assert "- Zahlungsnummer: psp-1" in text


async def test_the_last_payment_says_that_nothing_is_left(payments: PaymentHarness) -> None:
    await payments.harness.pay(payments.claim_id, 10240)
    await send_due_notices(payments.harness)
    assert "Noch zu zahlen: 0,00 €" in _sent(payments)[0][1]


async def test_the_receipt_of_a_closed_claim_names_no_remaining_amount(
    payments: PaymentHarness,
) -> None:
    await payments.end_claim("ARCHIVED")
    await _pay(payments)
    await send_due_notices(payments.harness)
    [(_, text)] = _sent(payments)
    assert "Bezahlt: 50,00 €" in text
    assert "Noch zu zahlen" not in text


async def test_a_refused_email_goes_by_sms_and_no_further(payments: PaymentHarness) -> None:
    email, sms = payments.harness.channels
    email.answers, sms.answers = [Permanent("no such mailbox")], [Permanent("no such number")]
    await _pay(payments)
    await send_due_notices(payments.harness)
    await send_due_notices(payments.harness)
    assert [channel for channel, _ in _sent(payments)] == ["EMAIL", "SMS"]


async def test_a_confirmation_that_bounced_is_sent_by_sms_once(payments: PaymentHarness) -> None:
    await _pay(payments)
    await send_due_notices(payments.harness)
    [email] = payments.harness.channels[0].sent
    for _ in range(2):
        async with payments.harness.work() as work:
            await report_notice_failure(work, email.communication_id, "550 no such user")
        await send_due_notices(payments.harness)
    assert [channel for channel, _ in _sent(payments)] == ["EMAIL", "SMS"]


async def test_many_workers_send_one_confirmation_while_its_channel_is_slow(
    payments: PaymentHarness, clock: MovableClock, resources: Resources
) -> None:
    """A confirmation in progress does not count as sent: after a final refusal it goes by SMS."""
    payments.harness.channels[0].answers = [Temporary(60), Permanent("no such mailbox")]
    await _pay(payments)
    await asyncio.gather(
        *(send_due_occasions(resources, a_notice_writer(payments.harness)) for _ in range(4))
    )
    await send_due_notices(payments.harness)
    clock.advance(timedelta(minutes=2))
    await send_due_notices(payments.harness)
    assert len({each.communication_id for each in payments.harness.channels[0].sent}) == 1
    assert [channel for channel, _ in _sent(payments)] == ["EMAIL", "EMAIL", "SMS"]


async def test_a_rolled_back_notification_is_not_sent(payments: PaymentHarness) -> None:
    async with payments.resources.database.connection() as connection:
        trial = connection.transaction()
        await trial.start()
        work = Work.open(payments.resources, connection, payments.harness.merchant, ERP)
        assert await notify_debtor(work, payments.claim_id, "1", PauseFacts("INV-1001", TODAY))
        await trial.rollback()
    await send_due_notices(payments.harness)
    assert _sent(payments) == []


async def test_a_notification_with_a_later_time_waits(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    async with payments.harness.work(ERP) as work:
        facts, at = PauseFacts("INV-1001", TODAY), clock.now() + timedelta(days=1)
        assert await notify_debtor(work, payments.claim_id, "1", facts, not_before=at)
        assert not await notify_debtor(work, payments.claim_id, "1", facts)
    await send_due_notices(payments.harness)
    assert _sent(payments) == []
    clock.advance(timedelta(days=1))
    await send_due_notices(payments.harness)
    assert len(_sent(payments)) == 1


async def test_confirmations_beyond_the_hourly_limit_are_sent_an_hour_later(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """The limit protects the mailbox, and no confirmation is lost."""
    for number in range(MAX_PER_HOUR + 1):
        await payments.harness.pay(payments.claim_id, 100, f"tx-{number}")
    await send_due_notices(payments.harness)
    assert len(_sent(payments)) == MAX_PER_HOUR
    clock.advance(timedelta(hours=1))
    await send_due_notices(payments.harness)
    assert len(_sent(payments)) == MAX_PER_HOUR + 1


async def test_notice_contents_are_deleted_after_a_week_and_not_sent_again(
    payments: PaymentHarness, clock: MovableClock, resources: Resources
) -> None:
    await _pay(payments)
    await send_due_notices(payments.harness)
    clock.advance(NOTICES_KEPT_FOR + timedelta(minutes=1))
    assert await sweep_notices(resources) == 2
    [row] = await payments.harness.rows("SELECT facts FROM debtor_occasions WHERE merchant_id = $1")
    assert row["facts"] is None
    await _pay(payments)
    await send_due_notices(payments.harness)
    assert len(_sent(payments)) == 1
