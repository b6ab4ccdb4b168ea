"""Every pair of state and answer of a payment request."""

from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from dunwell.cases.payments.provider import (
    CheckoutCancelled,
    CheckoutExpired,
    CheckoutFailed,
    CheckoutOpen,
    CheckoutPending,
    CheckoutState,
    CheckoutSucceeded,
)
from dunwell.cases.payments.requests.request_states import (
    LIVE_STATES,
    TRANSITIONS,
    PaymentRequestDecision,
    PaymentRequestState,
    RequestedPayment,
    decide_request,
)

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ASKED = RequestedPayment(10240, "EUR", START)
PAID = CheckoutSucceeded("psp-1", 10240, "EUR", START)
ANSWERS: list[CheckoutState] = [
    CheckoutOpen(),
    CheckoutPending(),
    PAID,
    CheckoutFailed(),
    CheckoutCancelled(),
    CheckoutExpired(),
]
SOON = START + timedelta(minutes=5)
LATE = START + timedelta(hours=24)
FOLLOWING = {
    CheckoutPending: PaymentRequestState.PENDING,
    CheckoutFailed: PaymentRequestState.FAILED,
    CheckoutCancelled: PaymentRequestState.CANCELLED,
    CheckoutExpired: PaymentRequestState.EXPIRED,
}


@pytest.mark.parametrize("state", [PaymentRequestState.OPEN, PaymentRequestState.PENDING])
@pytest.mark.parametrize(
    "answer", [CheckoutPending(), CheckoutFailed(), CheckoutCancelled(), CheckoutExpired()]
)
def test_a_handed_off_request_follows_the_provider(
    state: PaymentRequestState, answer: CheckoutState
) -> None:
    assert decide_request(state, answer, ASKED, SOON).state is FOLLOWING[type(answer)]


@pytest.mark.parametrize("state", list(PaymentRequestState))
def test_a_received_payment_completes_every_request(state: PaymentRequestState) -> None:
    decision = decide_request(state, PAID, ASKED, LATE)
    assert decision == PaymentRequestDecision(PaymentRequestState.COMPLETED, keeps_checking=False)


@pytest.mark.parametrize(("state", "answer"), list(product(PaymentRequestState, ANSWERS)))
def test_an_ended_request_changes_only_when_a_payment_is_received(
    state: PaymentRequestState, answer: CheckoutState
) -> None:
    if state not in LIVE_STATES and not isinstance(answer, CheckoutSucceeded):
        assert decide_request(state, answer, ASKED, SOON).state is state
        assert (state, type(answer)) not in TRANSITIONS


@pytest.mark.parametrize("state", [each for each in PaymentRequestState if each != "COMPLETED"])
@pytest.mark.parametrize(
    "paid",
    [
        CheckoutSucceeded("psp-1", 10239, "EUR", START),
        CheckoutSucceeded("psp-1", 10241, "EUR", START),
        CheckoutSucceeded("psp-1", 10240, "USD", START),
    ],
)
def test_another_amount_or_currency_is_a_mismatch_and_no_payment(
    state: PaymentRequestState, paid: CheckoutSucceeded
) -> None:
    decision = decide_request(state, paid, ASKED, SOON)
    assert decision == PaymentRequestDecision(state, keeps_checking=True, is_mismatch=True)


def test_an_open_request_expires_after_exactly_a_day() -> None:
    before = LATE - timedelta(microseconds=1)
    open_still = decide_request(PaymentRequestState.OPEN, CheckoutOpen(), ASKED, before)
    assert open_still == PaymentRequestDecision(PaymentRequestState.OPEN, keeps_checking=True)
    over = decide_request(PaymentRequestState.OPEN, CheckoutOpen(), ASKED, LATE)
    assert over == PaymentRequestDecision(PaymentRequestState.EXPIRED, keeps_checking=False)


def test_a_pending_payment_never_expires() -> None:
    decision = decide_request(
        PaymentRequestState.PENDING, CheckoutPending(), ASKED, LATE + timedelta(days=30)
    )
    assert decision == PaymentRequestDecision(PaymentRequestState.PENDING, keeps_checking=True)


def test_a_failed_payment_lets_the_debtor_try_again() -> None:
    decision = decide_request(PaymentRequestState.PENDING, CheckoutOpen(), ASKED, SOON)
    assert decision == PaymentRequestDecision(PaymentRequestState.OPEN, keeps_checking=True)


def test_an_abandoned_checkout_is_checked_until_it_ends() -> None:
    given_up = PaymentRequestState.CANCELLED
    assert decide_request(given_up, CheckoutOpen(), ASKED, SOON).keeps_checking is True
    assert decide_request(given_up, CheckoutOpen(), ASKED, LATE).keeps_checking is False
    assert decide_request(given_up, CheckoutCancelled(), ASKED, SOON).keeps_checking is False
