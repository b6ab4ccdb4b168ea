"""The movements of money that a provider lists for a checkout are booked once each: refunds,
chargebacks, and what comes back after them."""

from datetime import timedelta
from itertools import permutations
from uuid import UUID

import pytest

from dunwell.cases.payments.provider import CheckoutCancellation, MoneyMovement, MovementKind
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.cases.payments.review_money import review_movement
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.payments import PaymentHarness, a_payment_harness

_OCCASIONS = "SELECT occasion FROM debtor_occasions WHERE merchant_id = $1 ORDER BY occasion"
_MOVEMENTS = """
SELECT kind, booked_cents, review_reason FROM payment_movements WHERE merchant_id = $1
"""
_PAYMENTS = "SELECT payment_id, returned_cents FROM payments WHERE merchant_id = $1"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


def _move(
    payments: PaymentHarness, number: str, kind: MovementKind, cents: int, minutes: int = 1,
    currency: str = "EUR",
) -> MoneyMovement:  # fmt: skip
    return MoneyMovement(number, kind, cents, currency, payments.now + timedelta(minutes=minutes))


async def _pay(payments: PaymentHarness, cents: int = 10240) -> UUID:
    started = await payments.start()
    payments.pays(cents)
    await payments.settle(started.request_id)
    return started.request_id


async def _read_balance(payments: PaymentHarness) -> tuple[Status, int, int]:
    claim = await payments.harness.read(payments.claim_id)
    return claim.status, claim.balance.outstanding_cents, claim.balance.overpaid_cents


async def test_a_chargeback_reopens_the_claim_and_its_reversal_collects_it_again(
    payments: PaymentHarness,
) -> None:
    request_id = await _pay(payments)
    payments.moves(_move(payments, "cb-1", MovementKind.CHARGED_BACK, 10240))
    for _ in range(2):
        assert await payments.settle(request_id) is PaymentRequestState.COMPLETED
    assert await _read_balance(payments) == (Status.CREATED, 10240, 0)
    payments.moves(_move(payments, "cb-1", MovementKind.CHARGEBACK_REVERSED, 10240, 2))
    for _ in range(2):
        await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 0)
    assert await payments.count("payment_movements") == 3
    occasions = [row["occasion"] for row in await payments.harness.rows(_OCCASIONS)]
    assert occasions == ["payment_return", "payment_return", "receipt"]
    published = await payments.harness.additions(payments.claim_id)
    assert [(each["type"], each["claim"]["reversal"]["status"]) for each in published] == [
        ("PAYMENT_REVERSED", "CHARGED_BACK"), ("PAYMENT_REVERSED", "CHARGEBACK_REVERSED"),
    ]  # fmt: skip
    assert [each["claim"]["reversal"]["movementId"] for each in published] == ["cb-1", "cb-1"]


async def test_a_refund_in_part_leaves_the_rest_paid(payments: PaymentHarness) -> None:
    request_id = await _pay(payments)
    payments.moves(_move(payments, "re-1", MovementKind.REFUNDED, 240))
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.CREATED, 240, 0)
    [published] = await payments.harness.additions(payments.claim_id)
    assert published["type"] == "PAYMENT_REFUNDED"
    # The refund was not ordered through Dunwell.
    assert not {"refundId", "effect"} & published["claim"]["refund"].keys()
    payments.moves(_move(payments, "re-2", MovementKind.REFUNDED, 10000))
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.CREATED, 10240, 0)


async def test_a_payment_counts_again_when_its_refund_fails(payments: PaymentHarness) -> None:
    request_id = await _pay(payments)
    payments.moves(
        _move(payments, "re-1", MovementKind.REFUNDED, 240),
        _move(payments, "re-1", MovementKind.REFUND_FAILED, 240, 2),
    )
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_a_refunded_surplus_leaves_the_claim_collected(payments: PaymentHarness) -> None:
    request_id = await _pay(payments, 12000)
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 1760)
    payments.moves(_move(payments, "re-1", MovementKind.REFUNDED, 1760))
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_the_order_in_which_movements_are_listed_does_not_matter(
    resources: Resources, clock: MovableClock
) -> None:
    for number, order in enumerate(permutations(range(4))):
        payments = await a_payment_harness(resources, clock, key=f"order-{number}")
        request_id = (await payments.start()).request_id
        payments.pays()
        listed = [
            *payments.provider.answer.movements,
            _move(payments, "re-1", MovementKind.REFUNDED, 1000, 1),
            _move(payments, "re-1", MovementKind.REFUND_FAILED, 1000, 2),
            _move(payments, "cb-1", MovementKind.CHARGED_BACK, 10240, 3),
        ]
        payments.provider.answer = type(payments.provider.answer)(
            payments.provider.answer.status, [listed[each] for each in order]
        )
        await payments.settle(request_id)
        assert await _read_balance(payments) == (Status.CREATED, 10240, 0)


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_an_ended_claim_stays_ended_and_staff_reviews_the_chargeback(
    payments: PaymentHarness, status: str
) -> None:
    request_id = (await payments.start()).request_id
    await payments.end_claim(status)
    payments.pays()
    await payments.settle(request_id)
    payments.moves(_move(payments, "cb-1", MovementKind.CHARGED_BACK, 10240))
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status(status), 10240, 0)
    reasons = {row["kind"]: row["review_reason"] for row in await payments.harness.rows(_MOVEMENTS)}
    assert reasons == {"PAID": None, "CHARGED_BACK": "CLAIM_ENDED"}


