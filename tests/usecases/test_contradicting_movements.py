"""A provider that answers differently than before, accounts that use the same ids, and a database
that was restored: no money is lost, none is booked twice, and staff hears of it."""

from datetime import timedelta
from uuid import UUID, uuid4

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.review_money import review_movement
from dunwell.core.claims.states import Status
from dunwell.operations.recovery.restore_hold import hold_installation, resume_installation
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.merchants import CONFIGURATION
from tests.support.payments import PaymentHarness, a_paid_checkout, a_payment_harness
from tests.support.refunds import list_review_reasons, order, pay, read_balance, send
from tests.usecases.test_open_checkouts import TwoAccounts

_PAYMENTS = """
SELECT transaction_id, amount_cents, returned_cents FROM payments
WHERE merchant_id = $1
ORDER BY transaction_id
"""
_TO_REVIEW = """
SELECT record_id, amount_cents, booked_cents FROM payment_movements
WHERE merchant_id = $1 AND review_reason IS NOT NULL AND reviewed_at IS NULL
"""
_REQUESTS = "SELECT request_id, state, next_check_at FROM payment_requests WHERE merchant_id = $1"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


async def test_the_same_id_at_two_accounts_is_two_payments(
    resources: Resources, clock: MovableClock
) -> None:
    methods = PaymentSettings(methods=(PaymentMethod("sandbox"), PaymentMethod("second")))
    configuration = msgspec.structs.replace(CONFIGURATION, payment=methods)
    payments = await a_payment_harness(resources, clock, configuration=configuration)
    accounts = TwoAccounts(payments)
    started = [await accounts.start(name) for name in ("sandbox", "second")]
    for provider in (accounts.first, accounts.second):
        provider.answer = a_paid_checkout("psp-1", 10240, "EUR", payments.now)
    for each in (*started, *started):
        await accounts.settle(each)
    rows = [tuple(row) for row in await payments.harness.rows(_PAYMENTS)]
    assert rows == [("psp-1", 10240, 0), ("second:psp-1", 10240, 0)]
    assert await read_balance(payments) == (Status.COLLECTED, 0, 10240)
    # A chargeback concerns the payment of its account.
    taken = MoneyMovement("cb-1", MovementKind.CHARGED_BACK, 10240, "EUR", payments.now)
    before = accounts.second.answer
    accounts.second.answer = type(before)(before.status, [*before.movements, taken])
    await accounts.settle(started[1])
    rows = [tuple(row) for row in await payments.harness.rows(_PAYMENTS)]
    assert rows == [("psp-1", 10240, 0), ("second:psp-1", 10240, 10240)]


@pytest.mark.parametrize(("cents", "currency"), [(20480, "EUR"), (5000, "EUR"), (10240, "USD")])
async def test_a_movement_whose_amount_changes_is_left_to_staff_once(
    payments: PaymentHarness, cents: int, currency: str
) -> None:
    await pay(payments)
    [request] = await payments.harness.rows(_REQUESTS)
    payments.pays(cents, currency)
    for _ in range(2):
        await payments.settle(request["request_id"])
    # What was booked stays.
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)
    [found] = await payments.harness.rows(_TO_REVIEW)
    assert (found["amount_cents"], found["booked_cents"]) == (10240, 10240)
    assert await list_review_reasons(payments) == [("PAID", "OTHER_AMOUNT")]
    assert await payments.audited("paymentRequest.mismatch") == 1
    async with payments.harness.work() as work:
        await review_movement(work, found["record_id"])
    await payments.settle(request["request_id"])
    assert await payments.harness.rows(_TO_REVIEW) == []


async def test_a_movement_that_a_provider_lists_for_two_checkouts_is_booked_once(
    payments: PaymentHarness,
) -> None:
    """The checks of the second checkout still find what belongs to it."""
    await pay(payments, 5000)
    second = await payments.start(5240)
    own = MoneyMovement("psp-2", MovementKind.PAID, 5240, "EUR", payments.now)
    payments.moves(own)
    payments.provider.answers[f"ref-{second.request_id}"] = payments.provider.answer
    await payments.settle(second.request_id)
    rows = [tuple(row) for row in await payments.harness.rows(_PAYMENTS)]
    assert rows == [("psp-1", 5000, 0), ("psp-2", 5240, 0)]
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_after_a_restore_all_payments_are_checked_at_once(
    payments: PaymentHarness, resources: Resources, clock: MovableClock
) -> None:
    """The notification of the chargeback was received in the lost time."""
    await pay(payments)
    clock.advance(timedelta(hours=1))
    payments.moves(MoneyMovement("cb-1", MovementKind.CHARGED_BACK, 10240, "EUR", payments.now))
    await hold_installation(resources, clock.now())
    assert await payments.sweep() == 0
    await resume_installation(resources, clock.now())
    assert await payments.sweep() == 1
    assert await read_balance(payments) == (Status.CREATED, 10240, 0)


async def test_an_order_that_was_sent_in_the_lost_time_refunds_nothing_twice(
    payments: PaymentHarness,
) -> None:
    """The restored database has the order and does not know that it was sent and made."""
    payment_id = await pay(payments, 12000)
    refund = await order(payments, payment_id)
    made = MoneyMovement(
        "re-1", MovementKind.REFUNDED, 1760, "EUR", payments.now, refund_key=refund.refund_id
    )
    payments.moves(made)
    await payments.settle(refund.request_id)
    assert await send(payments) == 0
    assert payments.provider.refunds == {}
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)


@pytest.mark.parametrize(
    ("key", "reviews"), [(uuid4(), [("REFUNDED", "UNKNOWN_ORDER")]), (None, [])]
)
async def test_a_refund_whose_order_is_lost_is_booked_and_left_to_staff(
    payments: PaymentHarness, key: UUID | None, reviews: list[tuple[str, str]]
) -> None:
    """The refund was ordered in the lost time. One that was ordered at the provider has no key of
    ours."""
    await pay(payments)
    [request] = await payments.harness.rows(_REQUESTS)
    payments.moves(
        MoneyMovement("re-1", MovementKind.REFUNDED, 240, "EUR", payments.now, refund_key=key)
    )
    await payments.settle(request["request_id"])
    assert await read_balance(payments) == (Status.CREATED, 240, 0)
    assert await list_review_reasons(payments) == reviews


async def test_a_refund_of_more_than_was_paid_says_so_although_its_order_is_lost(
    payments: PaymentHarness,
) -> None:
    await pay(payments)
    [request] = await payments.harness.rows(_REQUESTS)
    payments.moves(
        MoneyMovement("re-1", MovementKind.REFUNDED, 10241, "EUR", payments.now, refund_key=uuid4())
    )
    await payments.settle(request["request_id"])
    assert await read_balance(payments) == (Status.CREATED, 10240, 0)
    assert await list_review_reasons(payments) == [("REFUNDED", "NOTHING_TO_RETURN")]


async def test_a_failed_refund_that_was_booked_in_part_comes_back_in_part(
    payments: PaymentHarness,
) -> None:
    await pay(payments)
    [request] = await payments.harness.rows(_REQUESTS)
    for kind in (MovementKind.REFUNDED, MovementKind.REFUND_FAILED):
        payments.moves(MoneyMovement("re-1", kind, 10241, "EUR", payments.now))
        await payments.settle(request["request_id"])
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)
    assert await list_review_reasons(payments) == [
        ("REFUNDED", "NOTHING_TO_RETURN"), ("REFUND_FAILED", "NOTHING_TO_RETURN"),
    ]  # fmt: skip
