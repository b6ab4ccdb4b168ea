"""Every pair of state and answer of a payment request."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from dunwell.cases.payments.provider import CheckoutStatus
from dunwell.cases.payments.requests.request_states import (
    LIVE_STATES,
    TRANSITIONS,
    PaymentRequestDecision,
    PaymentRequestState,
    decide_next_return_check,
    decide_request,
)
from tests.support.durations import JUST

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
SOON = START + timedelta(minutes=5)
LATE = START + timedelta(hours=24)
FOLLOWING = {
    CheckoutStatus.PENDING: PaymentRequestState.PENDING,
    CheckoutStatus.FAILED: PaymentRequestState.FAILED,
    CheckoutStatus.CANCELLED: PaymentRequestState.CANCELLED,
    CheckoutStatus.EXPIRED: PaymentRequestState.EXPIRED,
}


@pytest.mark.parametrize("state", [PaymentRequestState.OPEN, PaymentRequestState.PENDING])
@pytest.mark.parametrize("answer", list(FOLLOWING))
def test_a_handed_off_request_follows_the_provider(
    state: PaymentRequestState, answer: CheckoutStatus
) -> None:
    assert decide_request(state, answer, START, SOON).state is FOLLOWING[answer]


@pytest.mark.parametrize(
    ("answer", "following", "keeps_checking"),
    [
        (CheckoutStatus.PENDING, PaymentRequestState.COLLECTING, True),
        (CheckoutStatus.FAILED, PaymentRequestState.FAILED, False),
        (CheckoutStatus.CANCELLED, PaymentRequestState.CANCELLED, False),
    ],
)
def test_a_debit_is_awaited_until_the_provider_knows_its_result(
    answer: CheckoutStatus, following: PaymentRequestState, *, keeps_checking: bool
) -> None:
    decision = decide_request(PaymentRequestState.COLLECTING, answer, START, LATE)
    assert decision == PaymentRequestDecision(following, keeps_checking=keeps_checking)


@pytest.mark.parametrize("state", list(PaymentRequestState))
def test_a_received_payment_completes_every_request(state: PaymentRequestState) -> None:
    decision = decide_request(state, CheckoutStatus.PAID, START, LATE)
    assert decision == PaymentRequestDecision(PaymentRequestState.COMPLETED, keeps_checking=True)


@pytest.mark.parametrize(("state", "answer"), list(product(PaymentRequestState, CheckoutStatus)))
def test_an_ended_request_changes_only_when_a_payment_is_received(
    state: PaymentRequestState, answer: CheckoutStatus
) -> None:
    is_live = state in LIVE_STATES or state is PaymentRequestState.COLLECTING
    if not is_live and answer is not CheckoutStatus.PAID:
        assert decide_request(state, answer, START, SOON).state is state
        assert (state, answer) not in TRANSITIONS


def test_an_open_request_expires_after_exactly_a_day() -> None:
    before = LATE - timedelta(microseconds=1)
    open_still = decide_request(PaymentRequestState.OPEN, CheckoutStatus.OPEN, START, before)
    assert open_still == PaymentRequestDecision(PaymentRequestState.OPEN, keeps_checking=True)
    over = decide_request(PaymentRequestState.OPEN, CheckoutStatus.OPEN, START, LATE)
    assert over == PaymentRequestDecision(PaymentRequestState.EXPIRED, keeps_checking=True)


def test_a_pending_payment_never_expires() -> None:
    decision = decide_request(
        PaymentRequestState.PENDING, CheckoutStatus.PENDING, START, LATE + timedelta(days=30)
    )
    assert decision == PaymentRequestDecision(PaymentRequestState.PENDING, keeps_checking=True)


def test_a_failed_payment_lets_the_debtor_try_again() -> None:
    decision = decide_request(PaymentRequestState.PENDING, CheckoutStatus.OPEN, START, SOON)
    assert decision == PaymentRequestDecision(PaymentRequestState.OPEN, keeps_checking=True)


def test_an_abandoned_checkout_is_checked_until_it_ends() -> None:
    given_up = PaymentRequestState.CANCELLED
    assert decide_request(given_up, CheckoutStatus.OPEN, START, SOON).keeps_checking is True
    assert decide_request(given_up, CheckoutStatus.OPEN, START, LATE).keeps_checking is True
    assert decide_request(given_up, CheckoutStatus.CANCELLED, START, SOON).keeps_checking is False


def test_a_checkout_that_its_provider_leaves_open_is_checked_for_thirty_days() -> None:
    last = START + timedelta(days=30)
    for state in (PaymentRequestState.EXPIRED, PaymentRequestState.CANCELLED):
        before = decide_request(state, CheckoutStatus.OPEN, START, last - timedelta(seconds=1))
        assert before == PaymentRequestDecision(state, keeps_checking=True)
        after = decide_request(state, CheckoutStatus.OPEN, START, last)
        assert after == PaymentRequestDecision(state, keeps_checking=False)


@pytest.mark.parametrize(
    ("age", "delay"),
    [
        (timedelta(0), timedelta(days=7)),
        (timedelta(days=70) - timedelta(seconds=1), timedelta(days=7)),
        (timedelta(days=70), timedelta(days=30)),
        (timedelta(days=400) - timedelta(seconds=1), timedelta(days=30)),
    ],
)
def test_a_completed_request_is_checked_weekly_and_then_monthly(
    age: timedelta, delay: timedelta
) -> None:
    assert decide_next_return_check(START, None, START + age) == START + age + delay


def test_a_completed_request_is_not_checked_after_thirteen_months() -> None:
    assert decide_next_return_check(START, None, START + timedelta(days=400)) is None


@pytest.mark.parametrize(
    ("age", "delay"),
    [
        (timedelta(0), timedelta(minutes=1)),
        (timedelta(minutes=10) - JUST, timedelta(minutes=1)),
        (timedelta(minutes=10), timedelta(minutes=15)),
        (timedelta(hours=2) - JUST, timedelta(minutes=15)),
        (timedelta(hours=2), timedelta(hours=2)),
        (timedelta(days=1) - JUST, timedelta(hours=2)),
        (timedelta(days=1), timedelta(days=1)),
        (timedelta(days=30) - JUST, timedelta(days=1)),
    ],
)
@pytest.mark.parametrize("payment_age", [timedelta(0), timedelta(days=500)])
def test_a_refund_is_looked_for_after_minutes_then_hours_then_days(
    age: timedelta, delay: timedelta, payment_age: timedelta
) -> None:
    """This also holds for a payment that is no longer checked for chargebacks."""
    now = START + age
    assert decide_next_return_check(START - payment_age, START, now) == now + delay


def test_a_payment_is_checked_as_usual_thirty_days_after_its_refund() -> None:
    now = START + timedelta(days=30)
    assert decide_next_return_check(START, START, now) == now + timedelta(days=7)
    assert decide_next_return_check(START - timedelta(days=400), START, now) is None
