"""Announced bank transfers: one request and one event per transfer, and the refusals."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.provider import CheckoutState, CheckoutStatus
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.payments import DEBTOR, PAYING, PaymentHarness, a_payment_harness
from tests.support.transfers import nordwind_with_account

# The test clock shows Monday, 2 March 2026, 10:00 in Berlin.
MONDAY = date(2026, 3, 2)
WHOLE = PaymentChoice(PaymentChoiceKind.WHOLE, 10240)


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(
        resources, clock, configuration=nordwind_with_account(PartialPaymentSettings("500"))
    )


async def announce(
    payments: PaymentHarness, sent_on: date = MONDAY, choice: PaymentChoice = WHOLE
) -> UUID:
    async with payments.harness.work(DEBTOR) as work:
        sent = AnnouncedTransfer(choice, sent_on)
        return await announce_transfer(work, payments.claim_id, sent)


async def holds(payments: PaymentHarness) -> list[tuple[Any, ...]]:
    rows = await payments.harness.rows(
        "SELECT kind, until, actor_kind FROM holds WHERE merchant_id = $1 AND lifted_at IS NULL"
    )
    return [tuple(row) for row in rows]


async def test_an_announced_transfer_opens_a_hold_and_raises_an_event(
    payments: PaymentHarness,
) -> None:
    request_id = await announce(payments)

    [event] = await payments.harness.events(payments.claim_id)
    assert (event["type"], event["source"]) == ("PAYMENT_IN_PROGRESS", None)
    assert event["claim"]["payment"] == {
        "providerName": "BANK_TRANSFER",
        "amount": 10240,
        "currency": "EUR",
        "reference": "INV-1001",
        "paymentRequestId": str(request_id),
    }
    # The end of Thursday in Berlin.
    until = datetime(2026, 3, 5, 23, tzinfo=UTC)
    assert await holds(payments) == [("PAYMENT_PENDING", until, "DEBTOR")]
    assert await payments.states() == ["PENDING"]
    assert await payments.audited("paymentRequest.announce") == 1


async def test_the_event_of_a_partial_transfer_has_its_amount(payments: PaymentHarness) -> None:
    await announce(payments, choice=PaymentChoice(PaymentChoiceKind.PART, 5000))
    [event] = await payments.harness.events(payments.claim_id)
    assert event["claim"]["payment"]["amount"] == 5000


async def test_announcing_a_transfer_again_changes_nothing(payments: PaymentHarness) -> None:
    first = await announce(payments)
    before = await holds(payments)
    assert await announce(payments, MONDAY - timedelta(days=1)) == first
    assert await holds(payments) == before
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]


async def test_eight_concurrent_announcements_create_one_request(payments: PaymentHarness) -> None:
    ids = await asyncio.gather(*(announce(payments) for _ in range(8)))
    assert len(set(ids)) == 1
    assert (len(await holds(payments)), await payments.states()) == (1, ["PENDING"])
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_second_time_within_thirty_days_is_refused(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await announce(payments)
    clock.advance(timedelta(days=29))
    await payments.harness.run()
    with pytest.raises(InvalidState) as refusal:
        await announce(payments, date(2026, 3, 31))
    assert refusal.value.details == {"state": "PAYMENT_PENDING"}
    assert await holds(payments) == []
    assert (await payments.events()).count("PAYMENT_IN_PROGRESS") == 1


async def test_a_transfer_can_be_announced_again_after_thirty_days(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    first = await announce(payments)
    clock.advance(timedelta(days=30))
    assert await announce(payments, date(2026, 4, 1)) != first
    assert await payments.states() == ["EXPIRED", "PENDING"]


@pytest.mark.parametrize(
    ("sent_on", "code"),
    [
        (date(2026, 3, 3), "IN_FUTURE"),
        (date(2026, 2, 24), "TOO_EARLY"),
        (date(1026, 3, 2), "TOO_EARLY"),
    ],
)
async def test_an_impossible_transfer_day_is_refused(
    payments: PaymentHarness, sent_on: date, code: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await announce(payments, sent_on)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [("/sentOn", code)]
    assert (await holds(payments), await payments.states(), await payments.events()) == ([], [], [])


@pytest.mark.parametrize(
    "choice",
    [PaymentChoice(PaymentChoiceKind.WHOLE, 10000), PaymentChoice(PaymentChoiceKind.PART, 499)],
)
async def test_an_amount_that_is_not_accepted_is_refused(
    payments: PaymentHarness, choice: PaymentChoice
) -> None:
    with pytest.raises(ValidationError) as refusal:
        await announce(payments, choice=choice)
    assert refusal.value.faults[0].code == "AMOUNT_CHANGED"
    assert (await holds(payments), await payments.events()) == ([], [])


async def test_a_transfer_cannot_be_announced_for_an_ended_foreign_or_bankless_claim(
    payments: PaymentHarness, resources: Resources, clock: MovableClock
) -> None:
    other = await a_payment_harness(resources, clock, key="hansen", configuration=PAYING)
    with pytest.raises(InvalidState) as refusal:
        await announce(other)
    assert refusal.value.details == {"state": "NO_BANK_ACCOUNT"}
    other.claim_id = payments.claim_id
    with pytest.raises(NotFound):
        await announce(other)
    await payments.harness.pay(payments.claim_id, 10240)
    with pytest.raises(InvalidState):
        await announce(payments)
    assert await payments.events() == []


async def test_no_transfer_can_be_announced_while_a_payment_is_pending(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    await payments.settle(started.request_id)
    with pytest.raises(InvalidState) as refusal:
        await announce(payments)
    assert refusal.value.details == {"state": "PENDING"}


async def test_no_other_payment_can_start_until_the_announced_transfer_ends(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await announce(payments)
    with pytest.raises(InvalidState) as refusal:
        await payments.start()
    assert refusal.value.details == {"state": "PENDING"}
    clock.move_to(datetime(2026, 3, 5, 23, tzinfo=UTC))
    await payments.start()
    assert await payments.states() == ["EXPIRED", "OPEN"]


async def test_no_provider_is_queried_about_an_announced_transfer(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    request_id = await announce(payments)
    clock.advance(timedelta(days=2))
    assert await payments.sweep() == 0
    assert await payments.settle(request_id) == "PENDING"
    assert payments.provider.fetched == []


async def test_another_hold_does_not_extend_the_wait_for_a_transfer(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await announce(payments)
    async with payments.harness.work() as work:
        await open_hold(work, payments.claim_id, HoldKind.DISPUTE)
    clock.advance(timedelta(days=5))
    await payments.start()
    assert await payments.states() == ["EXPIRED", "OPEN"]


async def test_a_failed_card_payment_does_not_end_the_announced_transfer(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    await announce(payments)
    before = await holds(payments)
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    await payments.settle(started.request_id)

    payments.provider.answer = CheckoutState(CheckoutStatus.FAILED)
    await payments.settle(started.request_id)

    assert await holds(payments) == before
    assert sorted(await payments.states()) == ["FAILED", "PENDING"]


@pytest.mark.parametrize("cents", [5000, 5001])
async def test_recording_the_payment_completes_the_announced_transfer(
    payments: PaymentHarness, cents: int
) -> None:
    request_id = await announce(payments, choice=PaymentChoice(PaymentChoiceKind.PART, 5000))

    recorded = await payments.harness.pay(payments.claim_id, cents, "bank-1")

    assert recorded.payment.request_id == request_id
    assert await payments.states() == ["COMPLETED"]
    assert await holds(payments) == []
    assert await payments.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_smaller_payment_does_not_complete_the_announced_transfer(
    payments: PaymentHarness,
) -> None:
    await announce(payments, choice=PaymentChoice(PaymentChoiceKind.PART, 5000))
    before = await holds(payments)

    recorded = await payments.harness.pay(payments.claim_id, 4999, "bank-1")

    assert recorded.payment.request_id is None
    assert await payments.states() == ["PENDING"]
    assert await holds(payments) == before


async def test_a_late_transfer_does_not_complete_the_expired_request(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await announce(payments)
    clock.advance(timedelta(days=5))

    recorded = await payments.harness.pay(payments.claim_id, 10240, "bank-1")

    assert recorded.payment.request_id is None
    assert await payments.states() == ["EXPIRED"]