async def test_a_chargeback_of_a_payment_that_was_reversed_by_hand_changes_nothing(
    payments: PaymentHarness,
) -> None:
    request_id = await _pay(payments)
    [payment] = await payments.harness.rows(_PAYMENTS)
    async with payments.harness.work() as work:
        await reverse_payment(work, payments.claim_id, payment["payment_id"])
    payments.moves(_move(payments, "cb-1", MovementKind.CHARGED_BACK, 10240))
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.CREATED, 10240, 0)
    booked = {row["kind"]: row["booked_cents"] for row in await payments.harness.rows(_MOVEMENTS)}
    assert booked == {"PAID": 10240, "REVERSED": 10240, "CHARGED_BACK": 0}


_TAKEN = [MovementKind.REFUNDED, MovementKind.CHARGED_BACK]
_BACK = {
    MovementKind.REFUNDED: MovementKind.REFUND_FAILED,
    MovementKind.CHARGED_BACK: MovementKind.CHARGEBACK_REVERSED,
}
_LEFT = "SELECT amount_cents - returned_cents AS cents FROM payments WHERE merchant_id = $1"


@pytest.mark.parametrize("refunded_cents", [10240, 4000])
async def test_a_refund_beside_a_chargeback_never_books_more_or_less_than_was_moved(
    resources: Resources, clock: MovableClock, refunded_cents: int
) -> None:
    """Together they take more than was paid. In whatever order the four movements arrive, what is
    left of the payment is what the merchant has, and never less than nothing."""
    kinds = [*_TAKEN, *_BACK.values()]
    orders = [
        each
        for each in permutations(kinds)
        if all(each.index(taken) < each.index(back) for taken, back in _BACK.items())
    ]
    assert len(orders) == 6
    for number, order in enumerate(orders):
        payments = await a_payment_harness(resources, clock, key=f"beside-{number}")
        request_id = await _pay(payments)
        has = 10240
        for minute, kind in enumerate(order):
            is_refund = kind in (MovementKind.REFUNDED, MovementKind.REFUND_FAILED)
            cents = refunded_cents if is_refund else 10240
            has += -cents if kind in _TAKEN else cents
            movement_id = "re-1" if is_refund else "cb-1"
            payments.moves(_move(payments, movement_id, kind, cents, minute + 1))
            for _ in range(2):
                await payments.settle(request_id)
            [row] = await payments.harness.rows(_LEFT)
            assert row["cents"] == max(0, has), (order, kind)
        assert await _read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_the_reversal_of_an_unknown_chargeback_does_not_undo_a_reversal_by_hand(
    payments: PaymentHarness,
) -> None:
    request_id = await _pay(payments)
    [payment] = await payments.harness.rows(_PAYMENTS)
    async with payments.harness.work() as work:
        await reverse_payment(work, payments.claim_id, payment["payment_id"])
    payments.moves(_move(payments, "cb-1", MovementKind.CHARGEBACK_REVERSED, 10240))
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.CREATED, 10240, 0)
    reasons = {row["kind"]: row["review_reason"] for row in await payments.harness.rows(_MOVEMENTS)}
    assert reasons["CHARGEBACK_REVERSED"] == "NOTHING_TO_RETURN"


async def test_a_reversal_by_hand_takes_what_a_refund_has_left(payments: PaymentHarness) -> None:
    request_id = await _pay(payments)
    payments.moves(_move(payments, "re-1", MovementKind.REFUNDED, 240))
    await payments.settle(request_id)
    [payment] = await payments.harness.rows(_PAYMENTS)
    async with payments.harness.work() as work:
        recorded = await reverse_payment(work, payments.claim_id, payment["payment_id"])
    assert recorded.balance.outstanding_cents == 10240
    [payment] = await payments.harness.rows(_PAYMENTS)
    assert payment["returned_cents"] == 10240


