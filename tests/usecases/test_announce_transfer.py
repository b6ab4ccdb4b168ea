"""Announced bank transfers: one request and one event per transfer, and the refusals."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.provider import CheckoutFailed, CheckoutPending
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.payments import DEBTOR, PAYING, Till, a_till
from tests.support.transfers import taking

# The test clock shows Monday, 2 March 2026, 10:00 in Berlin.
MONDAY = date(2026, 3, 2)
WHOLE = PaymentChoice(PaymentChoiceKind.WHOLE, 10240)


@pytest.fixture
async def till(resources: Resources, clock: MovableClock) -> Till:
    return await a_till(resources, clock, configuration=taking(PartialPaymentSettings("500")))


async def announce(till: Till, sent_on: date = MONDAY, choice: PaymentChoice = WHOLE) -> UUID:
    async with till.house.work(DEBTOR) as work:
        sent = AnnouncedTransfer(choice, sent_on)
        return await announce_transfer(work, till.claim_id, sent)


async def holds(till: Till) -> list[tuple[Any, ...]]:
    rows = await till.house.rows(
        "SELECT kind, until, actor_kind FROM holds WHERE merchant_id = $1 AND lifted_at IS NULL"
    )
    return [tuple(row) for row in rows]


async def test_an_announced_transfer_opens_a_hold_and_raises_an_event(till: Till) -> None:
    request_id = await announce(till)

    [event] = await till.house.events(till.claim_id)
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
    assert await holds(till) == [("PAYMENT_PENDING", until, "DEBTOR")]
    assert await till.states() == ["PENDING"]
    assert await till.audited("paymentRequest.announce") == 1


async def test_the_event_of_a_partial_transfer_has_its_amount(till: Till) -> None:
    await announce(till, choice=PaymentChoice(PaymentChoiceKind.PART, 5000))
    [event] = await till.house.events(till.claim_id)
    assert event["claim"]["payment"]["amount"] == 5000


async def test_announcing_a_transfer_again_changes_nothing(till: Till) -> None:
    first = await announce(till)
    before = await holds(till)
    assert await announce(till, MONDAY - timedelta(days=1)) == first
    assert await holds(till) == before
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]


async def test_eight_concurrent_announcements_create_one_request(till: Till) -> None:
    ids = await asyncio.gather(*(announce(till) for _ in range(8)))
    assert len(set(ids)) == 1
    assert (len(await holds(till)), await till.states()) == (1, ["PENDING"])
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_second_time_within_thirty_days_is_refused(till: Till, clock: MovableClock) -> None:
    await announce(till)
    clock.advance(timedelta(days=29))
    await till.house.run()
    with pytest.raises(InvalidState) as refusal:
        await announce(till, date(2026, 3, 31))
    assert refusal.value.details == {"state": "PAYMENT_PENDING"}
    assert await holds(till) == []
    assert (await till.events()).count("PAYMENT_IN_PROGRESS") == 1


async def test_a_transfer_can_be_announced_again_after_thirty_days(
    till: Till, clock: MovableClock
) -> None:
    first = await announce(till)
    clock.advance(timedelta(days=30))
    assert await announce(till, date(2026, 4, 1)) != first
    assert await till.states() == ["EXPIRED", "PENDING"]


@pytest.mark.parametrize(
    ("sent_on", "code"),
    [
        (date(2026, 3, 3), "IN_FUTURE"),
        (date(2026, 2, 24), "TOO_EARLY"),
        (date(1026, 3, 2), "TOO_EARLY"),
    ],
)
async def test_an_impossible_transfer_day_is_refused(till: Till, sent_on: date, code: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        await announce(till, sent_on)
    assert [(fault.path, fault.code) for fault in refusal.value.faults] == [("/sentOn", code)]
    assert (await holds(till), await till.states(), await till.events()) == ([], [], [])


@pytest.mark.parametrize(
    "choice",
    [PaymentChoice(PaymentChoiceKind.WHOLE, 10000), PaymentChoice(PaymentChoiceKind.PART, 499)],
)
async def test_an_amount_that_is_not_accepted_is_refused(till: Till, choice: PaymentChoice) -> None:
    with pytest.raises(ValidationError) as refusal:
        await announce(till, choice=choice)
    assert refusal.value.faults[0].code == "AMOUNT_CHANGED"
    assert (await holds(till), await till.events()) == ([], [])


async def test_a_transfer_cannot_be_announced_for_an_ended_foreign_or_bankless_claim(
    till: Till, resources: Resources, clock: MovableClock
) -> None:
    other = await a_till(resources, clock, key="hansen", configuration=PAYING)
    with pytest.raises(InvalidState) as refusal:
        await announce(other)
    assert refusal.value.details == {"state": "NO_BANK_ACCOUNT"}
    other.claim_id = till.claim_id
    with pytest.raises(NotFound):
        await announce(other)
    await till.house.pay(till.claim_id, 10240)
    with pytest.raises(InvalidState):
        await announce(till)
    assert await till.events() == []


async def test_no_transfer_can_be_announced_while_a_payment_is_pending(
    till: Till,
) -> None:
    started = await till.start()
    till.provider.answer = CheckoutPending()
    await till.settle(started.request_id)
    with pytest.raises(InvalidState) as refusal:
        await announce(till)
    assert refusal.value.details == {"state": "PENDING"}


async def test_no_other_payment_can_start_until_the_announced_transfer_ends(
    till: Till, clock: MovableClock
) -> None:
    await announce(till)
    with pytest.raises(InvalidState) as refusal:
        await till.start()
    assert refusal.value.details == {"state": "PENDING"}
    clock.move_to(datetime(2026, 3, 5, 23, tzinfo=UTC))
    await till.start()
    assert await till.states() == ["EXPIRED", "OPEN"]


async def test_no_provider_is_queried_about_an_announced_transfer(
    till: Till, clock: MovableClock
) -> None:
    request_id = await announce(till)
    clock.advance(timedelta(days=2))
    assert await till.sweep() == 0
    assert await till.settle(request_id) == "PENDING"
    assert till.provider.fetched == []


async def test_another_hold_does_not_extend_the_wait_for_a_transfer(
    till: Till, clock: MovableClock
) -> None:
    await announce(till)
    async with till.house.work() as work:
        await open_hold(work, till.claim_id, HoldKind.DISPUTE)
    clock.advance(timedelta(days=5))
    await till.start()
    assert await till.states() == ["EXPIRED", "OPEN"]


async def test_a_failed_card_payment_does_not_end_the_announced_transfer(till: Till) -> None:
    started = await till.start()
    await announce(till)
    before = await holds(till)
    till.provider.answer = CheckoutPending()
    await till.settle(started.request_id)

    till.provider.answer = CheckoutFailed()
    await till.settle(started.request_id)

    assert await holds(till) == before
    assert sorted(await till.states()) == ["FAILED", "PENDING"]


@pytest.mark.parametrize("cents", [5000, 5001])
async def test_recording_the_payment_completes_the_announced_transfer(
    till: Till, cents: int
) -> None:
    request_id = await announce(till, choice=PaymentChoice(PaymentChoiceKind.PART, 5000))

    recorded = await till.house.pay(till.claim_id, cents, "bank-1")

    assert recorded.payment.request_id == request_id
    assert await till.states() == ["COMPLETED"]
    assert await holds(till) == []
    assert await till.events() == ["PAYMENT_IN_PROGRESS"]


async def test_a_smaller_payment_does_not_complete_the_announced_transfer(till: Till) -> None:
    await announce(till, choice=PaymentChoice(PaymentChoiceKind.PART, 5000))
    before = await holds(till)

    recorded = await till.house.pay(till.claim_id, 4999, "bank-1")

    assert recorded.payment.request_id is None
    assert await till.states() == ["PENDING"]
    assert await holds(till) == before


async def test_a_late_transfer_does_not_complete_the_expired_request(
    till: Till, clock: MovableClock
) -> None:
    await announce(till)
    clock.advance(timedelta(days=5))

    recorded = await till.house.pay(till.claim_id, 10240, "bank-1")

    assert recorded.payment.request_id is None
    assert await till.states() == ["EXPIRED"]