async def test_money_in_another_currency_is_stored_and_not_booked(
    payments: PaymentHarness,
) -> None:
    request_id = await _pay(payments)
    payments.moves(_move(payments, "re-1", MovementKind.REFUNDED, 240, currency="USD"))
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_an_open_checkout_for_another_amount_is_cancelled_at_the_provider(
    payments: PaymentHarness,
) -> None:
    payments.provider.cancellation = CheckoutCancellation.CANCELLED
    first = await payments.start()
    await payments.harness.pay(payments.claim_id, 240, "bank-1")
    second = await payments.start(10000)
    assert payments.provider.cancelled == [f"ref-{first.request_id}"]
    assert second.request_id != first.request_id


async def test_a_checkout_that_cannot_be_cancelled_and_is_paid_makes_a_surplus(
    payments: PaymentHarness,
) -> None:
    first = await payments.start()
    await payments.harness.pay(payments.claim_id, 240, "bank-1")
    second = await payments.start(10000)
    payments.pays(10000, number="psp-2")
    await payments.settle(second.request_id)
    payments.pays(10240, number="psp-1")
    await payments.settle(first.request_id)
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 10240)


async def test_the_debtor_is_notified_of_each_of_two_equal_refunds(
    payments: PaymentHarness,
) -> None:
    request_id = await _pay(payments)
    payments.moves(
        _move(payments, "re-1", MovementKind.REFUNDED, 240),
        _move(payments, "re-1", MovementKind.REFUND_FAILED, 240, 2),
    )
    await payments.settle(request_id)
    payments.moves(_move(payments, "re-2", MovementKind.REFUNDED, 240, 3))
    await payments.settle(request_id)
    occasions = [row["occasion"] for row in await payments.harness.rows(_OCCASIONS)]
    assert occasions == ["payment_return"] * 3 + ["receipt"]


async def test_a_movement_that_is_listed_twice_in_one_answer_is_booked_once(
    payments: PaymentHarness,
) -> None:
    request_id = await _pay(payments)
    payments.moves(*[_move(payments, "re-1", MovementKind.REFUNDED, 240)] * 2)
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.CREATED, 240, 0)


async def test_a_movement_of_nothing_does_not_stop_the_others(payments: PaymentHarness) -> None:
    request_id = await _pay(payments)
    payments.moves(
        _move(payments, "re-1", MovementKind.REFUNDED, 0),
        _move(payments, "re-2", MovementKind.REFUNDED, 240),
    )
    await payments.settle(request_id)
    assert await _read_balance(payments) == (Status.CREATED, 240, 0)


async def test_a_recorded_transaction_is_the_same_payment_despite_an_announced_transfer(
    payments: PaymentHarness,
) -> None:
    """The merchant's system may record what the provider received before we fetch it, and an
    announced transfer may then take that payment for its own."""
    request_id = (await payments.start()).request_id
    await payments.harness.rows(
        """
        INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                                      amount_cents, currency, reference, state, created_at)
        SELECT merchant_id, gen_random_uuid(), claim_id, 'BANK_TRANSFER', 'BANK_TRANSFER',
               amount_cents, currency, reference, 'COMPLETED', created_at
        FROM payment_requests
        WHERE merchant_id = $1
        """
    )
    await payments.harness.pay(payments.claim_id, 10240, "psp-1")
    await payments.harness.rows(
        """
        UPDATE payments SET request_id = (SELECT request_id FROM payment_requests
            WHERE merchant_id = $1 AND provider = 'BANK_TRANSFER')
        WHERE merchant_id = $1
        """
    )
    payments.pays()
    assert await payments.settle(request_id) is PaymentRequestState.COMPLETED
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 0)
    [movement] = await payments.harness.rows(_MOVEMENTS)
    assert (movement["booked_cents"], movement["review_reason"]) == (10240, None)


async def test_a_checkout_that_stays_open_is_checked_until_a_late_transfer_arrives(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """A transfer to the provider takes days, and its checkout stays open for that time."""
    request_id = (await payments.start()).request_id
    clock.advance(timedelta(hours=24))
    assert await payments.sweep() == 1
    assert await payments.states() == ["EXPIRED"]
    payments.pays()
    clock.advance(timedelta(days=1))
    assert await payments.sweep() == 1
    assert await payments.settle(request_id) is PaymentRequestState.COMPLETED
    assert await _read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_a_payment_in_another_currency_ends_its_request_once_it_was_reviewed(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    payments.pays(10240, "USD")
    assert await payments.settle(started.request_id) is PaymentRequestState.PENDING
    [row] = await payments.harness.rows(
        "SELECT record_id FROM payment_movements WHERE merchant_id = $1"
    )
    async with payments.harness.work() as work:
        await review_movement(work, row["record_id"])
    assert await payments.sweep() == 1
    assert await payments.states() == ["COMPLETED"]
    assert await payments.count("payments") == 0
    # The debtor can pay what is owed.
    assert (await payments.start()).request_id != started.request_id
